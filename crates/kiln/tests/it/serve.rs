//! `kiln serve`: the function runner with other defaults. What it answers is tested with the runner.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

fn serve(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kiln"));
    command.arg("serve").args(arguments).stdin(Stdio::null());
    command
}

#[test]
fn flags_are_those_of_the_runner() {
    let output = serve(&["--help"]).output().expect("a program");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("\nUsage: kiln serve [OPTIONS]\n"), "{text}");
    assert!(text.contains("[default: \"127.0.0.1\"]"), "{text}");
    let output = serve(&["--nope"]).output().expect("a program");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(
        text.starts_with("error: unknown flag --nope\nhint: "),
        "{text}"
    );
    // Flags of the function runner are accepted, even if they have no effect here.
    let output = serve(&["--pod-ttl=1m", "--nope"])
        .output()
        .expect("a program");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.starts_with("error: unknown flag --nope\n"), "{text}");
}

#[test]
fn it_starts_without_a_configuration_and_listens_to_this_machine_only() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = serve(&["--port=0"]);
    command.current_dir(directory.path()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("a program");
    let stderr = child.stderr.take().expect("standard error");
    let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
    let listening = lines.find(|line| line.contains("function runner is listening"));
    let pid = Pid::from_child(&child);
    let message = kill_process(pid, Signal::TERM);
    let status = child.wait().expect("an end");
    message.expect("a process");
    let listening = listening.expect("a line");
    assert!(listening.contains("address=\"127.0.0.1:"), "{listening}");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_second_one_starts_without_a_status_page() {
    // If it is in use already, that is as good.
    let _held = TcpListener::bind("127.0.0.1:9447");
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = serve(&["--port=0"]);
    command.current_dir(directory.path()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("a program");
    let stderr = child.stderr.take().expect("standard error");
    let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
    let warning = lines.find(|line| line.contains("there is no status page"));
    let listening = lines.find(|line| line.contains("function runner is listening"));
    let message = kill_process(Pid::from_child(&child), Signal::TERM);
    child.wait().expect("an end");
    message.expect("a process");
    assert!(listening.is_some());
    let warning = warning.expect("a warning");
    assert!(
        warning.contains("cannot listen on 127.0.0.1:9447: "),
        "{warning}"
    );
    assert!(
        warning.contains("--status-address selects another address"),
        "{warning}"
    );
}
