//! The static binary in a root without other files than a function.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::peers::skipped;
use crate::wrapper_process::{LIST, Wrapper};

/// A function without dependencies: it returns its input.
const FUNCTION: &str =
    "fn main() { std::io::copy(&mut std::io::stdin(), &mut std::io::stdout()).unwrap(); }";

/// Builds the static binary as releases are built, but quicker.
fn build() -> PathBuf {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/build-wrapper");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("static");
    let output = Command::new(script)
        .args(["--profile", "dev", "--target-dir"])
        .arg(&target)
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
    let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    PathBuf::from(path)
}

fn build_function(directory: &Path) -> PathBuf {
    let source = directory.join("function.rs");
    fs::write(&source, FUNCTION).unwrap();
    let binary = directory.join("function");
    let status = Command::new("rustc")
        .args(["-C", "target-feature=+crt-static", "-o"])
        .args([&binary, &source])
        .status()
        .unwrap();
    assert!(status.success());
    binary
}

/// How much memory a process has.
fn resident_kilobytes(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.unwrap().parse().unwrap()
}

/// Whether this user may change the root of a process.
fn may_change_root() -> bool {
    let tried = Command::new("chroot").args(["/", "true"]).output();
    tried.is_ok_and(|output| output.status.success())
}

#[test]
fn it_serves_in_an_empty_root() {
    if !may_change_root() {
        skipped("SKIPPED: the wrapper in an empty root, because chroot is not permitted");
        return;
    }
    let wrapper = build();
    let build_directory = tempfile::tempdir().unwrap();
    let function = build_function(build_directory.path());
    let root = tempfile::tempdir().unwrap();
    let tools = root.path().join("wrapper-server-tools");
    fs::create_dir(&tools).unwrap();
    fs::copy(&wrapper, tools.join("wrapper-server")).unwrap();
    symlink("wrapper-server", tools.join("grpc-health-probe")).unwrap();
    fs::copy(&function, root.path().join("function")).unwrap();

    let mut command = Command::new("chroot");
    command.arg(root.path());
    command.args([
        "/wrapper-server-tools/wrapper-server",
        "--port=0",
        "--",
        "/function",
    ]);
    let wrapper = Wrapper::spawn(&mut command);
    let resident = resident_kilobytes(wrapper.pid());
    assert!(resident < 6 * 1024, "{resident} kB when idle");
    let answer = wrapper.call(LIST).unwrap();
    assert_eq!(answer.resource_list, LIST.as_bytes());

    let address = format!("localhost:{}", wrapper.port);
    let probe = Command::new("chroot")
        .arg(root.path())
        .args(["/wrapper-server-tools/grpc-health-probe", "-addr", &address])
        .args(["-connect-timeout=60s", "-rpc-timeout=60s"])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&probe.stderr);
    assert_eq!(
        (probe.status.code(), printed.as_ref()),
        (Some(0), "status: SERVING\n")
    );
}
