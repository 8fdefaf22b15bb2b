//! What `deploy/` installs, unchanged, with our own images under the names in it.

use std::collections::BTreeSet;

use super::images;
use super::machine::Machine;
use super::runner::Caller;
use super::space::Space;

#[tokio::test(flavor = "multi_thread")]
async fn three_replicas_answer_behind_their_service() {
    let Some(machine) = Machine::get() else {
        return;
    };
    images::push_ours(&machine);
    let space = Space::new(&machine, "deployed");
    let image = images::function_for_pods(&machine, "deployed");
    machine.apply(&space.in_here(include_str!("../../../../../deploy/function-runner.yaml")));
    let rollout = ["-n", &space.own, "rollout", "status", "--timeout=180s"];
    machine.kubectl(&[&rollout[..], &["deployment/function-runner"]].concat());
    space.until("leases", "three leases", |leases| leases.len() == 3);

    let services = machine.list(&space.own, "services");
    let address = services[0]["spec"]["clusterIP"].as_str();
    let address = format!("{}:9445", address.expect("an address"));
    // Each connection goes to any of the three.
    for _ in 0..8 {
        let caller = Caller::connect(&address).await;
        caller.call(&image, &[]).await.expect("an answer");
    }
    let pods = space.objects("pods");
    let owners = pods.values().map(|pod| {
        let owner = pod["metadata"]["labels"]["fn.kpt.dev/replica"].as_str();
        owner.expect("an owner").to_owned()
    });
    let owners: BTreeSet<String> = owners.collect();
    assert_eq!(owners.len(), pods.len(), "one pod each: {owners:?}");

    // They delete their leases.
    let gone = ["-n", &space.own, "delete", "deployment", "function-runner"];
    machine.kubectl(&gone);
    space.until("leases", "without leases", |leases| leases.is_empty());
}
