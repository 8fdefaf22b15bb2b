//! Values of Secrets, and of what is marked as secret, do not reach logs, errors, results or the status of packages.

use std::fs;

use crate::test_environment::{Outcome, TestEnvironment, files};

const SECRET: &str =
    "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\nstringData:\n  password: hunter2-text\n";
const MARKED: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  annotations:\n    kiln.dev/secret: \"true\"\ndata:\n  token: hunter2-token\n";

/// A package whose function prints all values, and reports them. With `ending`, the script fails after that.
fn package(ending: &str) -> TestEnvironment {
    let env = TestEnvironment::new();
    let script = format!(
        "\
apiVersion: fn.kpt.dev/v1alpha1
kind: StarlarkRun
metadata:
  name: script
source: |
  def show(items):
    for item in items:
      for value in item.get('stringData', {{}}).values() + item.get('data', {{}}).values():
        print('value ' + value)
        {ending}
  show(ctx.resource_list['items'])
"
    );
    env.write("script.yaml", &script);
    env.write("pkg/script.yaml", &script);
    env.write("pkg/secret.yaml", SECRET);
    env.write("pkg/settings.yaml", MARKED);
    env.write(
        "pkg/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  validators:\n  - image: starlark:v0.4.3\n    configPath: script.yaml\n",
    );
    env
}

#[track_caller]
fn check_hidden(outcome: &Outcome) {
    let Outcome { stdout, stderr, .. } = outcome;
    assert!(stderr.contains("(secret)"), "{stderr}");
    assert!(!stdout.contains("hunter2"), "{stdout}");
    assert!(!stderr.contains("hunter2"), "{stderr}");
}

/// No file of the package but those of the values themselves has one.
#[track_caller]
fn check_files(env: &TestEnvironment) {
    let mut written = files(&env.work());
    written.retain(|path, _| !path.ends_with("secret.yaml") && !path.ends_with("settings.yaml"));
    for (path, content) in written {
        assert!(!content.contains("hunter2"), "{path}: {content}");
    }
}

#[test]
fn logs_results_and_status_show_no_values() {
    for (ending, code) in [("pass", 0), ("fail('bad ' + value)", 1)] {
        let env = package(ending);
        for flags in [
            &[][..],
            &["--log-format=json"],
            &["--results-dir=results"],
            &["--timings"],
            // Two are the same: a render that changes nothing is not repeated, and its output is.
            &["--timings"],
        ] {
            let outcome = env.kiln(&[&["fn", "render", "pkg"], flags].concat(), "");
            assert_eq!(outcome.code, Some(code), "{outcome:?}");
            check_hidden(&outcome);
            check_files(&env);
        }
        let status = fs::read_to_string(env.work().join("pkg/Kptfile")).unwrap();
        assert!(status.contains("value (secret)"), "{status}");
        let results = fs::read_to_string(env.work().join("results/results.yaml")).unwrap();
        assert!(results.contains("value (secret)"), "{results}");
        let eval = ["fn", "eval", "pkg", "--image=starlark:v0.4.3"];
        let eval = env.kiln(&[&eval[..], &["--fn-config=script.yaml"]].concat(), "");
        assert_eq!(eval.code, Some(code), "{eval:?}");
        check_hidden(&eval);
        // kpt shows them.
        let kpt = env.kiln(&["fn", "render", "pkg", "--compat=kpt"], "");
        assert!(kpt.stderr.contains("value hunter2-text"), "{kpt:?}");
    }
}

#[test]
fn a_program_that_prints_its_input_shows_no_values() {
    let env = package("pass");
    env.write_program("show", "#!/bin/sh\ncat >&2\nexit 3\n");
    let path = env.work().join("show").display().to_string();
    let outcome = env.kiln(&["fn", "eval", "pkg", "--exec", &path], "");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    check_hidden(&outcome);
    check_files(&env);
}

#[test]
fn no_text_of_a_result_shows_a_value() {
    let env = package("pass");
    let results = "results:
- message: in all texts
  severity: hunter2-text
  resourceRef: {apiVersion: hunter2-text, kind: hunter2-text, name: hunter2-text, namespace: hunter2-text}
  field: {path: data.hunter2-text, currentValue: hunter2-text}
  file: {path: hunter2-text.yaml}
  tags: {hunter2-text: aHVudGVyMi10ZXh0}
";
    env.write("results.yaml", results);
    let path = env.work().join("results.yaml").display().to_string();
    env.write_program("report", &format!("#!/bin/sh\ncat\ncat {path}\n"));
    fs::create_dir(env.work().join("out")).unwrap();
    let program = env.work().join("report").display().to_string();
    let eval = [
        "fn",
        "eval",
        "pkg",
        "--exec-sandbox=off",
        "--results-dir=out",
        "--exec",
        &program,
    ];
    let outcome = env.kiln(&eval, "");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    check_hidden(&outcome);
    let written = fs::read_to_string(env.work().join("out/results.yaml")).unwrap();
    for hidden in ["hunter2", "aHVudGVy"] {
        assert!(!written.contains(hidden), "{written}");
    }
}

/// They quote annotations that the function set.
#[test]
fn errors_after_a_function_show_no_values() {
    // The index matters in a file with several resources.
    for (annotation, old, value) in [
        ("index", ".0.", "hunter2-text"),
        ("index", ".*", "hunter2-text"),
        ("path", ".*", "../hunter2-text"),
        ("package-path", ".*", "hunter2-text"),
    ] {
        let env = package("pass");
        let other = MARKED.replace("settings", "other");
        env.write("pkg/settings.yaml", &format!("{MARKED}---\n{other}"));
        let script = format!("#!/bin/sh\nsed 's#\\(io/{annotation}\\): {old}#\\1: {value}#'\n");
        env.write_program("set", &script);
        let program = env.work().join("set").display().to_string();
        let kptfile = format!(
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n  - exec: {program}\n"
        );
        env.write("pkg/Kptfile", &kptfile);
        let eval = format!("fn eval pkg --exec-sandbox=off --exec {program}");
        for words in ["fn render pkg --allow-exec --exec-sandbox=off", &eval] {
            // Only renders of packages set it.
            if annotation == "package-path" && words == eval {
                continue;
            }
            let words: Vec<&str> = words.split(' ').collect();
            let outcome = env.kiln(&words, "");
            assert_eq!(outcome.code, Some(1), "{annotation}: {outcome:?}");
            check_hidden(&outcome);
            check_status(&env);
        }
    }
}

#[test]
fn errors_about_malformed_secrets_show_no_line() {
    for broken in [
        "hunter2-text: more",
        "*hunter2-text",
        "x\n---hunter2-text\n",
        "[*hunter2-text]",
    ] {
        let env = package("pass");
        let broken = SECRET.replace("hunter2-text", broken);
        env.write("pkg/secret.yaml", &broken);
        for command in ["render", "eval", "source"] {
            let mut args = vec!["fn", command, "pkg"];
            if command == "eval" {
                args.push("--image=starlark:v0.4.3");
            }
            let outcome = env.kiln(&args, "");
            assert_eq!(outcome.code, Some(1), "{outcome:?}");
            assert!(outcome.stderr.contains("pkg/secret.yaml"), "{outcome:?}");
            assert!(!outcome.stderr.contains("hunter2"), "{outcome:?}");
            check_status(&env);
        }
    }
}

/// The status of the package has no value.
#[track_caller]
fn check_status(env: &TestEnvironment) {
    let kptfile = fs::read_to_string(env.work().join("pkg/Kptfile")).unwrap();
    assert!(!kptfile.contains("hunter2"), "{kptfile}");
}
