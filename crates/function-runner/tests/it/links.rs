//! The runner as a built-in function, through the links of its image.

use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use crate::program::RunnerFiles;

const IMAGE: &str = "example.com/ns:v1";

/// A directory as the image's: the program, links to it, and a table that names one of them.
fn files() -> RunnerFiles {
    let files = RunnerFiles::empty();
    let program = env!("CARGO_BIN_EXE_function-runner");
    std::fs::copy(program, files.path("server")).expect("a copy");
    for name in ["set-namespace", "set-labels:v9.9.9"] {
        symlink("../server", files.path("functions").join(name)).expect("a link");
    }
    files.config(&format!(
        "functions:\n- function: set-namespace\n  images: ['{IMAGE}']\n"
    ));
    files
}

#[tokio::test]
async fn a_table_finds_the_functions_of_the_image() {
    let files = files();
    let runner = files.start(&["--disable-runtimes=pod"]);
    let answer = runner.call(IMAGE).await.expect("a list");
    let text = String::from_utf8_lossy(&answer.resource_list).into_owned();
    assert!(text.contains("    namespace: there\n"), "{text}");
}

/// A list that makes starlark fail.
const FAILING: &str = "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items: []
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: config
  data:
    source: fail('stop')
";

#[tokio::test]
async fn a_link_runs_the_version_of_the_tag_that_was_called() {
    let files = RunnerFiles::empty();
    let program = env!("CARGO_BIN_EXE_function-runner");
    symlink(program, files.path("functions/starlark")).expect("a link");
    let images = ["v0.4.0", "v0.5.2", "v9.9.9"].map(|tag| format!("example.com/starlark:{tag}"));
    files.config(&format!(
        "functions:\n- function: starlark\n  images: {images:?}\n"
    ));
    let runner = files.start(&["--disable-runtimes=pod,native"]);
    // Newer versions print the reason, and a tag that is not built in runs the newest.
    for (image, is_newer) in images.iter().zip([false, true, true]) {
        let failed = runner
            .call_with(image, FAILING)
            .await
            .expect_err("a failure");
        let is_printed = failed.message().contains("failed to evaluate function");
        assert_eq!(is_printed, is_newer, "{image}: {failed}");
    }
}

#[test]
fn a_version_that_is_not_built_in_is_named() {
    let files = files();
    let link = files.path("functions").join("set-labels:v9.9.9");
    let output = Command::new(link).stdin(Stdio::null()).output();
    let output = output.expect("a program");
    assert_eq!(output.status.code(), Some(1));
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(printed, "error: set-labels:v9.9.9 is not built in\n");
}
