//! Shutdown of a runner.

use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tonic::Code;

use crate::program::{CAT, Runner, RunnerFiles};

fn signal(runner: &Runner, signal: Signal) {
    let pid = Pid::from_child(&runner.child);
    kill_process(pid, signal).expect("a process");
}

/// A function that reports that it runs, and ends when a file exists.
fn slow() -> RunnerFiles {
    let files = RunnerFiles::empty();
    files.program(
        "cat",
        "here=$(dirname \"$0\"); touch \"$here/started\"; \
         while ! [ -e \"$here/go\" ]; do sleep 0.02; done; exec cat",
    );
    files.config(&format!(
        "functions:\n- function: cat\n  images: ['{CAT}']\n"
    ));
    files
}

async fn started(files: &RunnerFiles) {
    while !files.path("functions/started").exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Programs outside a sandbox, so that they can report that they run.
const FLAGS: [&str; 2] = ["--disable-runtimes=pod", "--exec-sandbox=off"];

#[tokio::test]
async fn sigterm_lets_calls_finish() {
    let files = slow();
    let mut runner = files.start(&FLAGS);
    let answer = {
        let call = runner.call(CAT);
        tokio::pin!(call);
        tokio::select! {
            answer = &mut call => panic!("too early: {answer:?}"),
            () = started(&files) => {}
        }
        signal(&runner, Signal::TERM);
        runner.wait_for_log("SIGTERM");
        std::fs::write(files.path("functions/go"), "").expect("a file");
        call.await
    };
    answer.expect("a list");
    assert_eq!(runner.wait().code(), Some(0));
}

#[tokio::test]
async fn sigint_twice_is_now() {
    let files = slow();
    let mut runner = files.start(&FLAGS);
    let answer = {
        let call = runner.call(CAT);
        tokio::pin!(call);
        tokio::select! {
            answer = &mut call => panic!("too early: {answer:?}"),
            () = started(&files) => {}
        }
        signal(&runner, Signal::INT);
        runner.wait_for_log("once more to end now");
        signal(&runner, Signal::INT);
        runner.wait_for_log("ending now");
        call.await
    };
    let status = answer.expect_err("interrupted");
    assert_eq!(status.code(), Code::Unavailable);
    let status = runner.wait();
    assert_eq!((status.code(), status.signal()), (Some(0), None));
}

#[tokio::test]
async fn calls_have_no_longer_than_the_drain_timeout() {
    let files = slow();
    let mut runner = files.start(&[FLAGS[0], FLAGS[1], "--drain-timeout=100ms"]);
    let answer = {
        let call = runner.call(CAT);
        tokio::pin!(call);
        tokio::select! {
            answer = &mut call => panic!("too early: {answer:?}"),
            () = started(&files) => {}
        }
        signal(&runner, Signal::TERM);
        call.await
    };
    assert_eq!(answer.expect_err("interrupted").code(), Code::Unavailable);
    assert_eq!(runner.wait().code(), Some(0));
}
