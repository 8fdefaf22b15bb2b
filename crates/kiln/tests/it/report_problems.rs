//! Where reports say that a problem is, and reports of commands that fail early.

use std::fs;

use serde_json::Value;

use crate::test_environment::{Outcome, TestEnvironment, run};

const CONFIG_MAP: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  color: red\n";

/// A validator that names a resource and a field, but no file.
const CHECK: &str = "#!/bin/sh
cat
cat <<'END'
results:
- message: must not be so
  severity: error
  resourceRef: {apiVersion: v1, kind: ConfigMap, name: a}
  field: {path: data.color}
END
exit 1
";

fn kptfile(pipeline: &str) -> String {
    format!("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n{pipeline}")
}

fn test_env() -> TestEnvironment {
    let test_env = TestEnvironment::new();
    test_env.write(
        "pkg/Kptfile",
        &kptfile("  validators:\n    - exec: ./check.sh\n"),
    );
    let other = "# first\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n";
    test_env.write("pkg/z/b.yaml", other);
    test_env.write("pkg/a.yaml", CONFIG_MAP);
    test_env.write_program("check.sh", CHECK);
    test_env.write_program("blue.sh", "#!/bin/sh\nsed 's/color: red/color: blue/'\n");
    test_env
}

/// The same with a mutator.
fn mutating_env() -> TestEnvironment {
    let test_env = test_env();
    test_env.write(
        "pkg/Kptfile",
        &kptfile("  mutators:\n    - exec: ./blue.sh\n"),
    );
    test_env
}

/// Runs kiln with words that are separated by spaces.
#[track_caller]
fn kiln(test_env: &TestEnvironment, line: &str, input: &str, code: i32) -> Outcome {
    let args: Vec<&str> = line.split(' ').collect();
    let ran = test_env.kiln(&args, input);
    assert_eq!(ran.code, Some(code), "{line}: {}", ran.stderr);
    ran
}

