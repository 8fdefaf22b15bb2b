//! What the cluster does to us: an API server that is away, pods that cannot start, settings that change.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use kiln_pods::kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kiln_pods::{Cluster, PodError, PodEvaluator, PullSecret};
use serde_json::{Value, json};

use super::gate::Gate;
use super::images::Images;
use super::place::{Place, call, check_echo, list, place};

const PATIENCE: Duration = Duration::from_secs(20);

/// A warm call asks nobody but its pod, and goes on when there is no API server.
#[tokio::test(flavor = "multi_thread")]
async fn warm_calls_need_no_api_server() {
    let Some(place) = place("away").await else {
        return;
    };
    let gate = Gate::new(&place.client);
    let mut options = place.options();
    options.cluster = Cluster::Client(gate.client.clone());
    options.pod_ttl = Duration::from_secs(4);
    options.scan_interval = Duration::from_secs(1);
    // Longer than the calls below, so that no renewal comes in between.
    options.lease_period = Duration::from_secs(60);
    let evaluator = PodEvaluator::start(options).await.unwrap();
    check_echo(&evaluator, "echo:v1.0", 1).await;
    let pods = place.pods().await;

    gate.close();
    let asked = gate.count();
    for number in 0..200 {
        check_echo(&evaluator, "echo:v1.0", number).await;
    }
    // Watches that were cut off look for a way back; calls are two hundred.
    let asked = gate.count() - asked;
    assert!(asked < 100, "{asked} requests for 200 calls");
    // Its time is up, and nobody knows whether somebody else uses it.
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(place.pods().await, pods);
    check_echo(&evaluator, "echo:v1.0", 2).await;

    gate.open();
    place
        .until("the pod goes when it is known to be idle", async || {
            place.pods().await.is_empty()
        })
        .await;
    check_echo(&evaluator, "echo:v1.0", 3).await;
    evaluator.shut_down(PATIENCE).await;
    place.remove().await;
}

/// Pods that cannot start are no wait: Kubernetes' own reason comes at once.
#[tokio::test(flavor = "multi_thread")]
async fn pods_that_cannot_start_say_why() {
    let Some(place) = place("stuck").await else {
        return;
    };
    let mut options = place.options();
    options.wrapper_image = place.images.name("no-such-wrapper");
    let evaluator = PodEvaluator::start(options).await.unwrap();
    let error = evaluator
        .evaluate(call("echo:v1.0", &list(1)))
        .await
        .unwrap_err();
    let PodError::NoPod { fault, .. } = &error else {
        panic!("{error:?}");
    };
    assert!(
        ["ErrImagePull", "ImagePullBackOff"].contains(&&*fault.reason),
        "{fault}"
    );
    assert!(fault.message.contains("no-such-wrapper"), "{fault}");
    evaluator.shut_down(PATIENCE).await;

    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(
        b"- {name: 'echo:v1.0', resources: {requests: {cpu: 1000}, limits: {cpu: 1000}}}",
    )
    .unwrap();
    let mut options = place.options();
    options.cache_config = Some(file.path().to_owned());
    let evaluator = PodEvaluator::start(options).await.unwrap();
    let error = evaluator
        .evaluate(call("echo:v1.0", &list(1)))
        .await
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("Unschedulable: 0/1 nodes are available"),
        "{text}"
    );
    evaluator.shut_down(PATIENCE).await;
    place.remove().await;
}

/// Images behind a password are pulled with a copy of the mounted secret, which follows the file.
#[tokio::test(flavor = "multi_thread")]
async fn private_images_are_pulled_with_the_secret() {
    let Some(place) = place("private").await else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let private = Images::private(directory.path()).await;
    let mut options = place.options();
    options.images = private.known();
    options.scan_interval = Duration::from_secs(1);
    options.pull_secret = Some(PullSecret {
        path: directory.path().join("config.json"),
        name: "auth-secret".to_owned(),
    });
    let evaluator = PodEvaluator::start(options).await.unwrap();
    check_echo(&evaluator, &private.name("secret"), 1).await;
    let pods = place.list("", "Pod").await;
    assert_eq!(
        pods[0].data["spec"]["imagePullSecrets"],
        json!([{"name": "auth-secret"}])
    );
    let secrets = place.api("", "Secret");
    let secret = secrets.get("auth-secret").await.unwrap();
    assert_eq!(secret.data["type"], "kubernetes.io/dockerconfigjson");
    secrets
        .delete("auth-secret", &Default::default())
        .await
        .unwrap();
    place
        .until("the secret is there again", async || {
            secrets.get_opt("auth-secret").await.unwrap().is_some()
        })
        .await;
    evaluator.shut_down(PATIENCE).await;
    place.remove().await;
}

