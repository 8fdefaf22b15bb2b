//! `--report` and `--report-data` of `fn render` and `fn eval`.

use std::fs;

use serde_json::Value;

use crate::test_environment::{Outcome, TestEnvironment};

const CONFIG_MAP: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  color: red\n";

fn test_env() -> TestEnvironment {
    let test_env = TestEnvironment::new();
    test_env.write(
        "pkg/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n    - exec: ./blue.sh\n",
    );
    test_env.write("pkg/a.yaml", CONFIG_MAP);
    test_env.write_program("blue.sh", "#!/bin/sh\nsed 's/color: red/color: blue/'\n");
    test_env.write_program(
        "bad.sh",
        "#!/bin/sh\ncat >/dev/null\necho oops >&2\nexit 3\n",
    );
    test_env
}

fn read(test_env: &TestEnvironment, name: &str) -> String {
    let path = test_env.work().join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn data(test_env: &TestEnvironment, name: &str) -> Value {
    serde_json::from_str(&read(test_env, name)).expect("JSON")
}

#[track_caller]
fn succeeds(ran: &Outcome) {
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// The flags for a report in each format.
const ALL: [&str; 14] = [
    "--report",
    "r.html",
    "--report",
    "r.md",
    "--report",
    "r.sarif",
    "--report",
    "r.junit.xml",
    "--report",
    "r.trace.json",
    "--report",
    "r.codequality.json",
    "--report-data",
    "data",
];

#[track_caller]
fn check_all_formats(test_env: &TestEnvironment, action: &str) {
    assert!(read(test_env, "r.html").starts_with("<!DOCTYPE html>"));
    assert!(read(test_env, "r.md").starts_with("## "));
    assert_eq!(data(test_env, "r.sarif")["version"], "2.1.0");
    assert!(read(test_env, "r.junit.xml").starts_with("<?xml"));
    assert!(data(test_env, "r.trace.json")["traceEvents"].is_array());
    assert!(data(test_env, "r.codequality.json").is_array());
    let data = data(test_env, "data");
    assert_eq!(data["action"], action);
    assert_eq!(data["verdict"], "passed");
    assert_eq!(data["package"], "pkg");
    assert_eq!(data["directory"], "pkg");
    let [step] = &data["steps"].as_array().expect("steps")[..] else {
        panic!("{data:#}");
    };
    assert!(
        step["function"].as_str().unwrap().ends_with("blue.sh"),
        "{step:#}"
    );
    assert_eq!(step["status"], "passed");
    let files = data["files"].as_array().expect("files");
    let changed = files.iter().find(|file| file["path"] == "a.yaml");
    let diff = changed.expect("the changed file")["diff"].as_str().unwrap();
    assert!(diff.contains("-  color: red\n+  color: blue\n"), "{data:#}");
    let touched = &data["resources"][0];
    assert_eq!(
        (&touched["kind"], &touched["name"], &touched["file"]),
        (&"ConfigMap".into(), &"a".into(), &"a.yaml".into())
    );
    let left = fs::read_dir(test_env.work()).expect("a directory");
    let hidden = left.filter(|entry| {
        let name = entry.as_ref().expect("an entry").file_name();
        name.to_string_lossy().starts_with('.')
    });
    assert_eq!(hidden.count(), 0, "temporary files are left");
}

#[test]
fn a_render_is_reported_in_every_format() {
    let test_env = test_env();
    let args = [&["fn", "render", "pkg", "--allow-exec"][..], &ALL].concat();
    succeeds(&test_env.kiln(&args, ""));
    check_all_formats(&test_env, "render");
}

#[test]
fn an_eval_is_reported_in_every_format() {
    let test_env = test_env();
    let args = [&["fn", "eval", "pkg", "--exec", "./blue.sh"][..], &ALL].concat();
    succeeds(&test_env.kiln(&args, ""));
    check_all_formats(&test_env, "eval");
}

#[test]
fn an_eval_that_fails_is_reported() {
    let test_env = test_env();
    let args = [
        "fn",
        "eval",
        "pkg",
        "--exec",
        "./bad.sh",
        "--report",
        "r.html",
        "--report-data",
        "data",
    ];
    let ran = test_env.kiln(&args, "");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let data = data(&test_env, "data");
    assert_eq!(data["verdict"], "failed");
    assert_eq!(data["steps"][0]["exitCode"], 3, "{data:#}");
    assert_eq!(data["steps"][0]["stderr"], "oops\n");
    assert_eq!(data["files"], Value::Array(Vec::new()));
    assert!(read(&test_env, "r.html").contains("oops"));
    assert_eq!(read(&test_env, "pkg/a.yaml"), CONFIG_MAP);
}

#[test]
fn a_render_that_fails_is_reported_in_every_format() {
    let test_env = test_env();
    test_env.write_program(
        "blue.sh",
        "#!/bin/sh\ncat >/dev/null\necho oops >&2\nexit 3\n",
    );
    let args = [&["fn", "render", "pkg", "--allow-exec"][..], &ALL].concat();
    let ran = test_env.kiln(&args, "");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let data = data(&test_env, "data");
    assert_eq!(data["verdict"], "failed");
    assert_eq!(data["steps"][0]["exitCode"], 3, "{data:#}");
    for name in ["r.html", "r.md", "r.sarif", "r.junit.xml"] {
        let text = read(&test_env, name);
        assert!(
            text.contains("oops") || text.contains("exit code 3"),
            "{name}: {text}"
        );
    }
    assert!(read(&test_env, "r.trace.json").contains("blue.sh"));
}

#[test]
fn a_package_that_cannot_be_read_is_reported() {
    let test_env = test_env();
    test_env.write("pkg/broken.yaml", "a: [1\nb: 2\n");
    let args = [
        "fn",
        "eval",
        "pkg",
        "--exec",
        "./blue.sh",
        "--report-data",
        "data",
    ];
    let ran = test_env.kiln(&args, "");
    assert_ne!(ran.code, Some(0));
    let data = data(&test_env, "data");
    assert_eq!(data["verdict"], "failed");
    let problem = &data["problems"][0];
    assert_eq!(problem["severity"], "error", "{data:#}");
    assert!(problem.to_string().contains("broken.yaml"), "{problem}");
}

#[test]
fn an_eval_of_standard_input_is_reported() {
    let test_env = test_env();
    let list = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {}",
        CONFIG_MAP.trim_end().replace('\n', "\n  ")
    );
    let args = [
        "fn",
        "eval",
        "-",
        "--exec",
        "./blue.sh",
        "--report-data",
        "data",
    ];
    let ran = test_env.kiln(&args, &list);
    succeeds(&ran);
    assert!(ran.stdout.contains("color: blue"), "{}", ran.stdout);
    let data = data(&test_env, "data");
    assert_eq!(
        (&data["verdict"], &data["directory"]),
        (&"passed".into(), &"-".into())
    );
    assert_eq!(data["steps"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_report_of_an_eval_has_no_secret() {
    let test_env = test_env();
    test_env.write(
        "pkg/secret.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  password: hunter2-red\n",
    );
    test_env.write_program(
        "leak.sh",
        "#!/bin/sh\nsed 's/hunter2-red/hunter2-blue/'\necho the password is hunter2-blue >&2\n",
    );
    let args = [
        "fn",
        "eval",
        "pkg",
        "--exec",
        "./leak.sh",
        "--report",
        "r.html",
        "--report-data",
        "data",
    ];
    succeeds(&test_env.kiln(&args, ""));
    for name in ["r.html", "data"] {
        let text = read(&test_env, name);
        assert!(!text.contains("hunter2"), "{name}: {text}");
    }
}

const SECRET: &str =
    "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  password: hunter2-red\n";

/// A function that changes nothing and prints the values of Secrets.
const LEAK: &str = "#!/bin/sh\ninput=$(cat)\nprintf '%s\\n' \"$input\"\necho \"$input\" | grep password: >&2\nexit $(cat code)\n";

/// Checks that no report contains a value.
#[track_caller]
fn check_has_no_secret(test_env: &TestEnvironment, args: &[&str], input: &str, code: i32) {
    let args = [args, &["--log-format", "github"], &ALL].concat();
    let ran = test_env.kiln(&args, input);
    assert_eq!(ran.code, Some(code), "{}", ran.stderr);
    let names = [
        "r.html",
        "r.md",
        "r.sarif",
        "r.junit.xml",
        "r.trace.json",
        "r.codequality.json",
        "data",
    ];
    for name in names {
        let text = read(test_env, name);
        assert!(!text.contains("hunter2"), "{name}: {text}");
    }
    let annotations = ran
        .stderr
        .lines()
        .filter(|line| line.starts_with("::error"));
    for line in annotations {
        assert!(!line.contains("hunter2"), "{line}");
    }
}

#[test]
fn secrets_that_did_not_change_are_not_reported() {
    for (code, ended) in [("0", 0), ("3", 1)] {
        let test_env = test_env();
        test_env.write("pkg/secret.yaml", SECRET);
        test_env.write_program("blue.sh", LEAK);
        test_env.write("code", code);
        let render = ["fn", "render", "pkg", "--allow-exec"];
        check_has_no_secret(&test_env, &render, "", ended);
        let leaked = &data(&test_env, "data")["steps"][0]["stderr"];
        assert_eq!(*leaked, "    password: (secret)\n");
        let eval = ["fn", "eval", "pkg", "--exec", "./blue.sh"];
        check_has_no_secret(&test_env, &eval, "", ended);
        let list = format!(
            "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {}",
            SECRET.trim_end().replace('\n', "\n  ")
        );
        let eval = ["fn", "eval", "-", "--exec", "./blue.sh"];
        check_has_no_secret(&test_env, &eval, &list, ended);
    }
}

#[test]
fn secrets_that_a_function_made_are_not_reported_when_the_next_one_fails() {
    let test_env = test_env();
    test_env.write(
        "pkg/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n    - exec: ./make.sh\n    - exec: ./leak.sh\n",
    );
    test_env.write("code", "3");
    test_env.write_program("leak.sh", LEAK);
    let made = SECRET.trim_end().replace('\n', "\n    ");
    test_env.write_program(
        "make.sh",
        &format!("#!/bin/sh\ncat >/dev/null\ncat <<'E'\napiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n  - {made}\nE\n"),
    );
    check_has_no_secret(&test_env, &["fn", "render", "pkg", "--allow-exec"], "", 1);
    let data = data(&test_env, "data");
    assert!(
        data["steps"][1]["stderr"].to_string().contains("(secret)"),
        "{data:#}"
    );
    // The step that failed changed nothing.
    assert_eq!(
        data["steps"][1]["touched"],
        Value::Array(Vec::new()),
        "{data:#}"
    );
}

#[test]
fn a_secret_that_cannot_be_parsed_is_not_reported() {
    let test_env = test_env();
    test_env.write(
        "pkg/secret.yaml",
        &format!("{SECRET}  other: \"hunter2-blue\n"),
    );
    for args in [
        &["fn", "render", "pkg", "--allow-exec"][..],
        &["fn", "eval", "pkg", "--exec", "./blue.sh"],
    ] {
        check_has_no_secret(&test_env, args, "", 1);
    }
    let input = format!("{SECRET}  other: \"hunter2-blue\n");
    check_has_no_secret(
        &test_env,
        &["fn", "eval", "-", "--exec", "./blue.sh"],
        &input,
        1,
    );
}

#[test]
fn arguments_of_functions_are_not_reported() {
    let test_env = test_env();
    let args = [
        "fn",
        "eval",
        "pkg",
        "--exec",
        "./blue.sh",
        "--report-data",
        "data",
    ];
    succeeds(&test_env.kiln(&[&args[..], &["--", "password=hunter2"]].concat(), ""));
    let text = read(&test_env, "data");
    assert!(
        !text.contains("hunter2") && text.contains("password=(secret)"),
        "{text}"
    );
}

#[test]
fn problems_name_the_file_from_where_the_command_ran() {
    let test_env = test_env();
    test_env.write_program("blue.sh", "#!/bin/sh\ncat >/dev/null\nexit 3\n");
    let directory = test_env.work().join("pkg").display().to_string();
    let file_uri = format!("file://{directory}/Kptfile");
    for (named, uri, file) in [
        ("pkg", "pkg/Kptfile", "pkg/Kptfile"),
        ("./pkg/", "pkg/Kptfile", "pkg/Kptfile"),
        (
            directory.as_str(),
            &file_uri,
            &format!("{directory}/Kptfile"),
        ),
    ] {
        let flags = ["--log-format", "github", "--report", "r.sarif"];
        let args = [&["fn", "render", named, "--allow-exec"], &flags[..]].concat();
        let ran = test_env.kiln(&args, "");
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        let sarif = data(&test_env, "r.sarif");
        let results = sarif["runs"][0]["results"].as_array().expect("results");
        let places: Vec<&Value> = results
            .iter()
            .filter_map(|result| result["locations"].get(0))
            .collect();
        let [place] = places[..] else {
            panic!("{sarif:#}")
        };
        let place = &place["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], uri);
        assert_eq!(place["region"]["startLine"], 7, "{sarif:#}");
        let wanted = format!("::error file={file},line=7,");
        assert!(ran.stderr.contains(&wanted), "{named}: {}", ran.stderr);
    }
}

#[test]
fn an_unknown_format_is_refused_before_anything_runs() {
    let test_env = test_env();
    for args in [
        &[
            "fn",
            "eval",
            "pkg",
            "--exec",
            "./blue.sh",
            "--report",
            "r.pdf",
        ][..],
        &["fn", "render", "pkg", "--allow-exec", "--report", "r.pdf"],
    ] {
        let ran = test_env.kiln(args, "");
        assert_ne!(ran.code, Some(0));
        let text = ran.stderr.as_str();
        assert!(
            text.contains("the format of the report \"r.pdf\" is unknown"),
            "{text}"
        );
        assert!(text.contains("hint: use a name that ends in "), "{text}");
        assert_eq!(read(&test_env, "pkg/a.yaml"), CONFIG_MAP);
    }
}

#[test]
fn a_report_that_cannot_be_written_fails_the_command() {
    let test_env = test_env();
    let args = [
        "fn",
        "eval",
        "pkg",
        "--exec",
        "./blue.sh",
        "--report",
        "missing/r.html",
    ];
    let ran = test_env.kiln(&args, "");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("cannot write the report missing/r.html"),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_error_of_a_function_and_its_place_are_one_problem() {
    let test_env = test_env();
    test_env.write_program(
        "blue.sh",
        "#!/bin/sh\ncat >/dev/null\necho oops >&2\nexit 3\n",
    );
    let args = [
        "fn",
        "render",
        "pkg",
        "--allow-exec",
        "--report-data",
        "data",
    ];
    let ran = test_env.kiln(&args, "");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let data = data(&test_env, "data");
    let [problem] = &data["problems"].as_array().expect("problems")[..] else {
        panic!("{data:#}");
    };
    assert_eq!(problem["message"], "function failed: exit status 3: oops");
    assert_eq!(
        (&problem["file"], &problem["step"]),
        (&"Kptfile".into(), &0.into())
    );
    assert!(problem["line"].is_number(), "{problem:#}");
}

#[test]
fn a_link_stays_and_its_target_is_replaced() {
    let test_env = test_env();
    test_env.write("real.html", "old");
    std::os::unix::fs::symlink("real.html", test_env.work().join("link.html")).expect("a link");
    let args = [
        "fn",
        "eval",
        "pkg",
        "--exec",
        "./blue.sh",
        "--report",
        "link.html",
    ];
    succeeds(&test_env.kiln(&args, ""));
    let link = fs::symlink_metadata(test_env.work().join("link.html")).expect("the link");
    assert!(link.is_symlink());
    assert!(read(&test_env, "real.html").starts_with("<!DOCTYPE html>"));
}

#[test]
fn two_reports_have_two_names() {
    let test_env = test_env();
    let render = ["fn", "render", "pkg", "--allow-exec"];
    for (flags, problem) in [
        (
            &["--report", "r.html", "--report", "r.html"][..],
            "`--report r.html` would replace another report",
        ),
        (
            &["--report", "r.json", "--report-data", "r.json"],
            "`--report-data r.json` would replace another report",
        ),
        (
            &["--report-data", "-", "--dry-run"],
            "`--report-data -` prints to standard output",
        ),
    ] {
        let ran = test_env.kiln(&[&render[..], flags].concat(), "");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{flags:?}");
        assert!(ran.stderr.contains(problem), "{}", ran.stderr);
        assert_eq!(read(&test_env, "pkg/a.yaml"), CONFIG_MAP);
    }
}

#[test]
fn a_lock_file_that_does_not_fit_is_reported() {
    let test_env = test_env();
    test_env.write(
        "pkg/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n    \
         - image: set-namespace:v0.4.1\n      configMap: {namespace: x}\n",
    );
    let args = ["fn", "render", "pkg", "--locked", "--report-data", "r.json"];
    let ran = test_env.kiln(&args, "");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let report = data(&test_env, "r.json");
    assert_eq!(report["verdict"], "failed", "{report:#}");
    let problem = report["problems"][0].to_string();
    assert!(problem.contains("kiln.lock"), "{problem}");
}

#[test]
fn a_report_can_go_to_a_pipe() {
    let test_env = test_env();
    let pipe = "/proc/self/fd/1";
    let args = [
        "fn",
        "eval",
        "pkg",
        "--exec",
        "./blue.sh",
        "--report-data",
        pipe,
    ];
    let ran = test_env.kiln(&args, "");
    succeeds(&ran);
    let data: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(data["verdict"], "passed");
}

#[test]
fn a_report_and_a_result_do_not_share_standard_output() {
    let test_env = test_env();
    for args in [
        &[
            "fn",
            "render",
            "pkg",
            "--allow-exec",
            "--dry-run",
            "--report",
            "-",
        ][..],
        &[
            "fn",
            "render",
            "pkg",
            "--allow-exec",
            "-o",
            "stdout",
            "--report",
            "-",
        ],
        &[
            "fn",
            "eval",
            "pkg",
            "--exec",
            "./blue.sh",
            "-o",
            "unwrap",
            "--report",
            "-",
        ],
        &["fn", "eval", "-", "--exec", "./blue.sh", "--report", "-"],
    ] {
        let ran = test_env.kiln(args, "");
        assert_ne!(ran.code, Some(0), "{args:?}");
        assert_eq!(ran.stdout, "");
        assert!(
            ran.stderr
                .contains("`--report -` prints to standard output"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn a_report_does_not_become_a_resource() {
    let test_env = test_env();
    for command in [
        &["fn", "render", "pkg", "--allow-exec"][..],
        &["fn", "eval", "pkg", "--exec", "./blue.sh"],
    ] {
        let ran = test_env.kiln(&[command, &["--report-data", "pkg/data.json"]].concat(), "");
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        let text = "cannot write the report pkg/data.json: it would be a resource of the package";
        assert!(ran.stderr.contains(text), "{}", ran.stderr);
        assert_eq!(read(&test_env, "pkg/a.yaml"), CONFIG_MAP, "nothing ran");
    }
    let args = [
        "fn",
        "eval",
        "pkg",
        "--exec",
        "./blue.sh",
        "--report",
        "pkg/r.html",
    ];
    succeeds(&test_env.kiln(&args, ""));
    test_env.write("pkg/.krmignore", "*.json\n");
    let args = [
        "fn",
        "eval",
        "pkg",
        "--exec",
        "./blue.sh",
        "--report",
        "pkg/r.json",
    ];
    succeeds(&test_env.kiln(&args, ""));
}

#[test]
fn the_declaration_of_each_step_is_reported() {
    let test_env = test_env();
    test_env.write(
        "pkg/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n    - image: set-labels:v0.2.0\n      name: labels\n      configMap:\n        app: web\n      selectors:\n        - kind: ConfigMap\n",
    );
    let args = ["fn", "render", "pkg", "--lock", "--report-data", "data"];
    succeeds(&test_env.kiln(&args, ""));
    let first = data(&test_env, "data");
    let step = &first["steps"][0];
    assert_eq!(step["name"], "labels", "{step:#}");
    assert_eq!(step["config"], "app: web\n");
    assert_eq!(step["selectors"][0], "kind=ConfigMap");
    assert_eq!(step["position"]["count"], 1);
    let command = step["command"].as_str().expect("a command");
    assert!(
        command.starts_with("kiln fn eval pkg --image "),
        "{command}"
    );
    assert!(
        command.ends_with(" --match-kind ConfigMap -- app=web"),
        "{command}"
    );
    assert_eq!(first["lock"]["state"], "updated");
    succeeds(&test_env.kiln(&["fn", "render", "pkg", "--report-data", "data"], ""));
    let second = data(&test_env, "data");
    assert_eq!(second["lock"]["state"], "complete");
    assert_eq!(second["lock"]["sha256"], first["lock"]["sha256"]);
}

#[test]
fn the_values_of_arguments_are_not_in_the_configuration_of_a_report() {
    let test_env = test_env();
    let args = [
        "fn",
        "eval",
        "pkg",
        "--exec",
        "./blue.sh",
        "--report-data",
        "data",
        "--",
        "pin=123",
    ];
    succeeds(&test_env.kiln(&args, ""));
    assert_eq!(
        data(&test_env, "data")["steps"][0]["config"],
        "pin: (secret)\n"
    );
}
