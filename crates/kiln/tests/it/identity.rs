//! What exactly ran: the same identity in timings, logs, results and reports.

use crate::runner::Running;
use crate::test_environment::TestEnvironment;

const RESOURCE: &str =
    "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app\nspec:\n  replicas: 1\n";

/// A package with one function.
fn package(test_env: &TestEnvironment, function: &str) {
    let kptfile = format!(
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n  - {function}\n"
    );
    test_env.write("pkg/Kptfile", &kptfile);
    test_env.write("pkg/app.yaml", RESOURCE);
}

/// Renders in every way that names the identity, and checks that it is there.
fn check(test_env: &TestEnvironment, flags: &str, identity: &str) {
    let script = format!(
        "kiln fn render pkg {flags} --timings 2>timings
         kiln fn render pkg {flags} --log-format json 2>log
         kiln fn render pkg {flags} --results-dir results --report-data report.json 2>text
         kiln fn render pkg {flags} --compat=kpt --results-dir kpt-results 2>kpt"
    );
    let done = test_env.shell(&test_env.work(), &script, &[]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let text = |name: &str| std::fs::read_to_string(test_env.work().join(name)).expect(name);
    for (file, line) in [
        ("timings", format!(" = {identity}")),
        ("log", format!("\"identity\":\"{identity}\"")),
        (
            "results/results.yaml",
            format!("    identity: {identity}\n"),
        ),
        ("report.json", format!("\"identity\": \"{identity}\"")),
    ] {
        let found = text(file);
        let is_there = found.contains(&line) || found.contains(&line.replace("\": \"", "\":\""));
        assert!(is_there, "{file} without {line}:\n{found}");
    }
    for file in ["text", "kpt", "kpt-results/results.yaml", "pkg/Kptfile"] {
        let found = text(file);
        assert!(!found.contains("identity"), "{file}:\n{found}");
    }
}

#[test]
fn built_in_functions_name_their_release() {
    let test_env = TestEnvironment::new();
    package(
        &test_env,
        "{image: 'gcr.io/kpt-fn/set-namespace:v0.4', configMap: {namespace: prod}}",
    );
    check(&test_env, "", "native:set-namespace@v0.4.5#1");
}

#[test]
fn programs_have_the_digest_of_their_file() {
    let test_env = TestEnvironment::new();
    package(&test_env, "exec: ./same.sh");
    test_env.write_program("same.sh", "#!/bin/sh\ncat\n");
    let sum = test_env.shell(&test_env.work(), "sha256sum <same.sh", &[]);
    let hex = sum.stdout.split(' ').next().expect("a digest");
    check(&test_env, "--allow-exec", &format!("exec:sha256:{hex}"));
}

#[test]
fn an_engine_names_the_digest_that_it_pulled() {
    let test_env = TestEnvironment::new();
    package(&test_env, "image: example.com/team/fn:v1");
    let digest = format!("sha256:{}", "1".repeat(64));
    let engine = format!(
        "#!/bin/sh\ncase \"$1 $2\" in\n'image inspect') echo example.com/team/fn@{digest};;\nrun*) exec cat;;\n*) echo 24.0.0;;\nesac\n"
    );
    test_env.write_program("docker", &engine);
    let linked = test_env.shell(&test_env.work(), "mv docker ../bin/docker", &[]);
    assert_eq!(linked.code, Some(0), "{linked:?}");
    let identity = format!("image:example.com/team/fn@{digest}");
    check(&test_env, "--image-runtime docker", &identity);
}

#[test]
fn a_runner_reports_what_it_ran() {
    let (test_env, runner) = (TestEnvironment::new(), Running::named("runner"));
    package(&test_env, "image: example.com/three:v1");
    let flags = format!("--runner {}", runner.address);
    check(&test_env, &flags, "image:example.com/three@sha256:3");
}
