//! Calls that fail: each reports why, and affects no others.

use std::time::Duration;

use tonic::Code;

use super::images;
use super::machine::Machine;
use super::runner::list;
use super::space::Space;

#[tokio::test(flavor = "multi_thread")]
async fn functions_that_fail_crash_hang_or_print_too_much() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "failing");
    let image = images::function(&machine, "failing");
    let runner = space.start(&["--max-request-body-size=100000"]).await;
    let caller = &runner.caller;
    caller.call(&image, &[]).await.expect("an answer");

    let failed = caller
        .call(&image, &[("exit", "3")])
        .await
        .expect_err("a failure");
    assert_eq!(failed.code(), Code::Internal, "{failed:?}");
    assert!(failed.message().contains("made to fail"), "{failed:?}");
    let crashed = caller
        .call(&image, &[("kill", "9")])
        .await
        .expect_err("a crash");
    assert_eq!(crashed.code(), Code::Internal, "{crashed:?}");

    let hangs = caller.call(&image, &[("sleep", "1000")]);
    let hangs = tokio::time::timeout(Duration::from_secs(2), hangs).await;
    hangs.expect_err("it must not answer");

    let large = list("large", &[("text", &"x".repeat(200_000))]);
    let refused = caller
        .evaluate(&image, &large)
        .await
        .expect_err("a refusal");
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    assert!(
        refused.message().contains("--max-request-body-size"),
        "{refused:?}"
    );
    let grown = caller
        .call(&image, &[("grow", "200000")])
        .await
        .expect_err("a refusal");
    assert_eq!(grown.code(), Code::ResourceExhausted, "{grown:?}");
    assert!(
        grown.message().contains("--max-request-body-size"),
        "{grown:?}"
    );

    // All of these are failures of the function, not of the pod.
    caller.call(&image, &[]).await.expect("an answer");
    assert_eq!(space.until_ready(1).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn images_that_cannot_be_run() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "images");
    let runner = space.start(&[]).await;

    let missing = format!("{}/kiln/there-is-none:v1", machine.registry);
    let missing = runner
        .caller
        .call(&missing, &[])
        .await
        .expect_err("no image");
    assert_eq!(missing.code(), Code::NotFound, "{missing:?}");
    assert!(
        missing.message().contains("there-is-none:v1"),
        "{missing:?}"
    );

    let empty = images::without_entrypoint(&machine, "no-entrypoint");
    let empty = runner
        .caller
        .call(&empty, &[])
        .await
        .expect_err("nothing to run");
    assert!(empty.message().contains("entrypoint"), "{empty:?}");
    space.until("pods", "without pods", |pods| pods.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_that_never_start_are_reported_with_their_reason() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "stuck");
    let image = images::function(&machine, "stuck");
    let mut command = space.runner_command(&[]);
    // The runner does not inspect this image; only the node does.
    command.env(
        "WRAPPER_SERVER_IMAGE",
        format!("{}/kiln/gone:v1", machine.registry),
    );
    let runner = super::runner::Runner::start(command).await;
    let stuck = runner.caller.call(&image, &[]).await.expect_err("no pod");
    assert_eq!(stuck.code(), Code::Unavailable, "{stuck:?}");
    let message = stuck.message();
    assert!(
        message.contains("ErrImagePull") || message.contains("ImagePullBackOff"),
        "{message}"
    );
    assert!(message.contains("gone:v1"), "{message}");
    for kind in ["pods", "services"] {
        space.until(kind, "without pods", |objects| objects.is_empty());
    }
}