#[track_caller]
fn read(test_env: &TestEnvironment, name: &str) -> String {
    let path = test_env.work().join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[track_caller]
fn data(test_env: &TestEnvironment) -> Value {
    serde_json::from_str(&read(test_env, "data")).expect("JSON")
}

/// The problem with this message.
#[track_caller]
fn problem(data: &Value, message: &str) -> Value {
    let mut problems = data["problems"].as_array().expect("problems").iter();
    let found = problems.find(|one| one["message"] == message);
    found.unwrap_or_else(|| panic!("{data:#}")).clone()
}

const RENDER: &str = "fn render pkg --allow-exec --report-data data";

#[test]
fn a_problem_of_a_resource_is_where_the_resource_is() {
    let test_env = test_env();
    let ran = kiln(&test_env, RENDER, "", 1);
    let expected = "must not be so (pkg/a.yaml:6)";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    let data = data(&test_env);
    let reported = problem(&data, "must not be so");
    assert_eq!(reported["resource"], "ConfigMap a", "{data:#}");
    assert_eq!(reported["field"], "data.color");
    assert_eq!(reported["file"], "a.yaml");
    assert_eq!(reported["line"], 6);
    assert_eq!(data["steps"][0]["results"][0]["file"], "a.yaml");
    let ran = kiln(&test_env, &format!("{RENDER} --log-format github"), "", 1);
    let annotation = "::error file=pkg/a.yaml,line=6,title=./check.sh::\
                      ConfigMap a data.color: must not be so";
    assert!(ran.stderr.contains(annotation), "{}", ran.stderr);
}

#[test]
fn the_log_and_the_report_name_the_line_of_a_key() {
    let test_env = test_env();
    test_env.write_program("check.sh", &CHECK.replace("data.color", "data"));
    let ran = kiln(&test_env, RENDER, "", 1);
    let expected = "must not be so (pkg/a.yaml:5)";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    assert_eq!(problem(&data(&test_env), "must not be so")["line"], 5);
}

#[test]
fn a_resource_that_the_run_renamed_is_found() {
    let test_env = test_env();
    let pipeline = "  mutators:\n    - exec: ./move.sh\n  validators:\n    - exec: ./check.sh\n";
    test_env.write("pkg/Kptfile", &kptfile(pipeline));
    test_env.write_program("move.sh", "#!/bin/sh\nsed 's/name: a$/name: moved/'\n");
    let check = CHECK
        .replace("name: a}", "name: moved}")
        .replace("severity: error", "severity: warning")
        .replace("exit 1", "exit 0");
    test_env.write_program("check.sh", &check);
    kiln(&test_env, RENDER, "", 0);
    let reported = problem(&data(&test_env), "must not be so");
    assert_eq!(
        (&reported["file"], &reported["line"]),
        (&"a.yaml".into(), &6.into())
    );
}

#[test]
fn places_are_those_of_the_repository() {
    let test_env = test_env();
    let work = test_env.work();
    fs::create_dir(work.join(".git")).expect("a directory");
    let check = work.join("check.sh").display().to_string();
    test_env.write(
        "pkg/Kptfile",
        &kptfile(&format!("  validators:\n    - exec: {check}\n")),
    );
    let program = test_env.bin().join("kiln").display().to_string();
    let absolute = work.join("pkg").display().to_string();
    let up = work.parent().expect("a parent").display().to_string();
    for (directory, named, workspace, place) in [
        ("pkg", ".", "", "pkg/a.yaml"),
        (".", absolute.as_str(), "", "pkg/a.yaml"),
        ("pkg/z", "..", "", "pkg/a.yaml"),
        (".", "pkg", up.as_str(), "work/pkg/a.yaml"),
        (".", "pkg", "/nowhere", "pkg/a.yaml"),
    ] {
        let mut command = test_env.command(&program, &work.join(directory));
        command
            .args([
                "fn",
                "render",
                named,
                "--allow-exec",
                "--log-format",
                "github",
            ])
            .env("GITHUB_WORKSPACE", workspace);
        let ran = run(&mut command, "");
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        let wanted = format!("::error file={place},line=6,");
        assert!(ran.stderr.contains(&wanted), "{wanted}: {}", ran.stderr);
    }
}

#[test]
fn a_check_names_each_file_in_every_format() {
    let test_env = mutating_env();
    for number in 0..12 {
        let text = CONFIG_MAP.replace("name: a", &format!("name: a{number}"));
        test_env.write(&format!("pkg/{number}.yaml"), &text);
    }
    let formats = ["r.sarif", "r.junit.xml", "r.codequality.json"];
    let flags = formats.map(|name| format!("--report {name}")).join(" ");
    kiln(
        &test_env,
        &format!("fn render pkg --allow-exec --check {flags}"),
        "",
        3,
    );
    for name in formats {
        let text = read(&test_env, name);
        for number in 0..12 {
            assert!(text.contains(&format!("{number}.yaml")), "{name}: {text}");
        }
    }
}

#[test]
fn a_result_that_is_written_elsewhere_has_its_changes() {
    let test_env = mutating_env();
    for line in [
        "fn eval pkg --exec ./blue.sh -o out",
        "fn eval pkg --exec ./blue.sh -o unwrap",
        "fn render pkg --allow-exec -o rendered",
        "fn render pkg --allow-exec -o stdout",
    ] {
        kiln(
            &test_env,
            &format!("{line} --report-data data --report r.md"),
            "",
            0,
        );
        let data = data(&test_env);
        assert_eq!(data["files"].as_array().map(Vec::len), Some(1), "{data:#}");
        assert_eq!(data["files"][0]["path"], "a.yaml");
        assert_eq!(data["resources"][0]["change"], "changed");
        let summary = read(&test_env, "r.md");
        let headline = "## ✅ pkg: Passed: changed 1 file, written elsewhere";
        assert!(summary.contains(headline), "{summary}");
        assert_eq!(read(&test_env, "pkg/a.yaml"), CONFIG_MAP);
    }
}

#[test]
fn changes_of_standard_input_are_counted() {
    let test_env = test_env();
    let list = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {}",
        CONFIG_MAP.trim_end().replace('\n', "\n  ")
    );
    let line = "fn eval - --exec ./blue.sh --report r.md --report-data data";
    kiln(&test_env, line, &list, 0);
    let summary = read(&test_env, "r.md");
    let headline = "## ✅ standard input: Passed: changed 1 resource, written elsewhere";
    assert!(summary.contains(headline), "{summary}");
    assert_eq!(data(&test_env)["resources"][0]["change"], "changed");
}

