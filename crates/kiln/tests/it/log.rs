//! `--log-format json`: one object a line, and nothing else.

use serde_json::{Value, json};

use crate::test_environment::TestEnvironment;

/// The records of a command, without times, which differ.
#[track_caller]
fn log_of(test_env: &TestEnvironment, args: &[&str]) -> (Option<i32>, Vec<Value>) {
    let ran = test_env.kiln(&[args, &["--log-format", "json"]].concat(), "");
    let mut records = Vec::new();
    for line in ran.stderr.lines() {
        let mut record: Value = serde_json::from_str(line).expect(line);
        let fields = record.as_object_mut().expect("an object");
        let time = fields.remove("time").expect("a time");
        assert!(
            time.as_str().is_some_and(|time| time.ends_with('Z')),
            "{line}"
        );
        if let Some(duration) = fields.remove("duration_ms") {
            assert!(duration.is_u64(), "{line}");
        }
        if let Some(identity) = fields.remove("identity") {
            let identity = identity.as_str().unwrap_or_default();
            assert!(identity.starts_with("exec:sha256:"), "{line}");
        }
        records.push(record);
    }
    (ran.code, records)
}

fn test_env(function: &str) -> TestEnvironment {
    let test_env = TestEnvironment::new();
    test_env.write(
        "pkg/Kptfile",
        &format!("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n    - exec: {function}\n"),
    );
    test_env.write(
        "pkg/a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n",
    );
    test_env.write_program("ok.sh", "#!/bin/sh\necho hi >&2\ncat\n");
    test_env.write_program("bad.sh", "#!/bin/sh\necho oops >&2\nexit 3\n");
    test_env.write_program(
        "report.sh",
        "#!/bin/sh\ncat\nprintf 'results:\\n- message: m\\n  severity: warning\\n  file: {path: a.yaml}\\n  field: {path: x.y}\\n'\n",
    );
    test_env
}

#[test]
fn a_render_that_succeeds() {
    let test_env = test_env("./ok.sh");
    let (code, records) = log_of(&test_env, &["fn", "render", "pkg", "--allow-exec"]);
    assert_eq!(code, Some(0));
    let expected = [
        json!({"level": "info", "event": "package", "package": "pkg"}),
        json!({"level": "info", "event": "running", "package": "pkg", "function": "./ok.sh"}),
        json!({"level": "info", "event": "passed", "package": "pkg", "function": "./ok.sh", "exec": "./ok.sh", "exit_code": 0, "stderr": "hi\n"}),
        json!({"level": "info", "event": "package-done"}),
        json!({"level": "info", "event": "summary", "functions": 1, "packages": 1, "message": "Successfully executed 1 function(s) in 1 package(s)."}),
        json!({"level": "info", "event": "changes", "files": ["Kptfile"], "message": "Changed 1 file: Kptfile"}),
    ];
    assert_eq!(records, expected);
}

#[test]
fn a_render_that_fails() {
    let test_env = test_env("./bad.sh");
    let args = ["fn", "render", "pkg", "--allow-exec", "--results-dir=r"];
    let (code, records) = log_of(&test_env, &args);
    assert_eq!(code, Some(1));
    let expected = [
        json!({"level": "error", "event": "failed", "package": "pkg", "function": "./bad.sh", "exec": "./bad.sh", "exit_code": 3, "stderr": "oops\n"}),
        json!({"level": "info", "event": "changes", "files": ["Kptfile"], "message": "Changed 1 file: Kptfile"}),
        json!({"level": "info", "event": "results", "file": "r/results.yaml"}),
        json!({"level": "error", "event": "error", "class": "function", "package": "pkg", "function": "./bad.sh", "file": "pkg/Kptfile", "line": 7, "column": 7, "message": "function failed: exit status 3", "hint": "fix what the function reports, in the resources or in its configuration"}),
    ];
    assert_eq!(records[2..], expected);
}

#[test]
fn what_functions_report() {
    let test_env = test_env("./ok.sh");
    let (code, records) = log_of(&test_env, &["fn", "eval", "pkg", "--exec", "./report.sh"]);
    assert_eq!(code, Some(0));
    let results = json!([{"severity": "warning", "message": "m", "field": {"path": "x.y"}, "file": {"path": "a.yaml", "index": 0}, "position": "pkg/a.yaml:1"}]);
    assert_eq!(records[1]["results"], results);
}

#[test]
fn errors_and_warnings() {
    let test_env = test_env("./ok.sh");
    let (code, records) = log_of(&test_env, &["fn", "render", "nope"]);
    assert_eq!(code, Some(1));
    let message = "lstat nope: no such file or directory";
    assert_eq!(records[0]["level"], "error");
    assert_eq!(records[0]["event"], "error");
    assert_eq!(records[0]["message"], message);

    let (code, records) = log_of(&test_env, &["fn", "render", "pkg"]);
    assert_eq!(code, Some(1));
    let last = records.last().expect("a record");
    assert_eq!(last["package"], "pkg", "{last}");
    assert_eq!(last["function"], "./ok.sh", "{last}");
    assert_eq!(last["file"], "pkg/Kptfile", "{last}");
    assert_eq!(last["line"], 7, "{last}");
    assert_eq!(last.get("class"), None, "{last}");

    // Even what the command line is refused for.
    let (code, records) = log_of(&test_env, &["fn", "render", "pkg", "--nope"]);
    assert_eq!((code, records.len()), (Some(2), 1));

    std::os::unix::fs::symlink("pkg", test_env.work().join("link")).expect("a link");
    let (_, records) = log_of(&test_env, &["fn", "render", "link", "--allow-exec"]);
    assert_eq!(records[0]["event"], "warning");
    assert_eq!(records[0]["level"], "warning");
}

#[test]
fn fn_run_logs_the_stderr_of_functions_by_line() {
    let test_env = test_env("./ok.sh");
    test_env.write_program("talk.sh", "#!/bin/sh\nprintf 'a\\nb\\nc' >&2\nexit 4\n");
    let args = ["fn", "run", "pkg", "--enable-exec", "--exec-path=./talk.sh"];
    let (code, records) = log_of(&test_env, &args);
    assert_eq!(code, Some(1));
    let line = |text| json!({"level": "info", "event": "stderr", "function": "./talk.sh", "message": text});
    assert_eq!(records[..3], ["a", "b", "c"].map(line));
    assert_eq!(records[3]["event"], "error");
    assert_eq!(records[3]["class"], "function");
    assert_eq!(
        records[3]["message"],
        "function \"./talk.sh\": exit status 4"
    );
}
