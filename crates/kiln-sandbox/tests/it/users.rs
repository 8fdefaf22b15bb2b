//! The same for a user that is not root.

use std::os::unix::process::CommandExt;
use std::process::Command;

use kiln_sandbox::{InForce, Sandbox};

use crate::fixture::{TestDirectory, skip};

/// The ID of the user `nobody`.
const NOBODY: u32 = 65_534;

#[test]
fn it_holds_for_another_user_as_well() {
    if !rustix::process::geteuid().is_root() {
        skip("only root can become another user");
        return;
    }
    let place = TestDirectory::new();
    rustix::fs::chown(
        place.path(),
        Some(rustix::process::Uid::from_raw(NOBODY)),
        Some(rustix::process::Gid::from_raw(NOBODY)),
    )
    .unwrap();
    let ourselves = std::env::current_exe().unwrap();
    let mut command = Command::new(&ourselves);
    command
        .args(["--skip", "users::it_holds_for_another_user_as_well"])
        .env("TMPDIR", place.path())
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY);
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            skip(&format!(
                "another user cannot run {}: {error}",
                ourselves.display()
            ));
            return;
        }
    };
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}");
    assert!(printed.contains("test result: ok"), "{printed}");
}

#[test]
fn measures_in_force_are_reported() {
    let measures = Sandbox::probe();
    let lines: Vec<String> = measures.iter().map(ToString::to_string).collect();
    if let [measure] = measures.as_slice() {
        assert_eq!((measure.name, measure.in_force), ("sandbox", InForce::No));
        skip(&measure.to_string());
        return;
    }
    let find = |name| measures.iter().find(|measure| measure.name == name);
    for name in [
        "files",
        "network",
        "system calls",
        "signals",
        "user",
        "processes",
        "memory",
    ] {
        assert!(find(name).is_some(), "{name}: {lines:?}");
    }
    let is_root = rustix::process::geteuid().is_root();
    let own_user = find("user").unwrap().in_force == InForce::Yes;
    assert!(is_root || !own_user, "{lines:?}");
}