fn template(label: &str) -> DynamicObject {
    let pod = json!({
        "metadata": {"labels": {"made-by": label}},
        "spec": {
            "initContainers": [{
                "name": "copy-wrapper-server",
                "command": ["cp", "-a", "/home/nonroot/wrapper-server/.", "/wrapper-server-tools"],
                "volumeMounts": [{"name": "tools", "mountPath": "/wrapper-server-tools"}],
            }],
            "containers": [{
                "name": "function",
                "image": "to-be-replaced",
                "command": ["/wrapper-server-tools/wrapper-server"],
                "volumeMounts": [{"name": "tools", "mountPath": "/wrapper-server-tools"}],
            }],
            "volumes": [{"name": "tools", "emptyDir": {}}],
        },
    });
    let data = json!({"template": pod.to_string(), "serviceTemplate": "spec: {type: ClusterIP}"});
    object(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "templates"}, "data": data}),
    )
}

fn object(value: Value) -> DynamicObject {
    serde_json::from_value(value).unwrap()
}

async fn made_by(place: &Place) -> Vec<String> {
    let pods = place.list("", "Pod").await;
    let stay = pods
        .into_iter()
        .filter(|pod| pod.metadata.deletion_timestamp.is_none());
    stay.filter_map(|pod| pod.metadata.labels?.get("made-by").cloned())
        .collect()
}

/// A template that changes under load replaces pods, and no call notices.
#[tokio::test(flavor = "multi_thread")]
async fn templates_change_under_load() {
    let Some(place) = place("change").await else {
        return;
    };
    let mut options = place.options();
    options.template = Some("templates".to_owned());
    options.scan_interval = Duration::from_secs(1);
    let evaluator = Arc::new(PodEvaluator::start(options).await.unwrap());
    let error = evaluator
        .evaluate(call("echo:v1.0", &list(1)))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("ConfigMap \"templates\" is not there"),
        "{error}"
    );

    let maps = place.api("", "ConfigMap");
    maps.create(&PostParams::default(), &template("first"))
        .await
        .unwrap();
    place
        .until("a pod is made of the template", async || {
            evaluator
                .evaluate(call("echo:v1.0", &list(1)))
                .await
                .is_ok()
        })
        .await;
    assert_eq!(made_by(&place).await, ["first"]);
    let is_over = Arc::new(AtomicBool::new(false));
    let answered = Arc::new(AtomicUsize::new(0));
    let load = (0..3).map(|caller| {
        let (evaluator, is_over) = (Arc::clone(&evaluator), Arc::clone(&is_over));
        let answered = Arc::clone(&answered);
        tokio::spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                check_echo(&evaluator, "echo:v1.0", caller).await;
                answered.fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    let load: Vec<_> = load.collect();
    let change = Patch::Merge(json!({"data": template("second").data["data"]}));
    maps.patch("templates", &PatchParams::default(), &change)
        .await
        .unwrap();
    place
        .until("pods are of the new template", async || {
            made_by(&place).await == ["second"]
        })
        .await;
    let before = answered.load(Ordering::Relaxed);
    place
        .until("calls go on", async || {
            answered.load(Ordering::Relaxed) > before + 10
        })
        .await;
    is_over.store(true, Ordering::Relaxed);
    for caller in load {
        caller.await.unwrap();
    }
    evaluator.shut_down(PATIENCE).await;
    place.remove().await;
}

/// A FunctionConfig of Porch's is taken over, and says so; it goes when it is deleted.
#[tokio::test(flavor = "multi_thread")]
async fn function_configs_are_in_force() {
    let Some(place) = place("configs").await else {
        return;
    };
    place.install("deploy/kubernetes/crds.yaml").await;
    let configs = place.api("config.porch.kpt.dev", "FunctionConfig");
    let config = object(json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1",
        "kind": "FunctionConfig",
        "metadata": {"name": "echo"},
        "spec": {
            "image": "echo",
            "prefixes": ["", "ghcr.io/kptdev/krm-functions-catalog"],
            "podExecutor": {
                "tags": ["v1.0"],
                "timeToLive": "30m",
                "templateOverrides": {"container": {"env": [{"name": "FROM", "value": "config"}]}},
            },
        },
    }));
    configs
        .create(&PostParams::default(), &config)
        .await
        .unwrap();
    let mut options = place.options();
    options.warm_up = true;
    let evaluator = PodEvaluator::start(options).await.unwrap();
    place
        .until("a pod is warmed up", async || place.pods().await.len() == 1)
        .await;
    check_echo(&evaluator, "echo:v1.0", 1).await;
    let pods = place.list("", "Pod").await;
    assert_eq!(pods.len(), 1);
    assert_eq!(
        pods[0].data["spec"]["containers"][0]["env"],
        json!([{"name": "FROM", "value": "config"}])
    );
    place
        .until("its status says that it was seen", async || {
            let seen = configs.get("echo").await.unwrap();
            seen.data["status"]["functionRunnerObservedGeneration"] == 1
        })
        .await;
    let seen = configs.get("echo").await.unwrap();
    let finalizers = seen.metadata.finalizers.unwrap_or_default();
    assert_eq!(
        finalizers,
        ["config.porch.kpt.dev/functionconfig-function-runner"]
    );
    configs.delete("echo", &Default::default()).await.unwrap();
    place
        .until("it goes when it is deleted", async || {
            configs.get_opt("echo").await.unwrap().is_none()
        })
        .await;
    evaluator.shut_down(PATIENCE).await;
    place.remove().await;
}
