//! A policy of the runner: refusals, and a file that changes.

use tonic::Code;

use crate::program::{CAT, RunnerFiles};

fn write(files: &RunnerFiles, text: &str) {
    let text = format!("version: 1\n{text}");
    std::fs::write(files.path("policy.yaml"), text).expect("a file");
}

#[tokio::test]
async fn refused_calls_are_denied_until_the_policy_changes() {
    let files = RunnerFiles::new();
    write(&files, "default: deny\n");
    let policy = format!("--policy={}", files.path("policy.yaml").display());
    let runner = files.start(&["--disable-runtimes=pod", &policy]);
    let status = runner.call(CAT).await.expect_err("denied");
    assert_eq!(status.code(), Code::PermissionDenied);
    let message = status.message();
    assert!(
        message.contains("no rule matches, and the default is deny"),
        "{message}"
    );
    assert!(message.contains("policy.yaml:2"), "{message}");

    write(&files, "default: allow\n");
    runner.call(CAT).await.expect("a list");
    runner.wait_for_log("the policy has changed and was reloaded");

    write(&files, "default: nothing\n");
    runner.call(CAT).await.expect("the old policy");
    let line = runner.wait_for_log("the old one stays in force");
    assert!(
        line.contains("policy.yaml:2: default must be allow, warn or deny"),
        "{line}"
    );

    write(&files, "default: allow\nexec: deny\n");
    let status = runner.call(CAT).await.expect_err("a program");
    assert_eq!(status.code(), Code::PermissionDenied);
    assert!(status.message().contains("programs are denied"), "{status}");
}

#[test]
fn it_does_not_start_with_an_invalid_policy() {
    let files = RunnerFiles::new();
    let policy = format!("--policy={}", files.path("policy.yaml").display());
    let output = files.output(&["--disable-runtimes=pod", &policy]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("cannot read policy"), "{text}");
    write(&files, "default: allow\nunknown: 1\n");
    let output = files.output(&["--disable-runtimes=pod", &policy]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("policy.yaml:3: unknown key"), "{text}");
}
