//! `kiln fn render --watch`

use std::fs;

use rustix::process::Signal;

use crate::live::Live;
use crate::test_environment::TestEnvironment;

const WAITING: &str = "Waiting for changes in pkg";

fn resource(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  x: foo\n")
}

fn test_env() -> TestEnvironment {
    let test_env = TestEnvironment::new();
    test_env.write(
        "pkg/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n    - exec: sed s/[f]oo/bar/\n",
    );
    test_env.write("pkg/a.yaml", &resource("a"));
    test_env.write(
        "pkg/sub/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\n",
    );
    test_env
}

fn watch(test_env: &TestEnvironment, more: &[&str]) -> Live {
    let mut command = test_env.command("kiln", &test_env.work());
    command.args(["fn", "render", "pkg", "--allow-exec", "--watch"]);
    Live::start(command.args(more))
}

fn content(test_env: &TestEnvironment, path: &str) -> String {
    fs::read_to_string(test_env.work().join(path)).expect("a file")
}

#[test]
fn every_change_is_rendered_and_our_own_are_not() {
    let test_env = test_env();
    let mut live = watch(&test_env, &[]);
    let printed = live.until(WAITING);
    assert!(printed.contains("Successfully executed 1 function(s) in 2 package(s)."));
    assert!(content(&test_env, "pkg/a.yaml").contains("x: bar"));

    // A file of a sub-package that is new, in a directory that is new.
    test_env.write("pkg/sub/deep/b.yaml", &resource("b"));
    let printed = live.until(WAITING);
    // Nothing but this change set it off: what the first render wrote did not.
    assert!(
        printed.starts_with("Changed: sub/deep/b.yaml\n"),
        "{printed}"
    );
    assert!(
        content(&test_env, "pkg/sub/deep/b.yaml").contains("x: bar"),
        "{printed}"
    );

    // The error of a bad change is printed, and watching goes on.
    test_env.write("pkg/a.yaml", "a: b: c\n");
    let printed = live.until(WAITING);
    assert!(printed.starts_with("Changed: a.yaml\n"), "{printed}");
    assert!(printed.contains("a.yaml:1:"), "{printed}");

    fs::remove_file(test_env.work().join("pkg/a.yaml")).expect("is there");
    let printed = live.until(WAITING);
    assert!(printed.starts_with("Changed: a.yaml\n"), "{printed}");
    assert!(printed.contains("Successfully executed"), "{printed}");

    // The pipeline itself.
    let kptfile = content(&test_env, "pkg/Kptfile").replace("sed s/[f]oo/bar/", "sed s/[b]ar/baz/");
    test_env.write("pkg/Kptfile", &kptfile);
    let printed = live.until(WAITING);
    assert!(printed.starts_with("Changed: Kptfile\n"), "{printed}");
    assert!(content(&test_env, "pkg/sub/deep/b.yaml").contains("x: baz"));

    live.signal(Signal::INT);
    let (code, rest) = live.end();
    assert_eq!((code, rest.as_str()), (Some(0), ""));
}

#[test]
fn an_interrupt_while_functions_run_ends_it_too() {
    let test_env = test_env();
    test_env.write_program("fn.sh", "#!/bin/sh\necho $$ >started\nsleep 1000\n");
    let kptfile = content(&test_env, "pkg/Kptfile").replace("sed s/[f]oo/bar/", "./fn.sh");
    test_env.write("pkg/Kptfile", &kptfile);
    let mut live = watch(&test_env, &[]);
    live.until("[RUNNING]");
    live.signal(Signal::INT);
    assert_eq!(live.end().0, Some(0));
    assert!(content(&test_env, "pkg/a.yaml").contains("x: foo"));
}

#[test]
fn a_dry_run_can_be_watched_and_a_directory_that_goes_ends_it() {
    let test_env = test_env();
    let mut live = watch(&test_env, &["--dry-run", "--log-format=json"]);
    live.until("\"event\":\"waiting\"");
    assert!(content(&test_env, "pkg/a.yaml").contains("x: foo"));
    test_env.write("pkg/a.yaml", &resource("c"));
    let printed = live.until("\"event\":\"waiting\"");
    assert!(printed.contains("\"event\":\"changed\",\"file\":\"a.yaml\""));
    fs::remove_dir_all(test_env.work().join("pkg")).expect("is there");
    let (code, printed) = live.end();
    assert_eq!(code, Some(1), "{printed}");
    assert!(printed.contains("pkg was removed"), "{printed}");
}

#[test]
fn there_must_be_something_to_watch() {
    let test_env = TestEnvironment::new();
    let ran = test_env.kiln(&["fn", "render", "nope", "--watch"], "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
}
