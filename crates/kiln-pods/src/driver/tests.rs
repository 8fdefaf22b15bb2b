//! The driver with an in-memory cluster, in which nothing happens by itself.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};

use bytes::Bytes;
use http::Method;
use kiln_runtime::Deadline;
use serde_json::{Value, json};

use super::*;
use crate::kube::names::WRAPPER_PORT;
use crate::testing::fake_cluster::FakeCluster;
use crate::testing::scripted_pod::{PodAction, Script, pod_at};
use crate::{
    AddressMode, ClusterSource, ImageInfo, ImageResolver, NoLocalExecutors, PodCall, PodError,
    PodEvaluator, PodOptions, Resolving,
};

const TEMPLATE: &str = "spec: {containers: [{name: function}], volumes: [{name: mine}], imagePullSecrets: [{name: own}]}";

/// A registry that has all images.
#[derive(Default)]
struct Registry {
    digest: Mutex<u8>,
}

impl ImageResolver for Registry {
    fn resolve<'a>(&'a self, _: &'a str) -> Resolving<'a> {
        let digit = *self.digest.lock().unwrap();
        let info = ImageInfo {
            digest: format!("sha256:{}", digit.to_string().repeat(64)),
            command: vec!["/function".to_owned()],
        };
        Box::pin(std::future::ready(Ok(info)))
    }
}

fn options(cluster: &FakeCluster) -> PodOptions {
    PodOptions {
        cluster: ClusterSource::Client(cluster.client()),
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
        local_executors: Arc::new(NoLocalExecutors),
        trace_context: None,
    }
}

fn call(image: &str) -> PodCall {
    let timeout = Duration::from_secs(30);
    PodCall {
        image: image.to_owned(),
        resource_list: Bytes::from_static(b"list"),
        deadline: Some(Deadline {
            at: Instant::now().into_std() + timeout,
            timeout,
        }),
    }
}

/// The functions of the pods that are not being deleted.
fn functions(pods: &[Value]) -> Vec<&str> {
    let stay = pods.iter().map(|pod| &pod["metadata"]);
    let stay = stay.filter(|meta| meta["deletionTimestamp"].is_null());
    stay.filter_map(|meta| meta["annotations"]["fn.kpt.dev/function"].as_str())
        .collect()
}

