//! Ctrl-C: nothing of a function is left, the exit code says why, and the package is as it was.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use crate::live::{Live, assert_gone};
use crate::world::World;

const RESOURCE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";

/// A function that starts others in all ways, says so, and then does not end. Those who are told to end do not listen.
const STUBBORN: &str = r#"#!/bin/sh
trap '' INT TERM HUP
sleep 1000 & echo $! >one
setsid sh -c 'trap "" INT; echo $$ >two; sleep 1000 & echo $! >three; sleep 1000' </dev/null >/dev/null 2>&1 &
(setsid sh -c 'echo $$ >four; exec sleep 1000' </dev/null >/dev/null 2>&1 &)
while ! [ -s three ] || ! [ -s four ]; do :; done
echo $$ >started
sleep 1000
"#;

fn world() -> World {
    let world = World::new();
    world.write(
        "pkg/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n    - exec: ./fn.sh\n",
    );
    world.write("pkg/a.yaml", RESOURCE);
    world.write_program("fn.sh", STUBBORN);
    let status = Command::new("mkfifo")
        .arg(world.work().join("started"))
        .status();
    assert!(status.expect("mkfifo runs").success());
    world
}

fn kiln(world: &World, args: &[&str]) -> Live {
    let mut command = world.command("kiln", &world.work());
    Live::start(command.args(args))
}

fn number(world: &World, name: &str) -> String {
    let text = fs::read_to_string(world.work().join(name)).expect("a number");
    text.trim().to_owned()
}

/// Waits until the function says that it runs; gives the numbers of all its processes.
fn processes(world: &World) -> Vec<String> {
    // Blocks until the function writes.
    let leader = number(world, "started");
    let others = ["one", "two", "three", "four"].map(|name| number(world, name));
    [leader].into_iter().chain(others).collect()
}

#[track_caller]
fn check(args: &[&str], signals: &[Signal], code: Option<i32>) {
    let world = world();
    let live = kiln(&world, args);
    let processes = processes(&world);
    for signal in signals {
        live.signal(*signal);
    }
    let (ended, said) = live.end();
    assert_eq!(ended, code, "{args:?}: {said}");
    for process in processes {
        assert_gone(&process);
    }
    let resource = fs::read_to_string(world.work().join("pkg/a.yaml"));
    assert_eq!(resource.expect("a file"), RESOURCE);
    assert!(!Path::new(&world.work().join("pkg/.kiln-journal")).exists());
}

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

#[test]
fn whoever_asks_twice_leaves_nothing_either() {
    for args in [RENDER, RUN] {
        // The second one may come before or after the first one has been heeded.
        let world = world();
        let live = kiln(&world, args);
        let processes = processes(&world);
        live.signal(Signal::INT);
        live.signal(Signal::HUP);
        let (code, said) = live.end();
        assert!(matches!(code, None | Some(129 | 130)), "{code:?}: {said}");
        for process in processes {
            assert_gone(&process);
        }
    }
}
