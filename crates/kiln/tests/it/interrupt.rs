//! Ctrl-C: no process of a function is left, the exit code shows the signal, and the package is unchanged.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::fs::inotify;
use rustix::process::Signal;

use crate::live::{Live, assert_gone};
use crate::test_environment::TestEnvironment;

const RESOURCE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";

/// A function that starts processes in all ways, prints their ids, and does not end. The processes ignore signals.
const STUBBORN: &str = r#"#!/bin/sh
trap '' INT TERM HUP
sleep 1000 & echo $! >one
setsid sh -c 'trap "" INT; echo $$ >two; sleep 1000 & echo $! >three; sleep 1000' </dev/null >/dev/null 2>&1 &
(setsid sh -c 'echo $$ >four; exec sleep 1000' </dev/null >/dev/null 2>&1 &)
while ! [ -s three ] || ! [ -s four ]; do :; done
echo $$ >started
sleep 1000
"#;

fn test_env() -> TestEnvironment {
    let test_env = TestEnvironment::new();
    test_env.write(
        "pkg/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n    - exec: ./fn.sh\n",
    );
    test_env.write("pkg/a.yaml", RESOURCE);
    test_env.write_program("fn.sh", STUBBORN);
    let status = Command::new("mkfifo")
        .arg(test_env.work().join("started"))
        .status();
    assert!(status.expect("mkfifo runs").success());
    test_env
}

fn kiln(test_env: &TestEnvironment, args: &[&str]) -> Live {
    let mut command = test_env.command("kiln", &test_env.work());
    Live::start(command.args(args))
}

fn number(test_env: &TestEnvironment, name: &str) -> String {
    let text = fs::read_to_string(test_env.work().join(name)).expect("a number");
    text.trim().to_owned()
}

/// Waits until the function prints that it runs; returns the ids of all its processes.
fn processes(test_env: &TestEnvironment) -> Vec<String> {
    // Blocks until the function writes.
    let leader = number(test_env, "started");
    let others = ["one", "two", "three", "four"].map(|name| number(test_env, name));
    [leader].into_iter().chain(others).collect()
}

#[track_caller]
fn check(args: &[&str], signals: &[Signal], code: Option<i32>) {
    let test_env = test_env();
    let live = kiln(&test_env, args);
    let processes = processes(&test_env);
    for signal in signals {
        live.signal(*signal);
    }
    let (ended, printed) = live.end();
    assert_eq!(ended, code, "{args:?}: {printed}");
    for process in processes {
        assert_gone(&process);
    }
    let resource = fs::read_to_string(test_env.work().join("pkg/a.yaml"));
    assert_eq!(resource.expect("a file"), RESOURCE);
    assert!(!Path::new(&test_env.work().join("pkg/.kiln-journal")).exists());
}

const SLEEP: &str = "ghcr.io/kptdev/krm-functions-catalog/sleep:latest";
const RENDER: &[&str] = &["fn", "render", "pkg", "--allow-exec"];
const EVAL: &[&str] = &["fn", "eval", "pkg", "--exec", "./fn.sh"];
const RUN: &[&str] = &[
    "fn",
    "run",
    "pkg",
    "--enable-exec",
    "--exec-path",
    "./fn.sh",
];

#[test]
fn an_interrupt_ends_the_function_and_all_it_started() {
    for args in [RENDER, EVAL, RUN] {
        check(args, &[Signal::INT], Some(130));
        check(args, &[Signal::TERM], Some(143));
    }
}