/// Waits until there are pods for exactly these images.
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
    // Another tag is another image; an image that is no longer listed keeps its pod.
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
async fn nothing_is_warmed_up_if_disabled() {
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
async fn templates_may_appear_change_become_invalid_and_disappear() {
    let cluster = FakeCluster::new();
    cluster.put(
        "functionconfigs",
        "c",
        config("c", &json!({"tags": ["v1"]})),
    );
    let mut options = options(&cluster);
    options.template = Some("templates".to_owned());
    let evaluator = PodEvaluator::start(options).await.unwrap();
    let error = refused(&evaluator, "c:v1").await;
    assert!(
        error.contains("ConfigMap \"templates\" does not exist"),
        "{error}"
    );

    let data = |template: &str| json!({"data": {"template": template, "serviceTemplate": "{}"}});
    cluster.put("configmaps", "templates", data(TEMPLATE));
    // Listed images are warmed up now that there are templates.
    until_pods(&cluster, &["example.org/c:v1"]).await;
    let spec = cluster.list("pods")[0]["spec"].clone();
    assert_eq!(spec["volumes"][0]["name"], "mine");
    assert_eq!(spec["imagePullSecrets"], json!([{"name": "own"}]));
    let made_of =
        |pods: &[Value]| pods[0]["metadata"]["annotations"]["fn.kpt.dev/template-version"].clone();
    let first = made_of(&cluster.list("pods"));

    // An invalid or deleted template leaves the previous one in force.
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

    // The new ConfigMap has another version: pods without calls are replaced.
    cluster.put("configmaps", "templates", data(TEMPLATE));
    cluster.until("pods", <[Value]>::is_empty).await;
}

#[tokio::test(start_paused = true)]
async fn refused_creation_fails_the_call_at_once() {
    for (kind, code, reason) in [
        ("pods", 403, "Forbidden"),
        ("services", 403, "Forbidden"),
        ("pods", 422, "Invalid"),
    ] {
        let cluster = FakeCluster::new();
        cluster.refuse(Method::POST, kind, code, reason, 1);
        let evaluator = PodEvaluator::start(options(&cluster)).await.unwrap();
        let began = Instant::now();
        let error = refused(&evaluator, "c:v1").await;
        assert!(error.contains(&format!("because of {reason}")), "{error}");
        assert!(began.elapsed() < Duration::from_secs(1), "{kind}");
        cluster.until("pods", <[Value]>::is_empty).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_reports_why_there_is_no_pod() {
    let cluster = FakeCluster::new();
    cluster.refuse(Method::POST, "pods", 500, "InternalError", usize::MAX);
    let evaluator = PodEvaluator::start(options(&cluster)).await.unwrap();
    let error = evaluator.evaluate(call("c:v1")).await.unwrap_err();
    assert!(matches!(error, PodError::TimedOut { .. }), "{error}");
    let error = error.to_string();
    let why = "InternalError: unable to apply the pod: because of InternalError";
    assert!(
        error.starts_with("function evaluation timed out for c:v1 after 30s: pod c-v1-"),
        "{error}"
    );
    assert!(error.ends_with(why), "{error}");

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
    let error = running.await.unwrap().unwrap_err().to_string();
    let why = format!("pod {name} is not ready: container function: ContainerCreating");
    assert!(error.ends_with(&why), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_defined_later_is_watched() {
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
async fn the_status_of_function_configs_is_written() {
    let cluster = FakeCluster::new();
    // The write is retried until it is complete.
    cluster.refuse(Method::PATCH, "functionconfigs", 500, "InternalError", 1);
    let _evaluator = PodEvaluator::start(options(&cluster)).await.unwrap();
    cluster.put(
        "functionconfigs",
        "c",
        config("c", &json!({"tags": ["v1"]})),
    );
    let status = |observed: u64, error: &'static str| {
        move |configs: &[Value]| {
            let status = &configs[0]["status"];
            let reported = status["error"].as_str().unwrap_or_default();
            let is_reported = if error.is_empty() {
                reported.is_empty()
            } else {
                reported.contains(error)
            };
            status["functionRunnerObservedGeneration"] == observed && is_reported
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

/// Pods that can be called, each at its own address.
impl FakeCluster {
    /// Waits for a pod that is not running and starts it, with a wrapper listening. Returns its name and its script.
    async fn run_next(&self, actions: impl IntoIterator<Item = PodAction>) -> (String, Script) {
        static NEXT: AtomicU8 = AtomicU8::new(1);
        let [.., high, low] = std::process::id().to_be_bytes();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let ip = format!("127.{number}.{high}.{low}");
        let (_, script) = pod_at(&format!("{ip}:{WRAPPER_PORT}"), actions).await;
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

/// These tests use the real clock, because they use the network.
fn quick(cluster: &FakeCluster) -> PodOptions {
    PodOptions {
        scan_interval: Duration::from_millis(50),
        lease_period: Duration::from_millis(300),
        ..options(cluster)
    }
}

#[tokio::test]
async fn a_removed_annotation_is_restored() {
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
async fn a_moved_tag_is_followed() {
    let cluster = FakeCluster::new();
    let registry = Arc::new(Registry::default());
    let options = PodOptions {
        images: Arc::<Registry>::clone(&registry),
        ..quick(&cluster)
    };
    let evaluator = Arc::new(PodEvaluator::start(options).await.unwrap());
    let evaluate = || {
        let evaluator = Arc::clone(&evaluator);
        tokio::spawn(async move { evaluator.evaluate(call("c:v1")).await })
    };
    let image = |pods: &[Value]| pods[0]["spec"]["containers"][0]["image"].clone();
    let first = evaluate();
    let (old, _) = cluster.run_next([PodAction::Answer("old")]).await;
    assert_eq!(first.await.unwrap().unwrap().resource_list, "old");
    let zeros = format!("example.org/c@sha256:{}", "0".repeat(64));
    assert_eq!(image(&cluster.list("pods")), zeros);

    *registry.digest.lock().unwrap() = 1;
    let is_old = |pods: &[Value]| pods.iter().any(|pod| pod["metadata"]["name"] == *old);
    cluster.until("pods", |pods| !is_old(pods)).await;
    let second = evaluate();
    cluster.run_next([PodAction::Answer("new")]).await;
    assert_eq!(second.await.unwrap().unwrap().resource_list, "new");
    let ones = format!("example.org/c@sha256:{}", "1".repeat(64));
    assert_eq!(image(&cluster.list("pods")), ones);
}

#[tokio::test]
async fn a_lost_call_reports_what_happened_to_its_pod() {
    let ended =
        json!({"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-01-01T00:00:00Z"});
    let restarted =
        json!([{"name": "function", "state": {"running": {}}, "lastState": {"terminated": ended}}]);
    let evicted = json!({"phase": "Failed", "reason": "Evicted", "message": "low on memory"});
    for (change, expected) in [
        (
            json!({"containerStatuses": restarted}),
            "OOMKilled: container function exited with code 137",
        ),
        (evicted, "Evicted: low on memory"),
        (json!(null), "Deleted: the pod no longer exists"),
    ] {
        let cluster = FakeCluster::new();
        let evaluator = PodEvaluator::start(quick(&cluster)).await.unwrap();
        let running = tokio::spawn(async move { evaluator.evaluate(call("c:v1")).await });
        let (pod, script) = cluster.run_next([PodAction::HangUp]).await;
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

#[tokio::test]
async fn a_snapshot_has_pods_with_their_start_replicas_and_watches() {
    let cluster = FakeCluster::new();
    let evaluator = PodEvaluator::start(options(&cluster)).await.unwrap();
    let timeout = Duration::from_secs(30);
    let empty = evaluator.snapshot(timeout).await.unwrap();
    assert!(empty.is_synced && empty.pools.is_empty() && empty.pods.is_empty());
    assert_eq!(empty.replica, "me");
    assert!(empty.watches.iter().all(|watch| watch.is_healthy));

    let other = json!({
        "metadata": {
            "labels": {"fn.kpt.dev/image": "x", "fn.kpt.dev/replica": "them"},
            "annotations": {"fn.kpt.dev/function": "example.org/d:v1"},
        },
        "spec": {"nodeName": "node-2"},
        "status": {"phase": "Pending"},
    });
    cluster.put("pods", "theirs", other);
    let running = tokio::spawn({
        let evaluator = evaluator.clone();
        async move { evaluator.evaluate(call("c:v1")).await }
    });
    let (name, _) = cluster.run_next([PodAction::Answer("list")]).await;
    running.await.unwrap().unwrap();
    let snapshot = evaluator.snapshot(timeout).await.unwrap();
    let [pool] = &snapshot.pools[..] else {
        panic!("{snapshot:#?}");
    };
    assert_eq!(pool.image, "example.org/c:v1");
    assert_eq!(pool.digest, Some(format!("sha256:{}", "0".repeat(64))));
    assert_eq!((pool.waiting, pool.pods, pool.max_pods), (0, 1, 1));
    let start = pool.last_cold_start.as_ref().unwrap();
    assert_eq!(start.pod, name);
    let steps: Vec<&str> = start.steps.iter().map(|(step, _)| *step).collect();
    let expected = [
        "resolve the image",
        "create the pod",
        "pull, initialize and become ready",
        "connect",
        "first call",
    ];
    assert_eq!(steps, expected);
    assert!(start.steps.is_sorted_by_key(|(_, after)| *after));
    let pod = |name: &str| {
        let pod = snapshot.pods.iter().find(|pod| pod.name == name);
        pod.unwrap_or_else(|| panic!("no {name} in {snapshot:#?}"))
    };
    let ours = pod(&name);
    assert_eq!((ours.state, ours.running, ours.is_own), ("ready", 0, true));
    assert!(ours.idle.is_some() && ours.expires_in <= Some(Duration::from_secs(1800)));
    assert_eq!(ours.reason, None);
    let theirs = pod("theirs");
    assert_eq!((theirs.owner.as_str(), theirs.is_own), ("them", false));
    assert_eq!(theirs.node.as_deref(), Some("node-2"));
    assert_eq!(theirs.reason.as_deref(), Some("not scheduled yet"));
    let them = snapshot
        .replicas
        .iter()
        .find(|replica| replica.name == "them");
    assert_eq!(
        them.map(|them| (them.pods, them.lease_age)),
        Some((1, None))
    );
    let me = snapshot
        .replicas
        .iter()
        .find(|replica| replica.is_this)
        .unwrap();
    assert!(me.is_alive && me.lease_age.is_some());
}
