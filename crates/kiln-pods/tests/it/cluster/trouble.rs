//! Disturbances: an unreachable API server, pods that cannot start, settings that change.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use kiln_pods::{ClusterSource, PodError, PodEvaluator, PullSecret};
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::gate::Gate;
use super::images::Images;
use super::test_namespace::{TestNamespace, call, check_echo, list, test_namespace};

const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(20);

/// A warm call sends no request to the API server, and works without one.
#[tokio::test(flavor = "multi_thread")]
async fn warm_calls_need_no_api_server() {
    let Some(namespace) = test_namespace("away").await else {
        return;
    };
    let gate = Gate::new(&namespace.client);
    let mut options = namespace.options();
    options.cluster = ClusterSource::Client(gate.client.clone());
    options.pod_ttl = Duration::from_secs(4);
    options.scan_interval = Duration::from_secs(1);
    // Long enough that no renewal happens during the calls below.
    options.lease_period = Duration::from_secs(60);
    let evaluator = PodEvaluator::start(options).await.unwrap();
    check_echo(&evaluator, "echo:v1.0", 1).await;
    let pods = namespace.pods().await;

    gate.close();
    let requests = gate.count();
    for number in 0..200 {
        check_echo(&evaluator, "echo:v1.0", number).await;
    }
    // Broken watches reconnect a few times; 200 calls would send more requests.
    let requests = gate.count() - requests;
    assert!(requests < 100, "{requests} requests during 200 calls");
    // Its time to live has ended, but the view is stale.
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(namespace.pods().await, pods);
    check_echo(&evaluator, "echo:v1.0", 2).await;

    gate.open();
    namespace
        .until("the pod goes when it is known to be idle", async || {
            namespace.pods().await.is_empty()
        })
        .await;
    check_echo(&evaluator, "echo:v1.0", 3).await;
    evaluator.shut_down(SHUTDOWN_TIMEOUT).await;
    namespace.remove().await;
}

/// If a pod cannot start, the call fails at once with Kubernetes' reason.
#[tokio::test(flavor = "multi_thread")]
async fn pods_that_cannot_start_fail_the_call_with_a_reason() {
    let Some(namespace) = test_namespace("stuck").await else {
        return;
    };
    let mut options = namespace.options();
    options.wrapper_image = namespace.images.name("no-such-wrapper");
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
    evaluator.shut_down(SHUTDOWN_TIMEOUT).await;

    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(
        b"- {name: 'echo:v1.0', resources: {requests: {cpu: 1000}, limits: {cpu: 1000}}}",
    )
    .unwrap();
    let mut options = namespace.options();
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
    evaluator.shut_down(SHUTDOWN_TIMEOUT).await;
    namespace.remove().await;
}

/// Private images are pulled with a copy of the mounted secret, which follows the file.
#[tokio::test(flavor = "multi_thread")]
async fn private_images_are_pulled_with_the_secret() {
    let Some(namespace) = test_namespace("private").await else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let private = Images::private(directory.path()).await;
    let mut options = namespace.options();
    options.images = private.known();
    options.scan_interval = Duration::from_secs(1);
    options.pull_secret = Some(PullSecret {
        path: directory.path().join("config.json"),
        name: "auth-secret".to_owned(),
    });
    let evaluator = PodEvaluator::start(options).await.unwrap();
    check_echo(&evaluator, &private.name("secret"), 1).await;
    let pods = namespace.list("", "Pod").await;
    assert_eq!(
        pods[0].data["spec"]["imagePullSecrets"],
        json!([{"name": "auth-secret"}])
    );
    let secrets = namespace.api("", "Secret");
    let secret = secrets.get("auth-secret").await.unwrap();
    assert_eq!(secret.data["type"], "kubernetes.io/dockerconfigjson");
    secrets
        .delete("auth-secret", &Default::default())
        .await
        .unwrap();
    namespace
        .until("the secret is there again", async || {
            secrets.get_opt("auth-secret").await.unwrap().is_some()
        })
        .await;
    evaluator.shut_down(SHUTDOWN_TIMEOUT).await;
    namespace.remove().await;
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

async fn made_by(namespace: &TestNamespace) -> Vec<String> {
    let pods = namespace.list("", "Pod").await;
    let stay = pods
        .into_iter()
        .filter(|pod| pod.metadata.deletion_timestamp.is_none());
    stay.filter_map(|pod| pod.metadata.labels?.get("made-by").cloned())
        .collect()
}

/// A template that changes under load replaces the pods without failed calls.
#[tokio::test(flavor = "multi_thread")]
async fn templates_change_under_load() {
    let Some(namespace) = test_namespace("change").await else {
        return;
    };
    let mut options = namespace.options();
    options.template = Some("templates".to_owned());
    options.scan_interval = Duration::from_secs(1);
    let evaluator = Arc::new(PodEvaluator::start(options).await.unwrap());
    let error = evaluator
        .evaluate(call("echo:v1.0", &list(1)))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("ConfigMap \"templates\" does not exist"),
        "{error}"
    );

    let maps = namespace.api("", "ConfigMap");
    maps.create(&PostParams::default(), &template("first"))
        .await
        .unwrap();
    namespace
        .until("a pod is made of the template", async || {
            evaluator
                .evaluate(call("echo:v1.0", &list(1)))
                .await
                .is_ok()
        })
        .await;
    assert_eq!(made_by(&namespace).await, ["first"]);
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
    namespace
        .until("pods are of the new template", async || {
            made_by(&namespace).await == ["second"]
        })
        .await;
    let before = answered.load(Ordering::Relaxed);
    namespace
        .until("calls go on", async || {
            answered.load(Ordering::Relaxed) > before + 10
        })
        .await;
    is_over.store(true, Ordering::Relaxed);
    for caller in load {
        caller.await.unwrap();
    }
    evaluator.shut_down(SHUTDOWN_TIMEOUT).await;
    namespace.remove().await;
}

/// A FunctionConfig takes effect, and its status and finalizer are written; it can be deleted.
#[tokio::test(flavor = "multi_thread")]
async fn function_configs_take_effect() {
    let Some(namespace) = test_namespace("configs").await else {
        return;
    };
    namespace.install("deploy/kubernetes/crds.yaml").await;
    let configs = namespace.api("config.porch.kpt.dev", "FunctionConfig");
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
    let mut options = namespace.options();
    options.warm_up = true;
    let evaluator = PodEvaluator::start(options).await.unwrap();
    namespace
        .until("a pod is warmed up", async || {
            namespace.pods().await.len() == 1
        })
        .await;
    check_echo(&evaluator, "echo:v1.0", 1).await;
    let pods = namespace.list("", "Pod").await;
    assert_eq!(pods.len(), 1);
    assert_eq!(
        pods[0].data["spec"]["containers"][0]["env"],
        json!([{"name": "FROM", "value": "config"}])
    );
    namespace
        .until("its status has the observed generation", async || {
            let observed = configs.get("echo").await.unwrap();
            observed.data["status"]["functionRunnerObservedGeneration"] == 1
        })
        .await;
    let observed = configs.get("echo").await.unwrap();
    let finalizers = observed.metadata.finalizers.unwrap_or_default();
    assert_eq!(
        finalizers,
        ["config.porch.kpt.dev/functionconfig-function-runner"]
    );
    configs.delete("echo", &Default::default()).await.unwrap();
    namespace
        .until("it goes when it is deleted", async || {
            configs.get_opt("echo").await.unwrap().is_none()
        })
        .await;
    evaluator.shut_down(SHUTDOWN_TIMEOUT).await;
    namespace.remove().await;
}
