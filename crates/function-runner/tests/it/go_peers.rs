//! Peers in Go: Porch's way to call, and the public probe.

use std::process::Command;

use crate::peers::{go_peers, skipped};
use crate::program::RunnerFiles;

fn files() -> RunnerFiles {
    let files = RunnerFiles::empty();
    files.program("cat", "exec cat");
    files.program(
        "fails",
        "cat; printf 'results:\\n- message: bad\\n  severity: error\\n'; echo why >&2; exit 3",
    );
    files.program("waits", "exec sleep 1000");
    let entry = |name| format!("- function: {name}\n  images: ['example.com/{name}:v1']\n");
    let entries: String = ["cat", "fails", "waits"].map(entry).concat();
    files.config(&format!("functions:\n{entries}"));
    files
}

#[test]
fn a_go_client_is_served() {
    let Some(peers) = go_peers(env!("CARGO_TARGET_TMPDIR")) else {
        return;
    };
    let files = files();
    let runner = files.start(&["--disable-runtimes=pod"]);
    let output = Command::new(peers.join("client"))
        .args(["-addr", &runner.address])
        .args(["-echo=example.com/cat:v1", "-waits=example.com/waits:v1"])
        .args(["-fails=example.com/fails:v1", "-unknown=example.com/no:v1"])
        .arg("-failure=Failed to execute function \"example.com/fails:v1\": exit status 3 (why\n)")
        .output()
        .expect("a client");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}");
    assert!(printed.contains("ok a failing function"), "{printed}");
}

#[test]
fn the_public_probe_is_served() {
    let Some(peers) = go_peers(env!("CARGO_TARGET_TMPDIR")) else {
        return;
    };
    let probe = peers.join("grpc-health-probe");
    if !probe.exists() {
        skipped("SKIPPED: the public probe, because the registry has not all of it");
        return;
    }
    let files = files();
    let runner = files.start(&["--disable-runtimes=pod"]);
    for service in ["", "evaluator.FunctionEvaluator"] {
        let status = Command::new(&probe)
            .args(["-addr", &runner.address, "-service", service])
            .status();
        assert!(status.expect("a probe").success(), "{service:?}");
    }
}
