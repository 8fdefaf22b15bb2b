//! Responses of a runner.

use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::program::{CAT, LIST, RunnerFiles};

const SET_NAMESPACE: &str = "ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4.1";

#[tokio::test]
async fn functions_are_built_in_or_listed() {
    let files = RunnerFiles::new();
    let runner = files.start(&["--disable-runtimes=wasm,image,pod"]);
    for image in [SET_NAMESPACE, "set-namespace:v0.4.1"] {
        let answer = runner.call(image).await.expect("a list");
        let text = String::from_utf8_lossy(&answer.resource_list).into_owned();
        assert!(text.contains("    namespace: there\n"), "{text}");
        assert!(text.contains("functionConfig:"), "{text}");
    }
    let answer = runner.call(CAT).await.expect("a list");
    assert_eq!(answer.resource_list, LIST);
    let status = runner
        .call("example.com/nope:v1")
        .await
        .expect_err("nobody");
    assert_eq!(status.code(), Code::NotFound);
    assert_eq!(
        status.message(),
        "function \"example.com/nope:v1\" not found; evaluators asked: exec, native"
    );
}

#[tokio::test]
async fn what_is_listed_goes_where_it_is_listed() {
    let files = RunnerFiles::empty();
    files.program("mine", "echo mine >&2; exec cat");
    files.config(&format!(
        "functions:\n- function: mine\n  images: ['{SET_NAMESPACE}']\n"
    ));
    let runner = files.start(&["--disable-runtimes=pod"]);
    let answer = runner.call(SET_NAMESPACE).await.expect("a list");
    assert_eq!(
        (answer.resource_list, answer.log),
        (LIST.into(), "mine\n".into())
    );
}

#[tokio::test]
async fn a_disabled_evaluator_finds_nothing() {
    let files = RunnerFiles::new();
    let runner = files.start(&["--disable-runtimes=native,wasm,image,pod"]);
    let status = runner.call(SET_NAMESPACE).await.expect_err("nobody");
    assert_eq!(status.code(), Code::NotFound);
    runner.call(CAT).await.expect("a list");
}

#[tokio::test]
async fn a_runner_without_evaluators_warns_and_is_alive() {
    let files = RunnerFiles::empty();
    let runner = files.start(&["--disable-runtimes=native,exec,wasm,image,pod"]);
    runner.wait_for_log("no evaluator is enabled");
    let status = runner.call(CAT).await.expect_err("nobody");
    assert_eq!(status.code(), Code::NotFound);
    for (service, wanted) in [("", 1), (kiln_proto::SERVICE, 2)] {
        let request = HealthCheckRequest {
            service: service.to_owned(),
        };
        let answer = HealthClient::new(runner.channel().await)
            .check(request)
            .await;
        assert_eq!(answer.expect("an answer").into_inner().status, wanted);
    }
}

#[tokio::test]
async fn a_missing_program_is_an_internal_error() {
    let files = RunnerFiles::new();
    std::fs::remove_file(files.path("functions/cat")).expect("a program");
    let runner = files.start(&["--disable-runtimes=pod"]);
    runner.wait_for_log("functions/cat does not exist");
    let status = runner.call(CAT).await.expect_err("no program");
    assert_eq!(status.code(), Code::Internal);
    let path = files.path("functions/cat");
    let wanted = format!(
        "Failed to execute function \"{CAT}\": fork/exec {}: no such file or directory ()",
        path.display()
    );
    assert_eq!(status.message(), wanted);
}