/// The signal ends the function, and the report says so.
#[test]
fn a_report_is_written_after_an_interrupt() {
    for args in [RENDER, EVAL] {
        let test_env = test_env();
        let reports = [
            "--report",
            "r.html",
            "--report",
            "r.sarif",
            "--report-data",
            "data",
        ];
        let live = kiln(&test_env, &[args, &reports[..]].concat());
        let processes = processes(&test_env);
        live.signal(Signal::INT);
        let (code, printed) = live.end();
        assert_eq!(code, Some(130), "{args:?}: {printed}");
        for process in processes {
            assert_gone(&process);
        }
        let data = fs::read(test_env.work().join("data")).expect("data");
        let data: serde_json::Value = serde_json::from_slice(&data).expect("JSON");
        assert_eq!(data["verdict"], "failed", "{data:#}");
        assert_eq!(data["steps"][0]["status"], "failed", "{data:#}");
        let files = data["files"].as_array().expect("files");
        let is_resource = |file: &&serde_json::Value| file["path"] == "a.yaml";
        assert_eq!(files.iter().find(is_resource), None, "{data:#}");
        for name in ["r.html", "r.sarif"] {
            let text = fs::read_to_string(test_env.work().join(name)).expect("a report");
            assert!(text.contains("interrupted"), "{name}: {text}");
        }
    }
}

#[test]
fn a_second_interrupt_leaves_nothing_either() {
    for args in [RENDER, RUN] {
        // The second one may come before or after the first one has been heeded.
        let test_env = test_env();
        let live = kiln(&test_env, args);
        let processes = processes(&test_env);
        live.signal(Signal::INT);
        live.signal(Signal::HUP);
        let (code, printed) = live.end();
        assert!(
            matches!(code, None | Some(129 | 130)),
            "{code:?}: {printed}"
        );
        for process in processes {
            assert_gone(&process);
        }
    }
}

/// Interrupts kiln when it opens a file with this many resources; returns its exit code, none if the signal ended it.
fn interrupt_reading(args: &[&str], documents: usize) -> Option<i32> {
    let test_env = TestEnvironment::new();
    let kptfile = format!(
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n    - image: {SLEEP}\n"
    );
    test_env.write("pkg/Kptfile", &kptfile);
    let resources = vec![RESOURCE; documents].join("---\n");
    test_env.write("pkg/many.yaml", &resources);
    let file = test_env.work().join("pkg/many.yaml");
    let events = inotify::init(inotify::CreateFlags::CLOEXEC).expect("inotify");
    inotify::add_watch(&events, &file, inotify::WatchFlags::OPEN).expect("a watch");
    let live = kiln(&test_env, args);
    // Blocks until kiln opens the file.
    rustix::io::read(&events, &mut [0; 256]).expect("an event");
    live.signal(Signal::INT);
    let (code, _) = live.end();
    assert!(fs::read_to_string(file).expect("a file") == resources);
    code
}

#[test]
fn an_interrupt_while_files_are_read_ends_kiln_at_once() {
    let render: &[&str] = &["fn", "render", "pkg"];
    let eval: &[&str] = &["fn", "eval", "pkg", "--image", SLEEP];
    for args in [render, eval] {
        // A signal that is late, when the function runs, ends kiln with an exit code.
        let mut sizes = [40_000, 400_000].into_iter();
        assert!(
            sizes.any(|documents| interrupt_reading(args, documents).is_none()),
            "{args:?}"
        );
    }
}

/// The function changes all resources, and has ended when kiln reads, restores and writes them.
#[test]
fn an_interrupt_after_the_function_writes_nothing() {
    const CHANGE: &str = "#!/bin/sh\nsed 's/name: a$/name: b/'\necho >started\n";
    for args in [RENDER, EVAL, RUN] {
        let test_env = test_env();
        test_env.write_program("fn.sh", CHANGE);
        let resources = vec![RESOURCE; 20_000].join("---\n");
        test_env.write("pkg/many.yaml", &resources);
        let live = kiln(&test_env, args);
        // Blocks until the function writes.
        fs::read(test_env.work().join("started")).expect("the function has ended");
        live.signal(Signal::INT);
        let (code, printed) = live.end();
        assert!(
            matches!(code, None | Some(130)),
            "{args:?}: {code:?} {printed}"
        );
        for (file, before) in [("many.yaml", resources.as_str()), ("a.yaml", RESOURCE)] {
            let after = fs::read_to_string(test_env.work().join("pkg").join(file));
            assert!(after.expect("a file") == before, "{args:?}: {file}");
        }
    }
}
