//! A namespace of a test, and what can be asked of it.

use std::env;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use kiln_pods::kube::api::{DynamicObject, ListParams, PostParams};
use kiln_pods::kube::config::{KubeConfigOptions, Kubeconfig};
use kiln_pods::kube::core::{ApiResource, GroupVersionKind};
use kiln_pods::kube::{Api, Client, Config};
use kiln_pods::{AddressMode, Call, Cluster, NoLocalExecutors, Options, PodEvaluator};
use kiln_runtime::Deadline;
use serde_json::{Value, json};
use tonic::metadata::MetadataMap;

use super::images::Images;

/// How long anything may take on a machine with much else to do.
const PATIENCE: Duration = Duration::from_secs(180);

/// A namespace.
pub(super) struct Place {
    pub(super) client: Client,
    pub(super) namespace: String,
    pub(super) images: Images,
}

/// The place of a test; none if there is no cluster, which is said.
pub(super) async fn place(name: &str) -> Option<Place> {
    let (Some(kubeconfig), Ok(registry)) =
        (env::var_os("KUBECONFIG"), env::var("KILN_CLUSTER_REGISTRY"))
    else {
        eprintln!("SKIPPED: no cluster (eval \"$(tests/cluster/up)\" brings one up)");
        return None;
    };
    if env::var_os("KILN_CLUSTER").is_none() {
        eprintln!("SKIPPED: KILN_CLUSTER does not say that the cluster is for tests");
        return None;
    }
    let file = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .unwrap();
    let client = Client::try_from(config).unwrap();
    let namespace = format!("pods-{name}-{}", std::process::id());
    let place = Place {
        client,
        namespace,
        images: Images::ready(&registry).await,
    };
    let object =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place.namespace}});
    let namespaces =
        Api::<DynamicObject>::all_with(place.client.clone(), &resource("", "Namespace"));
    let object = serde_json::from_value(object).unwrap();
    namespaces
        .create(&PostParams::default(), &object)
        .await
        .unwrap();
    Some(place)
}

fn resource(group: &str, kind: &str) -> ApiResource {
    let version = match group {
        "config.porch.kpt.dev" => "v1alpha1",
        _ => "v1",
    };
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

impl Place {
    /// Options with everything small and fast.
    pub(super) fn options(&self) -> Options {
        static REPLICAS: AtomicU32 = AtomicU32::new(0);
        let replica = REPLICAS.fetch_add(1, Ordering::Relaxed);
        Options {
            cluster: Cluster::Client(self.client.clone()),
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
            local: Arc::new(NoLocalExecutors),
            images: self.images.known(),
        }
    }

    /// All objects of a kind that are ours.
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

    /// Waits until something is so.
    pub(super) async fn until(&self, what: &str, mut is_so: impl AsyncFnMut() -> bool) {
        let began = Instant::now();
        while !is_so().await {
            assert!(began.elapsed() < PATIENCE, "still not so: {what}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Installs definitions of kinds from a file of this repository, unless they are there.
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
            // Another test may have been faster.
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

    /// Waits until nothing is left over, and takes the namespace away.
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

    /// Takes the namespace away with all there is in it.
    pub(super) async fn remove(self) {
        let namespaces =
            Api::<DynamicObject>::all_with(self.client.clone(), &resource("", "Namespace"));
        namespaces
            .delete(&self.namespace, &Default::default())
            .await
            .unwrap();
    }
}

/// A call with a list and a minute or three.
pub(super) fn call(image: &str, list: &str) -> Call {
    Call {
        image: image.to_owned(),
        resource_list: Bytes::copy_from_slice(list.as_bytes()),
        deadline: Some(Deadline {
            at: Instant::now() + PATIENCE,
            timeout: PATIENCE,
        }),
        metadata: MetadataMap::new(),
    }
}

/// A list that tells itself from others.
pub(super) fn list(number: usize) -> String {
    format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  \
         metadata:\n    name: number-{number}\n"
    )
}

/// Calls, and expects the same list back.
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
