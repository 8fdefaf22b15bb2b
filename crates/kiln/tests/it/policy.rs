//! Policies: what commands refuse, and that nothing is written then.

use std::fs;

use crate::test_environment::{Outcome, TestEnvironment, files, run};

const CATALOG: &str = "ghcr.io/kptdev/krm-functions-catalog";

/// A package with one built-in function, or another pipeline.
fn package(test_env: &TestEnvironment, pipeline: &str) {
    let kptfile = format!(
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n{pipeline}"
    );
    test_env.write("app/Kptfile", &kptfile);
    let service = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n";
    test_env.write("app/service.yaml", service);
}

const SET_NAMESPACE: &str =
    "  - image: set-namespace:v0.4.1\n    configMap:\n      namespace: prod\n";

fn policy(test_env: &TestEnvironment, text: &str) {
    test_env.write("policy.yaml", &format!("version: 1\n{text}"));
}

fn render(test_env: &TestEnvironment, arguments: &[&str]) -> Outcome {
    let render = ["fn", "render", "app", "--policy=policy.yaml"];
    test_env.kiln(&[&render, arguments].concat(), "")
}

#[track_caller]
fn refused(outcome: &Outcome, message: &str) {
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains(message), "{outcome:?}");
    assert!(outcome.stderr.contains("\nhint: "), "{outcome:?}");
}

