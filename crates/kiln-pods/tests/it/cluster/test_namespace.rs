//! The namespace of a test.

use std::env;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use kiln_pods::{AddressMode, ClusterSource, NoLocalExecutors, PodCall, PodEvaluator, PodOptions};
use kiln_runtime::Deadline;
use kube::api::{DynamicObject, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client, Config};
use serde_json::{Value, json};

use super::images::Images;

/// Time limit for everything; the machine may be busy.
const TIMEOUT: Duration = Duration::from_secs(180);

/// A namespace with helpers.
pub(super) struct TestNamespace {
    pub(super) client: Client,
    pub(super) namespace: String,
    pub(super) images: Images,
}

/// Creates the namespace of a test; without a cluster prints a message and returns `None`.
pub(super) async fn test_namespace(name: &str) -> Option<TestNamespace> {
    let (Some(kubeconfig), Ok(registry)) =
        (env::var_os("KUBECONFIG"), env::var("KILN_CLUSTER_REGISTRY"))
    else {
        eprintln!("SKIPPED: no cluster (eval \"$(tests/cluster/up)\" starts one)");
        return None;
    };
    if env::var_os("KILN_CLUSTER").is_none() {
        eprintln!("SKIPPED: KILN_CLUSTER is not set, so the cluster may not be meant for tests");
        return None;
    }
    let file = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .unwrap();
    let client = Client::try_from(config).unwrap();
    let namespace = format!("pods-{name}-{}", std::process::id());
    let namespace = TestNamespace {
        client,
        namespace,
        images: Images::ready(&registry).await,
    };
    let object =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace.namespace}});
    let namespaces =
        Api::<DynamicObject>::all_with(namespace.client.clone(), &resource("", "Namespace"));
    let object = serde_json::from_value(object).unwrap();
    namespaces
        .create(&PostParams::default(), &object)
        .await
        .unwrap();
    Some(namespace)
}

fn resource(group: &str, kind: &str) -> ApiResource {
    let version = match group {
        "config.porch.kpt.dev" => "v1alpha1",
        _ => "v1",
    };
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

impl TestNamespace {
    /// Options with small limits and short periods.
    pub(super) fn options(&self) -> PodOptions {
        static REPLICAS: AtomicU32 = AtomicU32::new(0);
        let replica = REPLICAS.fetch_add(1, Ordering::Relaxed);
        PodOptions {
            cluster: ClusterSource::Client(self.client.clone()),
            proxies: Default::default(),
            replica: format!("replica-{}-{replica}", std::process::id()),
            namespace: self.namespace.clone(),
            own_namespace: Some(self.namespace.clone()),
            wrapper_image: self.images.name("wrapper"),
            max_message_size: 6 << 20,
            default_image_prefix: format!("{}/kiln-pods-test", self.images.registry),
            pod_ttl: Duration::from_secs(1800),
            scan_interval: Duration::from_secs(60),
            max_waitlist: NonZeroUsize::new(2).unwrap(),
            max_pods: NonZeroUsize::MIN,
            start_timeout: Duration::from_secs(60),
            lease_period: Duration::from_secs(6),
            address_mode: AddressMode::ClusterIp,
            template: None,
            cache_config: None,
            warm_up: false,
            pull_secret: None,
            local_executors: Arc::new(NoLocalExecutors),
            trace_context: None,
            images: self.images.known(),
        }
    }

    /// All objects of a kind.
    pub(super) async fn list(&self, group: &str, kind: &str) -> Vec<DynamicObject> {
        let api = self.api(group, kind);
        api.list(&ListParams::default()).await.unwrap().items
    }

    pub(super) fn api(&self, group: &str, kind: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource(group, kind))
    }

    pub(super) async fn pods(&self) -> Vec<String> {
        let pods = self.list("", "Pod").await;
        let stay = pods
            .into_iter()
            .filter(|pod| pod.metadata.deletion_timestamp.is_none());
        stay.filter_map(|pod| pod.metadata.name).collect()
    }

    /// Waits for a condition.
    pub(super) async fn until(&self, what: &str, mut condition: impl AsyncFnMut() -> bool) {
        let began = Instant::now();
        while !condition().await {
            assert!(began.elapsed() < TIMEOUT, "timed out: {what}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Installs CustomResourceDefinitions from a file of this repository, unless they exist.
    pub(super) async fn install(&self, file: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(file);
        let text = std::fs::read_to_string(path).unwrap();
        let definitions = resource("apiextensions.k8s.io", "CustomResourceDefinition");
        let api = Api::<DynamicObject>::all_with(self.client.clone(), &definitions);
        let objects: Vec<DynamicObject> = serde_saphyr::from_multiple(&text).unwrap();
        for object in objects {
            let name = object.metadata.name.clone().unwrap();
            // Another test may have created it.
            let _ = api.create(&PostParams::default(), &object).await;
            self.until("a kind is known", async || {
                let found = api.get(&name).await.unwrap();
                let conditions = found.data["status"]["conditions"].as_array().cloned();
                let is_known = |condition: &Value| {
                    condition["type"] == "Established" && condition["status"] == "True"
                };
                conditions.unwrap_or_default().iter().any(is_known)
            })
            .await;
        }
    }

    /// Waits until nothing is left, and deletes the namespace.
    pub(super) async fn end(self) {
        for (group, kind) in [
            ("", "Pod"),
            ("", "Service"),
            ("coordination.k8s.io", "Lease"),
        ] {
            let nothing = format!("no {kind} is left");
            self.until(&nothing, async || self.list(group, kind).await.is_empty())
                .await;
        }
        self.remove().await;
    }

    /// Deletes the namespace with everything in it.
    pub(super) async fn remove(self) {
        let namespaces =
            Api::<DynamicObject>::all_with(self.client.clone(), &resource("", "Namespace"));
        namespaces
            .delete(&self.namespace, &Default::default())
            .await
            .unwrap();
    }
}

/// A call with a generous deadline.
pub(super) fn call(image: &str, list: &str) -> PodCall {
    PodCall {
        image: image.to_owned(),
        resource_list: Bytes::copy_from_slice(list.as_bytes()),
        deadline: Some(Deadline {
            at: Instant::now() + TIMEOUT,
            timeout: TIMEOUT,
        }),
    }
}

/// A resource list that is different for each number.
pub(super) fn list(number: usize) -> String {
    format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  \
         metadata:\n    name: number-{number}\n"
    )
}

/// Calls the function and expects the same list back.
pub(super) async fn check_echo(evaluator: &PodEvaluator, image: &str, number: usize) {
    let answer = evaluator
        .evaluate(call(image, &list(number)))
        .await
        .unwrap();
    let answer = String::from_utf8(answer.resource_list.to_vec()).unwrap();
    assert!(
        answer.contains(&format!("name: number-{number}\n")),
        "{answer}"
    );
}
