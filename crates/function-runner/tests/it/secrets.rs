//! Values of Secrets are for the caller, not for the log.

use crate::program::{LIST, RunnerFiles};

const FAILS: &str = "example.com/fails:v1";
const REPORTS: &str = "example.com/reports:v1";

/// A list with a Secret that has the value `hunter2-text`.
const SECRET_LIST: &str = "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: Secret
  metadata:
    name: a
  stringData:
    password: hunter2-text
";

#[tokio::test]
async fn what_functions_print_about_secrets_is_not_logged() {
    let files = RunnerFiles::empty();
    files.program("fails", "cat >&2\nexit 1");
    let reported = "results: [{message: hunter2-text, severity: error}]";
    files.program("reports", &format!("cat\necho '{reported}'"));
    files.config(&format!(
        "functions:\n- function: fails\n  images: ['{FAILS}']\n- function: reports\n  images: ['{REPORTS}']\n"
    ));
    let runner = files.start(&["--disable-runtimes=pod"]);
    let status = runner.call_with(FAILS, SECRET_LIST).await;
    let status = status.expect_err("it fails");
    assert!(status.message().contains("hunter2-text"), "{status}");
    // Without a Secret, the message is logged.
    runner.call(FAILS).await.expect_err("it fails");
    let mut logged = Vec::new();
    while logged.len() < 2 {
        logged.push(runner.wait_for_log("evaluation failed"));
    }
    assert!(!logged[0].contains("hunter2"), "{logged:?}");
    assert!(
        logged[0].contains("the list may have Secrets"),
        "{logged:?}"
    );
    assert!(logged[1].contains("name: config"), "{logged:?}");

    for list in [SECRET_LIST, LIST] {
        let answer = runner.call_with(REPORTS, list).await;
        answer.expect("results are data");
    }
    let warned = runner.wait_for_log("reported errors in its results");
    assert!(!warned.contains("hunter2"), "{warned}");
    let warned = runner.wait_for_log("with structured results");
    assert!(warned.contains("hunter2-text"), "{warned}");
}