#[test]
fn a_refused_package_does_not_change() {
    let test_env = TestEnvironment::new();
    package(&test_env, SET_NAMESPACE);
    // The function of the sub-package is allowed, and runs first.
    let inner = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: inner\npipeline:\n  mutators:\n  - image: set-labels:v0.2.0\n    configMap: {a: b}\n";
    test_env.write("app/inner/Kptfile", inner);
    policy(
        &test_env,
        &format!("default: deny\nrules:\n- match: {CATALOG}/set-labels\n"),
    );
    let before = files(&test_env.work().join("app"));
    for compat in ["--compat=kiln", "--compat=kpt"] {
        let outcome = render(&test_env, &[compat]);
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert!(
            outcome
                .stderr
                .contains("no rule matches, and the default is deny (policy.yaml:2)"),
            "{outcome:?}"
        );
        assert_eq!(files(&test_env.work().join("app")), before);
    }
    let outcome = render(&test_env, &[]);
    refused(&outcome, "set-namespace:v0.4.1");
    assert!(outcome.stderr.contains("app/Kptfile:7"), "{outcome:?}");
    policy(
        &test_env,
        &format!("default: deny\nrules:\n- match: {CATALOG}/\n  allow: [native]\n"),
    );
    let outcome = render(&test_env, &[]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_ne!(files(&test_env.work().join("app")), before);
}

/// What runs before a function that is refused could have effects outside of the package.
#[test]
fn nothing_runs_before_a_refusal() {
    let test_env = TestEnvironment::new();
    let work = test_env.work();
    test_env.write_program("mark", "#!/bin/sh\necho ran >>ran\ncat\n");
    let mark = work.join("mark").display().to_string();
    let service = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n";
    policy(&test_env, "default: deny\nexec: allow\n");
    let kptfile = |annotations: &str, pipeline: &str| {
        format!(
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n{annotations}pipeline:\n{pipeline}"
        )
    };
    let mark = format!("  - exec: {mark}\n");
    let refused_function = "  - image: set-labels:v0.2.0\n    configMap: {a: b}\n";
    let bfs = "  annotations:\n    kpt.dev/bfs-rendering: \"true\"\n";
    let mutator = format!("  mutators:\n{mark}");
    let validator = format!("{mutator}  validators:\n{refused_function}");
    let cases = [
        ("", validator.as_str(), mutator.as_str(), "app/Kptfile:9"),
        (
            "",
            mutator.as_str(),
            validator.as_str(),
            "app/a/b/Kptfile:9",
        ),
        (bfs, validator.as_str(), mutator.as_str(), "app/Kptfile:11"),
        (
            bfs,
            mutator.as_str(),
            validator.as_str(),
            "app/a/b/Kptfile:9",
        ),
    ];
    for (annotations, outer, inner, position) in cases {
        test_env.write("app/Kptfile", &kptfile(annotations, outer));
        test_env.write("app/service.yaml", service);
        test_env.write("app/a/Kptfile", &kptfile("", &mutator));
        test_env.write("app/a/service.yaml", service);
        test_env.write("app/a/b/Kptfile", &kptfile("", inner));
        test_env.write("app/a/b/service.yaml", service);
        let before = files(&work.join("app"));
        for jobs in ["--jobs=1", "--jobs=4"] {
            let outcome = render(&test_env, &["--allow-exec", "--exec-sandbox=off", jobs]);
            refused(&outcome, "the policy refuses function ");
            refused(
                &outcome,
                "no rule matches, and the default is deny (policy.yaml:2)",
            );
            assert!(outcome.stderr.contains(position), "{position}: {outcome:?}");
            assert!(!outcome.stderr.contains("mark"), "{outcome:?}");
            assert_eq!(files(&work.join("app")), before);
        }
        // kpt runs functions one by one.
        let outcome = render(
            &test_env,
            &["--allow-exec", "--exec-sandbox=off", "--compat=kpt"],
        );
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert!(outcome.stderr.contains("mark"), "{outcome:?}");
    }
}

/// A digest is required: the lock file names what runs exactly.
#[test]
fn a_locked_built_in_function_satisfies_a_rule_for_digests() {
    let test_env = TestEnvironment::new();
    package(&test_env, SET_NAMESPACE);
    policy(
        &test_env,
        &format!("default: deny\nrules:\n- match: {CATALOG}/\n  require: [digest]\n"),
    );
    let check = ["policy", "check", "app", "--policy=policy.yaml"];
    let outcome = render(&test_env, &[]);
    refused(&outcome, "requires a digest (policy.yaml:4)");
    assert!(
        outcome.stderr.contains("\nhint: run `kiln lock`"),
        "{outcome:?}"
    );
    refused(&test_env.kiln(&check, ""), "refuses 1 of 1 functions");
    let locked = test_env.kiln(&["lock", "app"], "");
    assert_eq!(locked.code, Some(0), "{locked:?}");
    let rendered = render(&test_env, &["--timings"]);
    assert_eq!(rendered.code, Some(0), "{rendered:?}");
    let identity = "= native:set-namespace@v0.4.1#";
    assert!(rendered.stderr.contains(identity), "{rendered:?}");
    let checked = test_env.kiln(&check, "");
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let line = format!("{CATALOG}/set-namespace:v0.4.1   native       rule");
    assert!(checked.stdout.contains(&line), "{checked:?}");
}

#[test]
fn a_warning_is_printed_once() {
    let test_env = TestEnvironment::new();
    package(&test_env, &SET_NAMESPACE.repeat(2));
    policy(&test_env, "default: warn\n");
    let outcome = render(&test_env, &[]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let warnings = outcome
        .stderr
        .matches("the default is warn (policy.yaml:2)");
    assert_eq!(warnings.count(), 1, "{outcome:?}");
}

#[test]
fn programs_and_scripts_are_denied() {
    let test_env = TestEnvironment::new();
    package(&test_env, "  - exec: cat\n");
    policy(&test_env, "default: allow\nexec: deny\nstarlark: deny\n");
    let outcome = render(&test_env, &["--allow-exec"]);
    refused(
        &outcome,
        "function \"cat\": programs are denied (policy.yaml:3)",
    );
    package(&test_env, "  - image: starlark:v0.4.3\n");
    let outcome = render(&test_env, &[]);
    refused(&outcome, "Starlark scripts are denied (policy.yaml:4)");
    let eval = ["fn", "eval", "app", "--policy=policy.yaml", "--exec", "cat"];
    refused(
        &test_env.kiln(&eval, ""),
        "programs are denied (policy.yaml:3)",
    );
    let run = [
        "fn",
        "run",
        "app",
        "--policy=policy.yaml",
        "--enable-exec",
        "--exec-path",
        "/bin/cat",
    ];
    refused(
        &test_env.kiln(&run, ""),
        "programs are denied (policy.yaml:3)",
    );
    let run = [
        "fn",
        "run",
        "app",
        "--policy=policy.yaml",
        "--enable-star",
        "--star-path",
        "a.star",
    ];
    refused(
        &test_env.kiln(&run, ""),
        "Starlark scripts are denied (policy.yaml:4)",
    );
}

/// As a program of its own, a built-in function stands for the image of the catalog.
#[test]
fn functions_as_programs_obey_the_policy() {
    const LIST: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n";
    let test_env = TestEnvironment::new();
    let function_run = |function: &str| {
        let kiln = env!("CARGO_BIN_EXE_kiln");
        let mut command = test_env.command(kiln, &test_env.work());
        command.args(["function", "run", function]);
        command.env("KILN_POLICY", "policy.yaml");
        run(&mut command, LIST)
    };
    policy(
        &test_env,
        &format!(
            "default: deny\nrules:\n- match: {CATALOG}/set-labels\n  allow: [native]\n- match: {CATALOG}/starlark\nstarlark: deny\n"
        ),
    );
    let allowed = function_run("set-labels:v0.2.0");
    assert!(!allowed.stderr.contains("policy"), "{allowed:?}");
    let denied = function_run("set-namespace:v0.4.1");
    refused(&denied, "the default is deny (policy.yaml:2)");
    assert_eq!(denied.stdout, "");
    for script in ["starlark", "starlark:v0.4.3"] {
        refused(
            &function_run(script),
            "Starlark scripts are denied (policy.yaml:7)",
        );
    }
    policy(&test_env, "default: maybe\n");
    refused(&function_run("set-labels:v0.2.0"), "policy.yaml:2");
}

/// What the lock file lets run, with the reason if that is nothing.
#[test]
fn check_explains_what_the_lock_file_leaves() {
    let test_env = TestEnvironment::new();
    package(&test_env, SET_NAMESPACE);
    let check = |ways: &str, native: &str, why: &str| {
        policy(
            &test_env,
            &format!("default: deny\nrules:\n- match: {CATALOG}/\n  allow: [{ways}]\n"),
        );
        let image = "set-namespace:v0.4.1";
        let lock = format!(
            "version: 1\nfunctions:\n- image: {image}\n  resolved: {CATALOG}/{image}\n  native: {native}\n"
        );
        test_env.write("app/kiln.lock", &lock);
        let checked = test_env.kiln(&["policy", "check", "app", "--policy=policy.yaml"], "");
        refused(&checked, "refuses 1 of 1 functions");
        assert!(checked.stdout.contains(why), "{checked:?}");
    };
    check(
        "image",
        "set-namespace@v0.4.1#1",
        "kiln.lock has no digest of the image",
    );
    for ways in ["native", "native, image"] {
        check(
            ways,
            "set-namespace@v0.4.1#99",
            "built-in function set-namespace@v0.4.1#99, which this kiln does not have",
        );
    }
}

#[test]
fn the_variable_and_the_file_of_the_user_apply() {
    let test_env = TestEnvironment::new();
    package(&test_env, SET_NAMESPACE);
    policy(&test_env, "default: deny\n");
    let render = |variables: &[(&str, &str)]| {
        let kiln = env!("CARGO_BIN_EXE_kiln");
        let mut command = test_env.command(kiln, &test_env.work());
        command.args(["fn", "render", "app"]);
        command.envs(variables.iter().copied());
        run(&mut command, "")
    };
    refused(
        &render(&[("KILN_POLICY", "policy.yaml")]),
        "the default is deny",
    );
    let config = test_env.work().join("config");
    fs::create_dir_all(config.join("kiln")).unwrap();
    fs::copy(
        test_env.work().join("policy.yaml"),
        config.join("kiln/policy.yaml"),
    )
    .unwrap();
    let config = config.to_str().unwrap();
    refused(
        &render(&[("XDG_CONFIG_HOME", config)]),
        "the default is deny",
    );
    // A named file replaces it.
    test_env.write("open.yaml", "version: 1\ndefault: allow\n");
    let outcome = render(&[("XDG_CONFIG_HOME", config), ("KILN_POLICY", "open.yaml")]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
}

#[test]
fn without_a_valid_policy_nothing_runs() {
    let test_env = TestEnvironment::new();
    package(&test_env, SET_NAMESPACE);
    let before = files(&test_env.work().join("app"));
    refused(&render(&test_env, &[]), "cannot read policy policy.yaml");
    policy(&test_env, "default: allow\nrulez: []\n");
    refused(
        &render(&test_env, &[]),
        "policy.yaml:3: unknown key \"rulez\"",
    );
    for (signature, message) in [
        (
            "{key: /missing/a.pub}",
            "policy.yaml:6: cannot read the key file /missing/a.pub: ",
        ),
        (
            "{identity: {issuer: a, subject: b}}",
            "policy.yaml:6: `identity` is not supported: keyless signatures cannot be verified",
        ),
    ] {
        let signed = format!(
            "default: allow\nrules:\n- match: '*'\n  require:\n  - signature: {signature}\n"
        );
        policy(&test_env, &signed);
        refused(&render(&test_env, &[]), message);
    }
    // A policy in the package is a resource like others.
    let argument = ["fn", "render", "app", "--policy=app"];
    refused(
        &test_env.kiln(&argument, ""),
        "policy app is not a regular file",
    );
    assert_eq!(files(&test_env.work().join("app")), before);
}

#[test]
fn check_shows_the_rules_that_decide() {
    let test_env = TestEnvironment::new();
    let pipeline = format!(
        "{SET_NAMESPACE}  - image: docker.io/team/fn:v1\n  - image: quay.io/x@sha256:{}\n  - exec: ./run.sh\n",
        "0".repeat(64)
    );
    package(&test_env, &pipeline);
    policy(
        &test_env,
        &format!(
            "default: warn\nrules:\n- match: {CATALOG}/\n  allow: [native]\n- match: docker.io/team/\n  allow: []\nexec: deny\n"
        ),
    );
    let check = ["policy", "check", "app", "--policy=policy.yaml"];
    let outcome = test_env.kiln(&check, "");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let lines: Vec<String> = outcome
        .stdout
        .replace(&"0".repeat(64), "DIGEST")
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let expected = [
        "PACKAGE FUNCTION MAY RUN AS DECIDED BY WHY".to_owned(),
        format!(". {CATALOG}/set-namespace:v0.4.1 native rule \"{CATALOG}/\" (policy.yaml:4)"),
        ". docker.io/team/fn:v1 refused rule \"docker.io/team/\" (policy.yaml:6) rule \"docker.io/team/\" allows no way to run it".to_owned(),
        ". quay.io/x@sha256:DIGEST wasm,remote,image,engine,pod default: warn (policy.yaml:2) no rule matches: it runs with a warning".to_owned(),
        ". ./run.sh refused exec: deny (policy.yaml:8) programs are denied".to_owned(),
    ];
    assert_eq!(lines, expected);
    assert!(
        outcome
            .stderr
            .starts_with("error: the policy refuses 2 of 4 functions\nhint: "),
        "{outcome:?}"
    );
    let json = test_env.kiln(&[&check[..], &["-o", "json"]].concat(), "");
    assert!(json.stdout.contains("\"isRefused\": true"), "{json:?}");
}
