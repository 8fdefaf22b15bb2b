//! Peers in Go: Porch's way to call, and the public probe.

use std::process::Command;

use crate::peers::{go_peers, skipped};
use crate::wrapper_process::{Wrapper, script};

/// A function that fails with a result.
const FAILS: &str =
    "cat; echo 'results:\n- message: bad port\n  severity: error'; echo why >&2; exit 3";

#[track_caller]
fn check(wrapper: &Wrapper, arguments: &[&str]) {
    let Some(peers) = go_peers(env!("CARGO_TARGET_TMPDIR")) else {
        return;
    };
    let output = Command::new(peers.join("client"))
        .args(["-addr", &wrapper.address()])
        .args(arguments)
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}");
    assert!(printed.contains("ok "), "{printed}");
}

#[test]
fn a_go_client_is_served() {
    let limit = "--max-request-body-size=100000";
    let echo = Wrapper::start(&[limit], &script("cat"));
    check(&echo, &["-echo=x", "-limit=100000"]);
    let waits = Wrapper::start(&[], &script("exec sleep 1000"));
    check(&waits, &["-waits=x"]);
}

#[test]
fn a_go_client_gets_failures() {
    let wrapper = Wrapper::start(&[], &script(FAILS));
    let text = "failed to evaluate function \"x\" with structured results: [error]: bad port and stderr: why";
    check(&wrapper, &["-fails=x", "-failure", text]);
}

#[test]
fn the_public_probe_agrees_with_ours() {
    let Some(peers) = go_peers(env!("CARGO_TARGET_TMPDIR")) else {
        return;
    };
    let probe = peers.join("grpc-health-probe");
    if !probe.exists() {
        skipped("SKIPPED: the public probe, because the registry has not all of it");
        return;
    }
    let wrapper = Wrapper::start(&[], &script("cat"));
    let address = wrapper.address();
    let deserted = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().to_string()
    };
    let long = ["-connect-timeout=60s", "-rpc-timeout=60s"];
    let cases: [&[&str]; 8] = [
        &["-addr", &address, long[0], long[1]],
        &[
            "-addr",
            &address,
            "-service",
            "evaluator.FunctionEvaluator",
            long[0],
            long[1],
        ],
        &["-addr", &address, "-service", "x", long[0], long[1]],
        &["-addr", &deserted, "-connect-timeout=300ms"],
        &[],
        &["-addr", &address, "-rpc-timeout=0s"],
        &["-addr", &address, "-tls-no-verify"],
        &["-addr", &address, "-tls", "-tls-client-key=x"],
    ];
    for arguments in cases {
        let theirs = Command::new(&probe).args(arguments).output().unwrap();
        let ours = crate::wrapper_process::probe(arguments);
        let printed = |output: &std::process::Output| {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            (output.status.code(), text)
        };
        assert_eq!(printed(&ours), printed(&theirs), "{arguments:?}");
    }
}
