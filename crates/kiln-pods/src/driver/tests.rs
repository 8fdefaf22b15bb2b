//! The driver with a cluster in memory, in which nothing happens unless a test does it.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};

use bytes::Bytes;
use http::Method;
use kiln_runtime::Deadline;
use serde_json::{Value, json};
use tonic::metadata::MetadataMap;

use super::*;
use crate::fake_cluster::FakeCluster;
use crate::keys::WRAPPER_PORT;
use crate::scripted_pod::{Does, Script, pod_at};
use crate::{
    AddressMode, Call, Cluster, ImageInfo, Images, NoLocalExecutors, Options, PodError,
    PodEvaluator, Resolving,
};

const TEMPLATE: &str = "spec: {containers: [{name: function}], volumes: [{name: mine}], imagePullSecrets: [{name: own}]}";

/// All images there are, and what tags stand for.
#[derive(Default)]
struct Registry {
    digest: Mutex<u8>,
}

impl Images for Registry {
    fn resolve<'a>(&'a self, _: &'a str) -> Resolving<'a> {
        let digit = *self.digest.lock().unwrap();
        let info = ImageInfo {
            digest: format!("sha256:{}", digit.to_string().repeat(64)),
            command: vec!["/function".to_owned()],
        };
        Box::pin(std::future::ready(Ok(info)))
    }
}

fn options(cluster: &FakeCluster) -> Options {
    Options {
        cluster: Cluster::Client(cluster.client()),
        proxies: Default::default(),
        replica: "me".to_owned(),
        namespace: "fns".to_owned(),
        own_namespace: Some("own".to_owned()),
        wrapper_image: "wrapper".to_owned(),
        max_message_size: 1 << 20,
        default_image_prefix: "example.org".to_owned(),
        pod_ttl: Duration::from_secs(1800),
        scan_interval: Duration::from_secs(10),
        max_waitlist: NonZeroUsize::MIN,
        max_pods: NonZeroUsize::MIN,
        start_timeout: Duration::from_secs(60),
        lease_period: Duration::from_secs(15),
        address_mode: AddressMode::PodIp,
        template: None,
        cache_config: None,
        warm_up: true,
        pull_secret: None,
        images: Arc::new(Registry::default()),
        local: Arc::new(NoLocalExecutors),
    }
}

fn call(image: &str) -> Call {
    let timeout = Duration::from_secs(30);
    Call {
        image: image.to_owned(),
        resource_list: Bytes::from_static(b"list"),
        deadline: Some(Deadline {
            at: Instant::now().into_std() + timeout,
            timeout,
        }),
        metadata: MetadataMap::new(),
    }
}

/// What the pods run that stay.
fn functions(pods: &[Value]) -> Vec<&str> {
    let stay = pods.iter().map(|pod| &pod["metadata"]);
    let stay = stay.filter(|meta| meta["deletionTimestamp"].is_null());
    stay.filter_map(|meta| meta["annotations"]["fn.kpt.dev/function"].as_str())
        .collect()
}

/// Waits until there are pods for these images, and no others.
async fn until_pods(cluster: &FakeCluster, images: &[&str]) {
    cluster
        .until("pods", |pods| {
            let mut found = functions(pods);
            found.sort_unstable();
            found == images
        })
        .await;
}

fn config(image: &str, executor: &Value) -> Value {
    json!({"spec": {"image": image, "prefixes": [""], "podExecutor": executor}})
}

async fn refused(evaluator: &PodEvaluator, image: &str) -> String {
    let error = evaluator.evaluate(call(image)).await.unwrap_err();
    assert!(!matches!(error, PodError::TimedOut { .. }), "{error}");
    error.to_string()
}

