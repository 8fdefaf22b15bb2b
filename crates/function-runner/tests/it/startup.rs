//! What keeps a runner from starting.

use crate::program::World;

#[track_caller]
fn check(world: &World, arguments: &[&str], code: i32, parts: &[&str]) {
    let output = world.output(arguments);
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
    let world = World::new();
    let parts = [
        "flag provided but not defined: -nope\nUsage of function-runner:\n",
        "  -port int\n",
    ];
    check(&world, &["--nope"], 2, &parts);
    check(
        &world,
        &["--pod-ttl=5"],
        2,
        &["invalid value \"5\" for flag -pod-ttl: parse error"],
    );
    check(
        &world,
        &["--disable-runtimes=x"],
        2,
        &["unknown runtime \"x\""],
    );
}

#[test]
fn help_exits_with_zero() {
    check(
        &World::new(),
        &["--help"],
        0,
        &[
            "Usage of function-runner:\n",
            "-max-request-body-size bytes",
        ],
    );
}

#[test]
fn the_pod_runtime_needs_its_image() {
    let parts = [
        "environment variable WRAPPER_SERVER_IMAGE must be set to use pod function evaluator runtime",
        "--disable-runtimes=pod",
    ];
    check(&World::new(), &[], 1, &parts);
}

#[test]
fn the_pod_runtime_needs_a_cluster() {
    let world = World::new();
    let mut command = world.command(&[]);
    let output = command
        .env("WRAPPER_SERVER_IMAGE", "wrapper:v1")
        .env("HOME", world.path("home"))
        .env("KUBECONFIG", world.path("no-such-file"))
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

#[test]
fn the_exec_runtime_needs_its_table() {
    let world = World::empty();
    let arguments = ["--disable-runtimes=pod"];
    let parts = [
        "./config.yaml",
        "No such file",
        "--config",
        "--disable-runtimes=exec",
    ];
    check(&world, &arguments, 1, &parts);
    world.config("functions: 1\n");
    let parts = ["./config.yaml: line 1: functions must be a list"];
    check(&world, &arguments, 1, &parts);
}

#[test]
fn certificates_and_tokens_are_read_before_the_port_is_bound() {
    let world = World::new();
    let tls = ["--disable-runtimes=pod", "--tls-cert=no", "--tls-key=no"];
    check(&world, &tls, 1, &["set up TLS", "read no", "No such file"]);
    let token = ["--disable-runtimes=pod", "--auth-token-file=no"];
    check(
        &world,
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
    check(&World::new(), &arguments, 1, &["listen on 127.0.0.1:"]);
}
