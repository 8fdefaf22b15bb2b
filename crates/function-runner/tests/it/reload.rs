//! A table that changes while a runner uses it.

use tonic::Code;

use crate::program::{CAT, RunnerFiles};

const OTHER: &str = "example.com/other:v1";

#[tokio::test]
async fn a_new_table_is_used_and_a_bad_one_is_not() {
    let files = RunnerFiles::new();
    let runner = files.start(&["--disable-runtimes=pod"]);
    runner.call(CAT).await.expect("a list");
    let status = runner.call(OTHER).await.expect_err("not listed");
    assert_eq!(status.code(), Code::NotFound);

    files.config(&format!(
        "functions:\n- function: cat\n  images: ['{OTHER}', '{OTHER}']\n"
    ));
    runner.call(OTHER).await.expect("a list");
    runner.wait_for_log("config.yaml has changed and was reloaded");
    runner.wait_for_log("is listed more than once");
    let status = runner.call(CAT).await.expect_err("not listed");
    assert_eq!(status.code(), Code::NotFound);

    files.config("functions: [");
    runner.call(OTHER).await.expect("the old table");
    runner.wait_for_log("is invalid, the old one stays in force");

    std::fs::remove_file(files.path("config.yaml")).expect("a file");
    runner.call(OTHER).await.expect("the old table");
    let line = runner.wait_for_log("is invalid, the old one stays in force");
    assert!(line.contains("No such file"), "{line}");
}
