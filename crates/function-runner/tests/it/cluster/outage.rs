//! Outages of parts of the cluster.

use std::time::{Duration, Instant};

use tonic::Code;

use super::images;
use super::load::Load;
use super::machine::Machine;
use super::runner::Runner;
use super::space::{LONG, Objects, Space};

/// Duration of the outage of the API server.
const OUTAGE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn warm_calls_go_on_without_an_api_server() {
    let Some(machine) = Machine::get_alone() else {
        return;
    };
    let space = Space::new(&machine, "outage");
    let image = images::function(&machine, "outage");
    let idle = images::function(&machine, "outage-idle");
    // The TTL of an idle pod and the lease expire during the outage.
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
    let other = images::function(&machine, "outage-other");
    until_scheduled(&runner, &other).await;
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

/// Waits until a cold call is answered. The scheduler may take more than a minute to notice that the API server is back.
async fn until_scheduled(runner: &Runner, image: &str) {
    let last = Instant::now() + LONG;
    while let Err(status) = runner.caller.call(image, &[]).await {
        assert_eq!(status.code(), Code::Unavailable, "{status:?}");
        assert!(Instant::now() < last, "{status:?}");
    }
}

/// Whether the pod whose name begins so is the same as before.
fn is_kept(start: &str, before: &Objects, after: &Objects) -> bool {
    let mut pods = before.iter().filter(|(name, _)| name.starts_with(start));
    let (name, pod) = pods.next().expect("a pod");
    let now = after.get(name);
    now.is_some_and(|now| now["metadata"]["uid"] == pod["metadata"]["uid"])
}
