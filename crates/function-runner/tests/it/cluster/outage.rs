//! Parts of the cluster that are away for a while.

use std::time::{Duration, Instant};

use super::images;
use super::load::Load;
use super::machine::Machine;
use super::space::{LONG, Objects, Space};

/// How long the API server is away.
const OUTAGE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn warm_calls_go_on_without_an_api_server() {
    let Some(machine) = Machine::get_alone() else {
        return;
    };
    let space = Space::new(&machine, "outage");
    let image = images::function(&machine, "outage");
    let idle = images::function(&machine, "outage-idle");
    // An idle pod's time is up during the outage, and so is the lease.
    let runner = space.start(&["--pod-ttl=20s", "--scan-interval=1s"]).await;
    runner.caller.call(&image, &[]).await.expect("an answer");
    runner.caller.call(&idle, &[]).await.expect("an answer");
    let before = space.until_ready(2);

    let load = Load::start(&runner.caller, &image, 1);
    machine.part("kill", "kube-apiserver");
    let until = Instant::now() + OUTAGE;
    while Instant::now() < until {
        load.answers(5).await;
    }
    runner.caller.call(&idle, &[]).await.expect("an answer");
    machine.part("start", "kube-apiserver");
    until_ready(&machine);
    let other = images::function(&machine, "outage-other");
    runner.caller.call(&other, &[]).await.expect("a cold call");
    load.stop_without_failures().await;
    assert!(is_kept("outage-v1", &before, &space.objects("pods")));
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_go_on_while_the_kubelet_is_restarted() {
    let Some(machine) = Machine::get_alone() else {
        return;
    };
    let space = Space::new(&machine, "kubelet");
    let image = images::function(&machine, "kubelet");
    let runner = space.start(&[]).await;
    runner.caller.call(&image, &[]).await.expect("an answer");
    let before = space.until_ready(1);
    let load = Load::start(&runner.caller, &image, 1);
    machine.part("kill", "kubelet");
    load.answers(20).await;
    machine.part("start", "kubelet");
    let other = images::function(&machine, "kubelet-other");
    runner.caller.call(&other, &[]).await.expect("a cold call");
    load.answers(20).await;
    load.stop_without_failures().await;
    assert!(is_kept("kubelet-v1", &before, &space.until_ready(2)));
}

/// Waits until the API server answers and its node is there.
fn until_ready(machine: &Machine) {
    let last = Instant::now() + LONG;
    let node = ["wait", "--for=condition=Ready", "--timeout=5s", "node/kiln"];
    while !machine.try_kubectl(&node).status.success() {
        assert!(Instant::now() < last, "no API server");
    }
}

/// Whether the pod whose name begins so is the same as before.
fn is_kept(start: &str, before: &Objects, after: &Objects) -> bool {
    let mut pods = before.iter().filter(|(name, _)| name.starts_with(start));
    let (name, pod) = pods.next().expect("a pod");
    let now = after.get(name);
    now.is_some_and(|now| now["metadata"]["uid"] == pod["metadata"]["uid"])
}
