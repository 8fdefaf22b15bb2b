//! Errors at the start of a runner.

use crate::program::RunnerFiles;

#[track_caller]
fn check(files: &RunnerFiles, arguments: &[&str], code: i32, parts: &[&str]) {
    let output = files.output(arguments);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{text}");
    assert!(output.stdout.is_empty());
    assert!(!text.contains("listening"), "{text}");
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

#[test]
fn wrong_flags_exit_with_two() {
    let files = RunnerFiles::new();
    let parts = [
        "flag provided but not defined: -nope\nUsage of function-runner:\n",
        "  -port int\n",
    ];
    check(&files, &["--nope"], 2, &parts);
    check(
        &files,
        &["--pod-ttl=5"],
        2,
        &["invalid value \"5\" for flag -pod-ttl: parse error"],
    );
}

#[test]
fn help_exits_with_zero() {
    check(
        &RunnerFiles::new(),
        &["--help"],
        0,
        &[
            "Usage of function-runner:\n",
            "-max-request-body-size bytes",
        ],
    );
}

#[test]
fn the_pod_evaluator_needs_its_image() {
    let parts = [
        "environment variable WRAPPER_SERVER_IMAGE must be set to use pod function evaluator runtime",
        "--disable-runtimes=pod",
    ];
    check(&RunnerFiles::new(), &[], 1, &parts);
}

#[test]
fn the_pod_evaluator_needs_a_cluster() {
    let files = RunnerFiles::new();
    let mut command = files.command(&[]);
    let output = command
        .env("WRAPPER_SERVER_IMAGE", "wrapper:v1")
        .env("HOME", files.path("home"))
        .env("KUBECONFIG", files.path("no-such-file"))
        .env_remove("KUBERNETES_SERVICE_HOST")
        .output()
        .expect("a program");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    for part in [
        "no Kubernetes cluster is configured",
        "--disable-runtimes=pod",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    assert!(!text.contains("listening"), "{text}");
}

/// A kubeconfig in a flag is read, whatever the environment contains.
#[test]
fn a_kubeconfig_that_is_named_is_read() {
    let files = RunnerFiles::new();
    std::fs::write(files.path("environment"), "clusters: []\n").expect("a file");
    let mut command = files.command(&["--kubeconfig=named"]);
    let output = command
        .env("WRAPPER_SERVER_IMAGE", "wrapper:v1")
        .env("KUBECONFIG", files.path("environment"))
        .output()
        .expect("a program");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("no Kubernetes cluster is configured"),
        "{text}"
    );
    assert!(text.contains("\"named\""), "{text}");
}

/// In a cluster, a kubeconfig in the environment comes before the service account, as in controller-runtime.
#[test]
fn a_kubeconfig_of_the_environment_comes_before_the_service_account() {
    let files = RunnerFiles::new();
    let output = files
        .command(&[])
        .env("WRAPPER_SERVER_IMAGE", "wrapper:v1")
        .env("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        .env("KUBERNETES_SERVICE_PORT", "1")
        .env("KUBECONFIG", files.path("no-such-file"))
        .output()
        .expect("a program");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("no-such-file"), "{text}");
    assert!(!text.contains("serviceaccount"), "{text}");
}

#[test]
fn without_a_table_the_runner_starts() {
    for arguments in [
        &["--disable-runtimes=pod"][..],
        &["--disable-runtimes=pod", "--config="],
    ] {
        let files = RunnerFiles::empty();
        let runner = files.start(arguments);
        assert!(!runner.address.is_empty());
    }
}

#[test]
fn what_is_not_used_is_logged_as_a_warning() {
    let files = RunnerFiles::new();
    let runner = files.start(&[
        "--disable-runtimes=pod,wsm",
        "--log-level=9",
        "--scan-interval=0",
        "--max-request-body-size=0",
        "serve",
        "--port=1",
    ]);
    let listens = |line: &String| line.contains("function runner is listening");
    let log: String = runner
        .lines
        .iter()
        .take_while(|line| !listens(line))
        .collect();
    for part in [
        "unknown evaluator",
        "--log-level 9 is not from 0 to 5",
        "--scan-interval 0s is not positive",
        "--max-request-body-size 0 is not from 1",
        "unexpected argument",
    ] {
        let line = log.lines().find(|line| line.contains(part));
        let line = line.unwrap_or_else(|| panic!("{part:?} is not in {log}"));
        assert!(line.starts_with('W'), "{line} is not a warning");
    }
}

#[test]
fn the_exec_evaluator_needs_the_table_that_is_named() {
    let files = RunnerFiles::empty();
    let arguments = ["--disable-runtimes=pod", "--config=./config.yaml"];
    let parts = [
        "./config.yaml",
        "No such file",
        "--config",
        "--disable-runtimes=exec",
    ];
    check(&files, &arguments, 1, &parts);
    files.config("functions: 1\n");
    let parts = ["./config.yaml: line 1: functions must be a list"];
    check(&files, &arguments, 1, &parts);
}

#[test]
fn certificates_and_tokens_are_read_before_the_port_is_bound() {
    let files = RunnerFiles::new();
    let tls = ["--disable-runtimes=pod", "--tls-cert=no", "--tls-key=no"];
    check(&files, &tls, 1, &["set up TLS", "read no", "No such file"]);
    let token = ["--disable-runtimes=pod", "--auth-token-file=no"];
    check(
        &files,
        &token,
        1,
        &["token file", "read no", "No such file"],
    );
}

#[test]
fn a_port_that_is_taken_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let port = format!("--port={port}");
    let arguments = ["--disable-runtimes=pod", port.as_str()];
    check(
        &RunnerFiles::new(),
        &arguments,
        1,
        &["listen on 127.0.0.1:"],
    );
}

#[test]
fn the_version_is_printed() {
    let print = |arguments: &[&str]| {
        let program = env!("CARGO_BIN_EXE_function-runner");
        let output = std::process::Command::new(program).args(arguments).output();
        let output = output.expect("a program");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(output.stderr.is_empty());
        String::from_utf8(output.stdout).expect("text")
    };
    let version = env!("CARGO_PKG_VERSION");
    let text = print(&["version"]);
    let first = format!("function-runner {version}\ncommit: ");
    assert!(text.starts_with(&first), "{text}");
    assert!(text.contains("\n  set-labels: v"), "{text}");
    assert_eq!(print(&["--version"]), text);
    let json: serde_json::Value =
        serde_json::from_str(&print(&["version", "-o", "json"])).expect("JSON");
    assert_eq!(json["program"], "function-runner");
    assert_eq!(json["version"], version);
    let target = format!("\ntarget: {}\n", json["target"].as_str().expect("a text"));
    assert!(text.contains(&target), "{text}");
}
