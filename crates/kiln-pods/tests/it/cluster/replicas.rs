//! Several replicas in one namespace.

use std::time::Duration;

use kiln_pods::{ClusterSource, PodEvaluator};

use super::gate::Gate;
use super::test_namespace::{TestNamespace, check_echo, test_namespace};

const REPLICA_LABEL: &str = "fn.kpt.dev/replica";

const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(20);

async fn owners(namespace: &TestNamespace) -> Vec<String> {
    let pods = namespace.list("", "Pod").await;
    let stay = pods
        .into_iter()
        .filter(|pod| pod.metadata.deletion_timestamp.is_none());
    let owners = stay.filter_map(|pod| pod.metadata.labels?.get(REPLICA_LABEL).cloned());
    owners.collect()
}

/// A replica that shuts down leaves its pods to the next one; pods of a killed replica are adopted.
#[tokio::test(flavor = "multi_thread")]
async fn pods_outlive_their_replica() {
    let Some(namespace) = test_namespace("heirs").await else {
        return;
    };
    let first = PodEvaluator::start(namespace.options()).await.unwrap();
    check_echo(&first, "echo:v1.0", 1).await;
    let pods = namespace.pods().await;
    first.shut_down(SHUTDOWN_TIMEOUT).await;
    assert_eq!(
        namespace.pods().await,
        pods,
        "pods are not deleted at the end"
    );

    let second_options = namespace.options();
    let second_name = second_options.replica.clone();
    let second = PodEvaluator::start(second_options).await.unwrap();
    namespace
        .until("the next replica has the pod", async || {
            owners(&namespace).await == [second_name.clone()]
        })
        .await;
    check_echo(&second, "echo:v1.0", 2).await;
    assert_eq!(namespace.pods().await, pods, "the pod was used again");

    // Pods of a live replica are left alone.
    let third_options = namespace.options();
    let third_name = third_options.replica.clone();
    let third = PodEvaluator::start(third_options).await.unwrap();
    check_echo(&third, "echo:v1.0", 3).await;
    let mut both = owners(&namespace).await;
    both.sort_unstable();
    assert_eq!(both, [second_name, third_name.clone()]);

    // Dropped without shutdown, as if it were killed.
    drop(second);
    namespace
        .until(
            "the pods of the killed replica are adopted or gone",
            async || {
                owners(&namespace)
                    .await
                    .iter()
                    .all(|owner| *owner == third_name)
            },
        )
        .await;
    check_echo(&third, "echo:v1.0", 4).await;
    namespace
        .until("the lease of the killed replica is gone", async || {
            namespace.list("coordination.k8s.io", "Lease").await.len() == 1
        })
        .await;
    third.shut_down(SHUTDOWN_TIMEOUT).await;
    assert!(
        namespace
            .list("coordination.k8s.io", "Lease")
            .await
            .is_empty()
    );
    namespace.remove().await;
}

/// A replica that is cut off from the API server loses its pods to another one but keeps calling them; when it is
/// connected again, it creates its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_was_cut_off_recovers() {
    let Some(namespace) = test_namespace("cut").await else {
        return;
    };
    let gate = Gate::new(&namespace.client);
    let mut options = namespace.options();
    options.cluster = ClusterSource::Client(gate.client.clone());
    let cut_off_name = options.replica.clone();
    let cut_off = PodEvaluator::start(options).await.unwrap();
    check_echo(&cut_off, "echo:v1.0", 1).await;
    let other_options = namespace.options();
    let other_name = other_options.replica.clone();
    let other = PodEvaluator::start(other_options).await.unwrap();
    let pods = namespace.pods().await;

    gate.close();
    namespace
        .until("the other has adopted the pod", async || {
            owners(&namespace).await == [other_name.clone()]
        })
        .await;
    assert_eq!(namespace.pods().await, pods);
    check_echo(&cut_off, "echo:v1.0", 2).await;
    check_echo(&other, "echo:v1.0", 3).await;

    gate.open();
    // It creates a pod as soon as it sees that it has none.
    namespace
        .until("both have a pod of their own", async || {
            check_echo(&cut_off, "echo:v1.0", 4).await;
            check_echo(&other, "echo:v1.0", 5).await;
            let mut both = owners(&namespace).await;
            both.sort_unstable();
            both == [cut_off_name.clone(), other_name.clone()]
        })
        .await;
    for slice in namespace.list("discovery.k8s.io", "EndpointSlice").await {
        let endpoints = slice.data["endpoints"].as_array().map_or(0, Vec::len);
        assert!(endpoints <= 1, "{slice:?}");
    }
    cut_off.shut_down(SHUTDOWN_TIMEOUT).await;
    other.shut_down(SHUTDOWN_TIMEOUT).await;
    namespace.remove().await;
}
