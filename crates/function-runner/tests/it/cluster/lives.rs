//! The life cycle of pods: they end, are warmed up, expire, change owners.

use std::collections::BTreeSet;

use serde_json::Value;

use super::images;
use super::load::Load;
use super::machine::Machine;
use super::space::{Objects, Space, is_ready};

/// The UID that distinguishes pods of the same name.
fn identities(pods: &Objects) -> BTreeSet<String> {
    let uid = |pod: &Value| pod["metadata"]["uid"].as_str().expect("a uid").to_owned();
    pods.values().map(uid).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_is_deleted_between_calls_is_replaced() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "between");
    let image = images::function(&machine, "between");
    let runner = space.start(&[]).await;
    runner.caller.call(&image, &[]).await.expect("an answer");
    let first = space.until_ready(1);
    let name = first.keys().next().expect("a pod");
    space.delete("pod", name);
    runner.caller.call(&image, &[]).await.expect("an answer");
    let second = space.until_ready(1);
    assert_ne!(identities(&first), identities(&second));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_is_deleted_during_a_call_takes_only_that_call_with_it() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "during");
    let image = images::function(&machine, "during");
    let runner = space.start(&[]).await;
    runner.caller.call(&image, &[]).await.expect("an answer");
    let pods = space.until_ready(1);
    let call = tokio::spawn({
        let (caller, image) = (runner.caller.clone(), image.clone());
        async move { caller.call(&image, &[("sleep", "1000")]).await }
    });
    while !space.has_sleeping_call(&pods) {
        assert!(!call.is_finished(), "it was not seen asleep");
    }
    let name = pods.keys().next().expect("a pod");
    space.delete("pod", name);
    let lost = call.await.expect("a task").expect_err("it was running");
    assert_eq!(lost.code(), tonic::Code::Unavailable, "{lost:?}");
    runner.caller.call(&image, &[]).await.expect("an answer");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_deleted_does_not_keep_calls_from_their_pod() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "service");
    let image = images::function(&machine, "service");
    let runner = space.start(&[]).await;
    runner.caller.call(&image, &[]).await.expect("an answer");
    let services = space.objects("services");
    let name = services.keys().next().expect("a service");
    machine.kubectl(&["-n", &space.pods, "delete", "service", name]);
    for _ in 0..5 {
        runner.caller.call(&image, &[]).await.expect("an answer");
    }
    let pods = space.until("pods", "one pod", |pods| pods.len() == 1);
    space.until("services", "a service for each pod", |services| {
        services.keys().eq(pods.keys())
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_pods_go_when_their_time_is_up_and_come_back() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "ttl");
    let image = images::function(&machine, "ttl");
    let runner = space.start(&["--pod-ttl=3s", "--scan-interval=1s"]).await;
    runner.caller.call(&image, &[]).await.expect("an answer");
    space.until("pods", "without pods", |pods| pods.is_empty());
    space.until("services", "without services", |services| {
        services.is_empty()
    });
    // A longer call keeps its pod.
    runner
        .caller
        .call(&image, &[("sleep", "8")])
        .await
        .expect("an answer");
    runner.terminate();
    space.until("leases", "without leases", |leases| leases.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn listed_images_are_warmed_up() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "listed");
    let one = images::function(&machine, "listed-one");
    let other = images::function(&machine, "listed-other");
    let missing = format!("{}/kiln/there-is-none:v1", machine.registry);
    let list = format!("- name: {one}\n  timeToLive: 1h\n- name: {other}\n- name: {missing}\n");
    let file = space.file("cache/pod-cache-config.yaml", &list);
    let argument = format!("--pod-cache-config={}", file.display());
    let runner = space.start(&[&argument]).await;
    let warm = space.until_ready(2);
    runner.caller.call(&one, &[]).await.expect("an answer");
    runner.caller.call(&other, &[]).await.expect("an answer");
    assert_eq!(identities(&space.objects("pods")), identities(&warm));

    // The older form, and live.
    let third = images::function(&machine, "listed-third");
    space.file(
        "cache/pod-cache-config.yaml",
        &format!("{one}: 1h\n{third}: 30m\n"),
    );
    let warm = space.until_ready(3);
    runner.caller.call(&third, &[]).await.expect("an answer");
    assert_eq!(identities(&space.objects("pods")), identities(&warm));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_runner_takes_over_the_pods_of_the_one_before() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "adopt");
    let image = images::function(&machine, "adopt");
    let first = space.start(&[]).await;
    first.caller.call(&image, &[]).await.expect("an answer");
    let pods = space.until_ready(1);
    first.terminate();
    let second = space.start(&[]).await;
    second.caller.call(&image, &[]).await.expect("an answer");
    let after = space.until_ready(1);
    assert_eq!(identities(&pods), identities(&after));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_that_moves_is_followed_without_a_failed_call() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "moved");
    let image = images::function(&machine, "moved");
    let runner = space.start(&["--scan-interval=1s"]).await;
    let load = Load::start(&runner.caller, &image, 2);
    load.answers(5).await;
    let before = identities(&space.until_ready(1));
    images::moved_function(&machine, "moved");
    space.until("pods", "another pod", |pods| {
        pods.len() == 1 && pods.values().all(is_ready) && identities(pods) != before
    });
    load.answers(5).await;
    load.stop_without_failures().await;
}
