//! Several replicas in one namespace.

use std::time::Duration;

use kiln_pods::keys::REPLICA_LABEL;
use kiln_pods::{Cluster, PodEvaluator};

use super::gate::Gate;
use super::place::{Place, check_echo, place};

const PATIENCE: Duration = Duration::from_secs(20);

async fn holders(place: &Place) -> Vec<String> {
    let pods = place.list("", "Pod").await;
    let stay = pods
        .into_iter()
        .filter(|pod| pod.metadata.deletion_timestamp.is_none());
    let holders = stay.filter_map(|pod| pod.metadata.labels?.get(REPLICA_LABEL).cloned());
    holders.collect()
}

/// One that ends leaves its pods to the next; one that dies is outlived by its pods, which others take.
#[tokio::test(flavor = "multi_thread")]
async fn pods_outlive_their_replica() {
    let Some(place) = place("heirs").await else {
        return;
    };
    let first = PodEvaluator::start(place.options()).await.unwrap();
    check_echo(&first, "echo:v1.0", 1).await;
    let pods = place.pods().await;
    first.shut_down(PATIENCE).await;
    assert_eq!(place.pods().await, pods, "pods are not deleted at the end");

    let second_options = place.options();
    let second_name = second_options.replica.clone();
    let second = PodEvaluator::start(second_options).await.unwrap();
    place
        .until("the next replica has the pod", async || {
            holders(&place).await == [second_name.clone()]
        })
        .await;
    check_echo(&second, "echo:v1.0", 2).await;
    assert_eq!(place.pods().await, pods, "the pod was used again");

    // Nobody touches the pods of one that lives.
    let third_options = place.options();
    let third_name = third_options.replica.clone();
    let third = PodEvaluator::start(third_options).await.unwrap();
    check_echo(&third, "echo:v1.0", 3).await;
    let mut both = holders(&place).await;
    both.sort_unstable();
    assert_eq!(both, [second_name, third_name.clone()]);

    // Dropped without a word, as if it were killed.
    drop(second);
    place
        .until("the pods of the dead are adopted or gone", async || {
            holders(&place)
                .await
                .iter()
                .all(|holder| *holder == third_name)
        })
        .await;
    check_echo(&third, "echo:v1.0", 4).await;
    place
        .until("the lease of the dead is gone", async || {
            place.list("coordination.k8s.io", "Lease").await.len() == 1
        })
        .await;
    third.shut_down(PATIENCE).await;
    assert!(place.list("coordination.k8s.io", "Lease").await.is_empty());
    place.remove().await;
}

/// One that is cut off from the API server is dead to the others, and goes on working; back, it knows what is not its own
/// any more.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_was_cut_off_comes_back() {
    let Some(place) = place("cut").await else {
        return;
    };
    let gate = Gate::new(&place.client);
    let mut options = place.options();
    options.cluster = Cluster::Client(gate.client.clone());
    let cut_off_name = options.replica.clone();
    let cut_off = PodEvaluator::start(options).await.unwrap();
    check_echo(&cut_off, "echo:v1.0", 1).await;
    let other_options = place.options();
    let other_name = other_options.replica.clone();
    let other = PodEvaluator::start(other_options).await.unwrap();
    let pods = place.pods().await;

    gate.close();
    place
        .until("the other has adopted the pod", async || {
            holders(&place).await == [other_name.clone()]
        })
        .await;
    assert_eq!(place.pods().await, pods);
    check_echo(&cut_off, "echo:v1.0", 2).await;
    check_echo(&other, "echo:v1.0", 3).await;

    gate.open();
    // It makes a pod of its own as soon as it sees that it has none.
    place
        .until("both have a pod of their own", async || {
            check_echo(&cut_off, "echo:v1.0", 4).await;
            check_echo(&other, "echo:v1.0", 5).await;
            let mut both = holders(&place).await;
            both.sort_unstable();
            both == [cut_off_name.clone(), other_name.clone()]
        })
        .await;
    for slice in place.list("discovery.k8s.io", "EndpointSlice").await {
        let endpoints = slice.data["endpoints"].as_array().map_or(0, Vec::len);
        assert!(endpoints <= 1, "{slice:?}");
    }
    cut_off.shut_down(PATIENCE).await;
    other.shut_down(PATIENCE).await;
    place.remove().await;
}