#[test]
fn commands_that_fail_early_write_a_report() {
    let test_env = test_env();
    test_env.write("file", "");
    for line in [
        "fn render missing",
        "fn render pkg --results-dir file/results",
        "fn render pkg -o pkg",
        "fn eval missing --exec ./blue.sh",
        "fn eval pkg --exec ./blue.sh --fn-config missing.yaml",
        "fn eval pkg --exec ./blue.sh --results-dir file/results",
        "fn eval - --exec ./blue.sh --results-dir file/results",
    ] {
        kiln(
            &test_env,
            &format!("{line} --report r.html --report-data data"),
            "",
            1,
        );
        let data = data(&test_env);
        assert_eq!(data["verdict"], "failed", "{line}");
        assert_eq!(data["problems"].as_array().map(Vec::len), Some(1), "{line}");
        for name in ["data", "r.html"] {
            fs::remove_file(test_env.work().join(name)).expect("a report");
        }
    }
}

#[test]
fn a_link_to_a_missing_file_stays() {
    let test_env = test_env();
    let link = test_env.work().join("link.html");
    std::os::unix::fs::symlink("later.html", &link).expect("a link");
    kiln(
        &test_env,
        "fn eval pkg --exec ./blue.sh --report link.html",
        "",
        0,
    );
    assert!(link.is_symlink());
    assert!(test_env.work().join("later.html").is_file());
}

#[test]
fn a_report_is_in_the_package_only_if_it_is_ignored() {
    let test_env = test_env();
    for (ignored, name, code) in [
        ("*.txt\n", "pkg/sub.json", 1),
        ("*.json\n", "pkg/sub.json", 0),
        ("/z/\n", "pkg/z/sub.json", 0),
        ("/z/\n", "pkg/sub.json", 1),
        ("!sub.json\n*.json\n", "pkg/sub.json", 1),
    ] {
        test_env.write("pkg/.krmignore", ignored);
        let line = format!("fn eval pkg --exec ./blue.sh --report-data {name}");
        let ran = kiln(&test_env, &line, "", code);
        let is_refused = ran.stderr.contains("it would be a resource of the package");
        assert_eq!(is_refused, code == 1, "{ignored}: {}", ran.stderr);
        let _ = fs::remove_file(test_env.work().join(name));
    }
}

#[test]
fn what_a_function_printed_until_it_was_stopped_is_reported() {
    let test_env = mutating_env();
    test_env.write_program(
        "blue.sh",
        "#!/bin/sh\necho starting >&2\nhead -c 100000 /dev/zero | tr '\\0' x >&2\nexec sleep 1000\n",
    );
    let line = format!("{RENDER} --max-output 50000");
    let ran = kiln(&test_env, &line, "", 1);
    assert!(
        ran.stderr.contains("  Stderr:\n    starting\n"),
        "{}",
        ran.stderr
    );
    let stderr = data(&test_env)["steps"][0]["stderr"].clone();
    assert!(
        stderr
            .as_str()
            .is_some_and(|text| text.starts_with("starting\n")),
        "{stderr}"
    );
    let ran = kiln(&test_env, &format!("{line} --compat kpt"), "", 1);
    assert!(!ran.stderr.contains("starting"), "{}", ran.stderr);
}
