//! `kiln fn run` in kiln's own mode, where it does better than the original.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::live::Live;
use crate::test_environment::{TestEnvironment, files};

const RESOURCE: &str =
    "# head\n\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n\ndata:\n  x:   foo # c\n";
const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\n";

/// A package with a function that it declares.
fn test_env(script: &str) -> TestEnvironment {
    let test_env = TestEnvironment::new();
    test_env.write("pkg/Kptfile", KPTFILE);
    test_env.write("pkg/a.yaml", RESOURCE);
    test_env.write("pkg/fn.yaml", &declaration("./fn.sh"));
    test_env.write("fn.sh", &format!("#!/bin/sh\n{script}\n"));
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(test_env.work().join("fn.sh"), mode).expect("a mode");
    test_env
}

fn declaration(program: &str) -> String {
    format!(
        "apiVersion: example.com/v1\nkind: Fn\nmetadata:\n  name: f\n  annotations:\n    \
         config.kubernetes.io/function: |\n      exec:\n        path: {program}\n"
    )
}

/// What is printed after the file of resources changed.
const CHANGED: &str = "Changed 1 file: a.yaml\n";

fn content(test_env: &TestEnvironment, path: &str) -> String {
    fs::read_to_string(test_env.work().join(path)).expect("a file")
}

#[test]
fn what_no_function_changed_keeps_its_bytes() {
    let test_env = test_env("cat");
    let ran = test_env.kiln(&["fn", "run", "pkg", "--enable-exec"], "");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), "No changes.\n"));
    assert_eq!(content(&test_env, "pkg/a.yaml"), RESOURCE);
    assert_eq!(content(&test_env, "pkg/fn.yaml"), declaration("./fn.sh"));
}

#[test]
fn a_change_is_written_and_the_rest_stays() {
    let test_env = test_env("sed -e s/foo/bar/");
    let ran = test_env.kiln(&["fn", "run", "pkg", "--enable-exec"], "");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), CHANGED));
    let changed = content(&test_env, "pkg/a.yaml");
    assert!(changed.starts_with("# head\n"), "{changed}");
    assert!(changed.contains("x: bar # c\n"), "{changed}");
    assert_eq!(content(&test_env, "pkg/fn.yaml"), declaration("./fn.sh"));
    assert_eq!(content(&test_env, "pkg/Kptfile"), KPTFILE);
}

#[test]
fn lists_stay_as_deep_as_they_are() {
    let test_env = test_env("sed -e s/foo/bar/");
    let list = |value: &str| format!("{RESOURCE}list:\n    - {value}\n    - b\n");
    test_env.write("pkg/a.yaml", &list("foo"));
    let ran = test_env.kiln(&["fn", "run", "pkg", "--enable-exec"], "");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), CHANGED));
    let changed = content(&test_env, "pkg/a.yaml");
    assert!(
        changed.ends_with("list:\n    - bar\n    - b\n"),
        "{changed}"
    );
}

#[test]
fn stderr_is_printed_while_a_function_runs() {
    let test_env = test_env("echo hello >&2; cat go >/dev/null; cat");
    let pipe = test_env.work().join("go");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    let mut command = test_env.command("kiln", &test_env.work());
    let mut live = Live::start(command.args(["fn", "run", "pkg", "--enable-exec"]));
    // The function waits for the pipe, so it has not ended.
    live.until("hello");
    fs::write(&pipe, "go").expect("is read");
    assert_eq!(live.end(), (Some(0), "No changes.\n".to_owned()));
}

#[test]
fn a_function_that_is_not_enabled_is_skipped_with_a_message() {
    let test_env = test_env("false");
    let ran = test_env.kiln(&["fn", "run", "pkg"], "");
    let message =
        "skipped function \"./fn.sh\" in fn.yaml: it requires --enable-exec\nNo changes.\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), message));
}

#[test]
fn a_failure_matters_more_than_what_was_printed() {
    let test_env = test_env("echo 'x: ['; echo oops >&2; exit 3");
    let ran = test_env.kiln(&["fn", "run", "pkg", "--enable-exec"], "");
    let message = "oops\nerror: function \"./fn.sh\": exit status 3\n  at pkg/fn.yaml:1:1\nhint: fix what the function \
                reports, in the resources or in its configuration\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), message));
    assert_eq!(content(&test_env, "pkg/a.yaml"), RESOURCE);
}

#[test]
fn every_directory_of_functions_counts() {
    let test_env = test_env("sed -e s/foo/foof/");
    for dir in ["one", "two"] {
        test_env.write(&format!("{dir}/fn.yaml"), &declaration("./fn.sh"));
    }
    let flags = ["--enable-exec", "--fn-path", "one,two", "--dry-run"];
    let ran = test_env.kiln(&[&["fn", "run", "pkg"][..], &flags].concat(), "");
    assert!(ran.stdout.contains("x: fooff # c\n"), "{ran:?}");
}

#[test]
fn scripts_run() {
    let test_env = test_env("cat");
    let flags = ["--enable-star", "--star-path", "x.star"];
    let run = || test_env.kiln(&[&["fn", "run", "pkg"][..], &flags].concat(), "");
    let missing = run();
    assert_eq!(missing.code, Some(1), "{missing:?}");
    let message = "x.star: no such file or directory\n";
    assert!(missing.stderr.ends_with(message), "{missing:?}");
    let script = "def rename(items):\n  \
                  for item in items:\n    \
                  item[\"metadata\"][\"name\"] = \"scripted\"\n\
                  rename(ctx.resource_list[\"items\"])\n";
    test_env.write("pkg/x.star", script);
    let ran = run();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let changed = files(&test_env.work().join("pkg"));
    assert!(
        changed
            .values()
            .any(|text| text.contains("name: scripted\n")),
        "{changed:?}"
    );
}
