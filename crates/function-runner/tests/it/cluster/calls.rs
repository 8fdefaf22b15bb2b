//! Calls that succeed: cold, warm, many at once.

use super::images;
use super::machine::Machine;
use super::space::Space;

#[tokio::test(flavor = "multi_thread")]
async fn a_warm_call_sends_no_request_to_the_api_server() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "warm");
    let image = images::function(&machine, "warm");
    let runner = space.start(&[]).await;
    runner.caller.call(&image, &[]).await.expect("a cold call");
    let pods = space.until_ready(1);
    let services = space.objects("services");
    assert_eq!(
        services.keys().collect::<Vec<_>>(),
        pods.keys().collect::<Vec<_>>()
    );

    let before = machine.requests_of(&space.user()).len();
    for _ in 0..50 {
        runner.caller.call(&image, &[]).await.expect("a warm call");
    }
    let after = machine.requests_of(&space.user());
    // The lease is renewed by time, not by calls.
    let asked: Vec<_> = after
        .iter()
        .skip(before)
        .filter(|request| !request.contains("/leases"))
        .collect();
    assert_eq!(asked, Vec::<&String>::new());
    let same = space.objects("pods");
    assert_eq!(
        same.keys().collect::<Vec<_>>(),
        pods.keys().collect::<Vec<_>>()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pod_has_no_more_rights_than_it_needs() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "rights");
    let image = images::function(&machine, "rights");
    let runner = space.start(&[]).await;
    runner.caller.call(&image, &[]).await.expect("a call");
    let pods = space.until_ready(1);
    let (name, pod) = pods.first_key_value().expect("a pod");
    assert!(name.len() <= 63, "{name}");
    let spec = &pod["spec"];
    let function = &spec["containers"][0];
    let by_digest = function["image"].as_str().expect("an image");
    assert!(by_digest.contains("@sha256:"), "{by_digest}");
    assert_eq!(spec["automountServiceAccountToken"], false);
    assert_eq!(spec["securityContext"]["runAsUser"], 65534);
    assert_eq!(
        spec["securityContext"]["seccompProfile"]["type"],
        "RuntimeDefault"
    );
    assert_eq!(function["securityContext"]["readOnlyRootFilesystem"], true);
    assert_eq!(
        function["securityContext"]["capabilities"]["drop"][0],
        "ALL"
    );
    assert!(function["resources"]["limits"]["memory"].is_string());
    // There were no warnings: the namespace warns about pods that are less than restricted.
    assert!(!runner.log().contains("PodSecurity"), "{}", runner.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_calls_at_once_share_three_pods() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "fifty");
    let image = images::function(&machine, "fifty");
    let limits = [
        "--max-parallel-pods-per-function=3",
        "--max-waitlist-length=2",
    ];
    let runner = space.start(&limits).await;
    let calls = (0..50).map(|_| {
        let (caller, image) = (runner.caller.clone(), image.clone());
        tokio::spawn(async move { caller.call(&image, &[("sleep", "0.2")]).await })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.expect("a task").expect("an answer");
    }
    let pods = space.until_ready(3);
    // There was never more than one of anything: no pod was created for nothing.
    let created = machine.requests_of(&space.user());
    let is_pod = |request: &&String| request.contains("create") && request.contains("/pods");
    assert_eq!(created.iter().filter(is_pod).count(), pods.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_images_at_once_have_pods_of_their_own() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "two");
    let one = images::function(&machine, "one");
    let other = images::function(&machine, "other_1");
    let runner = space.start(&[]).await;
    let (first, second) = tokio::join!(
        runner.caller.call(&one, &[]),
        runner.caller.call(&other, &[])
    );
    first.expect("an answer");
    second.expect("an answer");
    let pods = space.until_ready(2);
    assert!(
        pods.keys().any(|name| name.starts_with("one-v1-")),
        "{:?}",
        pods.keys()
    );
    assert!(
        pods.keys().any(|name| name.starts_with("other-1-v1-")),
        "{:?}",
        pods.keys()
    );
}