#[tokio::test(start_paused = true)]
async fn images_that_are_listed_later_are_warmed_up() {
    let cluster = FakeCluster::new();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("cache.yaml");
    std::fs::write(&file, "example.org/a:v1: 30m\n").unwrap();
    let mut options = options(&cluster);
    options.cache_config = Some(file.clone());
    let _evaluator = PodEvaluator::start(options).await.unwrap();
    until_pods(&cluster, &["example.org/a:v1"]).await;

    // The other form of the file.
    std::fs::write(&file, "- {name: 'b:v1'}\n- {name: 'example.org/a:v1'}\n").unwrap();
    until_pods(&cluster, &["example.org/a:v1", "example.org/b:v1"]).await;
    cluster.put(
        "functionconfigs",
        "c",
        config("c", &json!({"tags": ["v1"]})),
    );
    let three = ["example.org/a:v1", "example.org/b:v1", "example.org/c:v1"];
    until_pods(&cluster, &three).await;
    // Another tag is another image; what is not listed any more stays for its time.
    cluster.put(
        "functionconfigs",
        "c",
        config("c", &json!({"tags": ["v2"]})),
    );
    until_pods(&cluster, &[&three[..], &["example.org/c:v2"]].concat()).await;
    assert_eq!(cluster.count("POST /api/v1/namespaces/fns/pods"), 4);
    assert_eq!(cluster.count("DELETE /api/v1/namespaces/fns/pods"), 0);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_warmed_up_that_should_not_be() {
    let cluster = FakeCluster::new();
    let mut options = options(&cluster);
    options.warm_up = false;
    let _evaluator = PodEvaluator::start(options).await.unwrap();
    cluster.put(
        "functionconfigs",
        "c",
        config("c", &json!({"tags": ["v1"]})),
    );
    cluster
        .until("functionconfigs", |configs| {
            configs[0]["status"]["functionRunnerObservedGeneration"] == 1
        })
        .await;
    assert_eq!(cluster.list("pods"), Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn templates_may_come_change_break_and_go() {
    let cluster = FakeCluster::new();
    cluster.put(
        "functionconfigs",
        "c",
        config("c", &json!({"tags": ["v1"]})),
    );
    let mut options = options(&cluster);
    options.template = Some("templates".to_owned());
    let evaluator = PodEvaluator::start(options).await.unwrap();
    let told = refused(&evaluator, "c:v1").await;
    assert!(
        told.contains("ConfigMap \"templates\" is not there"),
        "{told}"
    );

    let data = |template: &str| json!({"data": {"template": template, "serviceTemplate": "{}"}});
    cluster.put("configmaps", "templates", data(TEMPLATE));
    // Who was listed is warmed up now that there are templates.
    until_pods(&cluster, &["example.org/c:v1"]).await;
    let spec = cluster.list("pods")[0]["spec"].clone();
    assert_eq!(spec["volumes"][0]["name"], "mine");
    assert_eq!(spec["imagePullSecrets"], json!([{"name": "own"}]));
    let made_of =
        |pods: &[Value]| pods[0]["metadata"]["annotations"]["fn.kpt.dev/template-version"].clone();
    let first = made_of(&cluster.list("pods"));

    // What cannot be used, or is gone, leaves what was before in force.
    cluster.put("configmaps", "templates", data("spec: {}"));
    cluster.delete("configmaps", "templates");
    cluster.put(
        "functionconfigs",
        "d",
        config("d", &json!({"tags": ["v1"]})),
    );
    until_pods(&cluster, &["example.org/c:v1", "example.org/d:v1"]).await;
    let pods = cluster.list("pods");
    assert!(
        pods.iter()
            .all(|pod| made_of(std::slice::from_ref(pod)) == first)
    );

    // Back, it is another one: pods that have no work are replaced.
    cluster.put("configmaps", "templates", data(TEMPLATE));
    cluster.until("pods", <[Value]>::is_empty).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_is_told_at_once() {
    for (kind, code, reason) in [
        ("pods", 403, "Forbidden"),
        ("services", 403, "Forbidden"),
        ("pods", 422, "Invalid"),
    ] {
        let cluster = FakeCluster::new();
        cluster.refuse(Method::POST, kind, code, reason, 1);
        let evaluator = PodEvaluator::start(options(&cluster)).await.unwrap();
        let began = Instant::now();
        let told = refused(&evaluator, "c:v1").await;
        assert!(told.contains(&format!("because of {reason}")), "{told}");
        assert!(began.elapsed() < Duration::from_secs(1), "{kind}");
        cluster.until("pods", <[Value]>::is_empty).await;
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_in_vain_hears_what_for() {
    let cluster = FakeCluster::new();
    cluster.refuse(Method::POST, "pods", 500, "InternalError", usize::MAX);
    let evaluator = PodEvaluator::start(options(&cluster)).await.unwrap();
    let told = evaluator.evaluate(call("c:v1")).await.unwrap_err();
    assert!(matches!(told, PodError::TimedOut { .. }), "{told}");
    let told = told.to_string();
    let why = "InternalError: unable to apply the pod: because of InternalError";
    assert!(
        told.starts_with("function evaluation timed out for c:v1 after 30s: pod c-v1-"),
        "{told}"
    );
    assert!(told.ends_with(why), "{told}");

    let cluster = FakeCluster::new();
    let evaluator = PodEvaluator::start(options(&cluster)).await.unwrap();
    let running = tokio::spawn(async move { evaluator.evaluate(call("c:v1")).await });
    cluster.until("pods", |pods| !pods.is_empty()).await;
    let name = cluster.list("pods")[0]["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    let waiting =
        json!([{"name": "function", "state": {"waiting": {"reason": "ContainerCreating"}}}]);
    let placed = json!([{"type": "PodScheduled", "status": "True"}]);
    let status = json!({"phase": "Pending", "containerStatuses": waiting, "conditions": placed});
    cluster.put("pods", &name, json!({"status": status}));
    let told = running.await.unwrap().unwrap_err().to_string();
    let why = format!("pod {name} is not ready: container function: ContainerCreating");
    assert!(told.ends_with(&why), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_defined_later_is_looked_at_then() {
    let cluster = FakeCluster::new();
    cluster.without("functionconfigs");
    let evaluator = PodEvaluator::start(options(&cluster)).await.unwrap();
    assert!(evaluator.is_usable());
    cluster.define("functionconfigs");
    cluster.put(
        "functionconfigs",
        "c",
        config("c", &json!({"tags": ["v1"]})),
    );
    until_pods(&cluster, &["example.org/c:v1"]).await;
}

#[tokio::test(start_paused = true)]
async fn function_configs_hear_what_was_seen_of_them() {
    let cluster = FakeCluster::new();
    // It is not said by halves, whatever the API server answers first.
    cluster.refuse(Method::PATCH, "functionconfigs", 500, "InternalError", 1);
    let _evaluator = PodEvaluator::start(options(&cluster)).await.unwrap();
    cluster.put(
        "functionconfigs",
        "c",
        config("c", &json!({"tags": ["v1"]})),
    );
    let status = |seen: u64, error: &'static str| {
        move |configs: &[Value]| {
            let status = &configs[0]["status"];
            let said = status["error"].as_str().unwrap_or_default();
            let is_said = if error.is_empty() {
                said.is_empty()
            } else {
                said.contains(error)
            };
            status["functionRunnerObservedGeneration"] == seen && is_said
        }
    };
    cluster.until("functionconfigs", status(1, "")).await;
    cluster
        .until("functionconfigs", |configs| {
            configs[0]["metadata"]["finalizers"]
                .as_array()
                .is_some_and(|held| held.len() == 1)
        })
        .await;
    let wrong = json!({"tags": ["v1"], "timeToLive": "soon"});
    cluster.put("functionconfigs", "c", config("c", &wrong));
    cluster
        .until("functionconfigs", status(1, "spec.podExecutor.timeToLive"))
        .await;
    let right = json!({"tags": ["v1"], "timeToLive": "1m"});
    cluster.put("functionconfigs", "c", config("c", &right));
    cluster.until("functionconfigs", status(3, "")).await;
    cluster.refuse(
        Method::PATCH,
        "functionconfigs",
        503,
        "ServiceUnavailable",
        2,
    );
    cluster.delete("functionconfigs", "c");
    cluster.until("functionconfigs", <[Value]>::is_empty).await;
}

/// Pods that can be called, at addresses of their own.
impl FakeCluster {
    /// Waits until there is a pod that does not run, and has it run where a wrapper listens. Gives back its name and what the
    /// wrapper has left to do.
    async fn run_next(&self, does: impl IntoIterator<Item = Does>) -> (String, Script) {
        static NEXT: AtomicU8 = AtomicU8::new(1);
        let [.., high, low] = std::process::id().to_be_bytes();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let ip = format!("127.{number}.{high}.{low}");
        let (_, script) = pod_at(&format!("{ip}:{WRAPPER_PORT}"), does).await;
        let waits = |pod: &&Value| pod["status"].is_null();
        self.until("pods", |pods| pods.iter().any(|pod| waits(&pod)))
            .await;
        let pods = self.list("pods");
        let pod = pods.iter().find(waits).unwrap();
        let name = pod["metadata"]["name"].as_str().unwrap().to_owned();
        let conditions = json!([{"type": "Ready", "status": "True"}]);
        let status = json!({"phase": "Running", "podIP": ip, "conditions": conditions});
        self.put("pods", &name, json!({"status": status}));
        (name, script)
    }
}

/// The clock of these is that of the network.
fn quick(cluster: &FakeCluster) -> Options {
    Options {
        scan_interval: Duration::from_millis(50),
        lease_period: Duration::from_millis(300),
        ..options(cluster)
    }
}

#[tokio::test]
async fn an_annotation_that_is_taken_away_is_written_anew() {
    let cluster = FakeCluster::new();
    let tags = json!({"tags": ["v1"]});
    cluster.put("functionconfigs", "c", config("c", &tags));
    let _evaluator = PodEvaluator::start(quick(&cluster)).await.unwrap();
    let (pod, _) = cluster.run_next([]).await;
    let after = |pods: &[Value]| {
        let annotations = &pods[0]["metadata"]["annotations"];
        let after = annotations["fn.kpt.dev/reclaim-after"].as_str();
        after.and_then(|after| after.parse::<u64>().ok())
    };
    assert!(after(&cluster.list("pods")).is_some());
    for wrong in [json!(null), json!("soon")] {
        let annotations = json!({"fn.kpt.dev/reclaim-after": wrong});
        let change = json!({"metadata": {"annotations": annotations}});
        cluster.put("pods", &pod, change);
        cluster.until("pods", |pods| after(pods).is_some()).await;
    }
}

#[tokio::test]
async fn a_tag_that_moves_is_followed() {
    let cluster = FakeCluster::new();
    let registry = Arc::new(Registry::default());
    let options = Options {
        images: Arc::<Registry>::clone(&registry),
        ..quick(&cluster)
    };
    let evaluator = Arc::new(PodEvaluator::start(options).await.unwrap());
    let ask = || {
        let evaluator = Arc::clone(&evaluator);
        tokio::spawn(async move { evaluator.evaluate(call("c:v1")).await })
    };
    let image = |pods: &[Value]| pods[0]["spec"]["containers"][0]["image"].clone();
    let first = ask();
    let (old, _) = cluster.run_next([Does::Answer("old")]).await;
    assert_eq!(first.await.unwrap().unwrap().resource_list, "old");
    let zeros = format!("example.org/c@sha256:{}", "0".repeat(64));
    assert_eq!(image(&cluster.list("pods")), zeros);

    *registry.digest.lock().unwrap() = 1;
    let is_old = |pods: &[Value]| pods.iter().any(|pod| pod["metadata"]["name"] == *old);
    cluster.until("pods", |pods| !is_old(pods)).await;
    let second = ask();
    cluster.run_next([Does::Answer("new")]).await;
    assert_eq!(second.await.unwrap().unwrap().resource_list, "new");
    let ones = format!("example.org/c@sha256:{}", "1".repeat(64));
    assert_eq!(image(&cluster.list("pods")), ones);
}

#[tokio::test]
async fn a_call_that_was_lost_says_what_became_of_its_pod() {
    let ended =
        json!({"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-01-01T00:00:00Z"});
    let restarted =
        json!([{"name": "function", "state": {"running": {}}, "lastState": {"terminated": ended}}]);
    let evicted = json!({"phase": "Failed", "reason": "Evicted", "message": "low on memory"});
    for (change, expected) in [
        (
            json!({"containerStatuses": restarted}),
            "OOMKilled: container function ended with exit code 137",
        ),
        (evicted, "Evicted: low on memory"),
        (json!(null), "Deleted: the pod is gone"),
    ] {
        let cluster = FakeCluster::new();
        let evaluator = PodEvaluator::start(quick(&cluster)).await.unwrap();
        let running = tokio::spawn(async move { evaluator.evaluate(call("c:v1")).await });
        let (pod, script) = cluster.run_next([Does::HangUp]).await;
        while !script.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        match change.is_null() {
            true => cluster.delete("pods", &pod),
            false => cluster.put("pods", &pod, json!({"status": change})),
        }
        let error = running.await.unwrap().unwrap_err();
        assert!(matches!(error, PodError::Interrupted { .. }), "{error}");
        assert!(error.to_string().ends_with(expected), "{error}");
    }
}
