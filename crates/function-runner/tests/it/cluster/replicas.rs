//! Three replicas in one namespace.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::images;
use super::load::Load;
use super::machine::Machine;
use super::runner::Runner;
use super::space::{Objects, Space};

/// The label with the owner of a pod.
pub(super) fn owner(pod: &Value) -> String {
    let owner = pod["metadata"]["labels"]["fn.kpt.dev/replica"].as_str();
    owner.expect("an owner").to_owned()
}

pub(super) fn owners(pods: &Objects) -> BTreeMap<String, String> {
    let uid = |pod: &Value| pod["metadata"]["uid"].as_str().expect("a uid").to_owned();
    pods.values().map(|pod| (uid(pod), owner(pod))).collect()
}

/// No service leads to more than one pod.
#[track_caller]
fn look_at_endpoints(space: &Space) {
    let mut endpoints: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for slice in space.objects("endpointslices").values() {
        let service = slice["metadata"]["labels"]["kubernetes.io/service-name"].to_string();
        let addresses = slice["endpoints"].as_array().into_iter().flatten();
        let addresses = addresses.map(|endpoint| endpoint["addresses"].to_string());
        endpoints.entry(service).or_default().extend(addresses);
    }
    assert!(endpoints.values().all(|of| of.len() <= 1), "{endpoints:?}");
}

/// Three replicas, each with a pod.
async fn three(space: &Space, image: &str) -> [Runner; 3] {
    let runners = [
        space.start(&[]).await,
        space.start(&[]).await,
        space.start(&[]).await,
    ];
    for runner in &runners {
        runner.caller.call(image, &[]).await.expect("an answer");
    }
    let pods = space.until_ready(3);
    let owners: BTreeSet<_> = pods.values().map(owner).collect();
    assert_eq!(owners.len(), 3, "{owners:?}");
    look_at_endpoints(space);
    runners
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pods_of_a_replica_that_was_killed_are_taken_over_or_deleted() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "killed");
    let image = images::function(&machine, "killed");
    let [first, second, third] = three(&space, &image).await;
    let before = owners(&space.objects("pods"));
    let loads = [
        Load::start(&second.caller, &image, 1),
        Load::start(&third.caller, &image, 1),
    ];
    first.kill();
    let leases = space.until("leases", "two leases", |leases| leases.len() == 2);
    let living: BTreeSet<String> = leases.values().map(owner).collect();
    let after = space.until("pods", "no orphans", |pods| {
        pods.values().all(|pod| living.contains(&owner(pod)))
    });
    let after = owners(&after);
    for (uid, owner) in before.iter().filter(|(_, owner)| living.contains(*owner)) {
        assert_eq!(
            after.get(uid),
            Some(owner),
            "a living replica's pod was touched"
        );
    }
    look_at_endpoints(&space);
    for load in loads {
        load.answers(5).await;
        load.stop_without_failures().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_are_rolled_without_a_failed_call() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "rolled");
    let image = images::function(&machine, "rolled");
    for old in three(&space, &image).await {
        let new = space.start(&[]).await;
        let load = Load::start(&new.caller, &image, 1);
        load.answers(3).await;
        let last = tokio::spawn({
            let (caller, image) = (old.caller.clone(), image.clone());
            async move { caller.call(&image, &[("sleep", "10")]).await }
        });
        // It runs when its pod has it; until then a shutdown would refuse it.
        while !space.has_sleeping_call(&space.objects("pods")) {
            assert!(!last.is_finished(), "it was not seen asleep");
        }
        old.terminate();
        last.await
            .expect("a task")
            .expect("an answer to a call that was running");
        load.answers(3).await;
        load.stop_without_failures().await;
        drop(new);
    }
    look_at_endpoints(&space);
}
