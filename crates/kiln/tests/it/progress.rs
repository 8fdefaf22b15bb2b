//! The progress line on a terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::test_environment::TestEnvironment;

const ERASE: &str = "\r\x1b[K";

/// Both sides of a new terminal: ours, and that of the program.
fn terminal() -> (File, File) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&ours).expect("may be used");
    unlockpt(&ours).expect("can be used");
    let name = ptsname(&ours, Vec::new()).expect("a name");
    let theirs = open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("opens");
    (ours.into(), theirs.into())
}

/// A package whose function reads the pipe `go` before it ends.
fn test_env() -> TestEnvironment {
    let test_env = TestEnvironment::new();
    test_env.write(
        "pkg/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n    - exec: ./slow.sh\n",
    );
    test_env.write_program("slow.sh", "#!/bin/sh\ncat go >/dev/null\nexec cat\n");
    let status = Command::new("mkfifo")
        .arg(test_env.work().join("go"))
        .status();
    assert!(status.expect("mkfifo runs").success());
    test_env
}

/// What a terminal shows of kiln; the function goes on when `wanted` has been shown, at once if it is empty.
fn shown(test_env: &TestEnvironment, args: &[&str], wanted: &str) -> String {
    let (mut ours, theirs) = terminal();
    let mut command = test_env.command("kiln", &test_env.work());
    command.args(["fn"]).args(args).env("TERM", "xterm");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(theirs)
        .spawn()
        .expect("starts");
    // It holds the other side of the terminal.
    drop(command);
    let mut shown = Vec::new();
    let mut is_going = false;
    loop {
        let text = String::from_utf8_lossy(&shown).into_owned();
        if !is_going && text.contains(wanted) {
            // Waits until the function listens.
            let mut go = File::create(test_env.work().join("go")).expect("a pipe");
            go.write_all(b"go").expect("is read");
            is_going = true;
        }
        let mut chunk = [0; 4096];
        // The end of the last program that has it open is an error here.
        match ours.read(&mut chunk) {
            Ok(0) | Err(_) => break,
            Ok(length) => shown.extend_from_slice(&chunk[..length]),
        }
    }
    assert!(child.wait().expect("ends").success(), "{args:?}");
    String::from_utf8(shown)
        .expect("text")
        .replace("\r\n", "\n")
}

#[test]
fn a_long_function_is_shown_and_erased_before_other_output() {
    let line = format!("{ERASE}  1s \"./slow.sh\"");
    let test_env = test_env();
    let shown = shown(&test_env, &["render", "pkg", "--allow-exec"], &line);
    let start = "Package \"pkg\":\n[RUNNING] \"./slow.sh\" on package \"pkg\"\n";
    let rest = shown.strip_prefix(start);
    let rest = rest.and_then(|rest| rest.strip_prefix(&line));
    // It may have been drawn again until the function ended.
    let (progress, end) = rest.and_then(|rest| rest.rsplit_once(ERASE)).expect(&shown);
    assert!(!progress.contains('\n'), "{shown:?}");
    assert!(end.starts_with("[PASS] \"./slow.sh\" in "), "{shown:?}");
}

#[test]
fn the_older_command_shows_it_too() {
    let test_env = test_env();
    test_env.write(
        "pkg/a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n",
    );
    let line = format!("{ERASE}  1s \"./slow.sh\"");
    let args = ["run", "pkg", "--enable-exec", "--exec-path", "./slow.sh"];
    let shown = shown(&test_env, &args, &line);
    assert!(
        shown.starts_with(&line) && shown.ends_with(&format!("{ERASE}No changes.\n")),
        "{shown:?}"
    );
}

#[test]
fn nothing_of_it_where_it_is_not_wanted() {
    for more in [
        &["--quiet"][..],
        &["--log-format=json"],
        &["--quiet", "--timings"],
    ] {
        let test_env = test_env();
        let args = [&["render", "pkg", "--allow-exec"], more].concat();
        let shown = shown(&test_env, &args, "");
        assert!(!shown.contains('\x1b'), "{shown:?}");
    }
}
