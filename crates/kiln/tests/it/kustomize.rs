//! The real kustomize with kiln as its container engine, and with kiln's functions as programs.
//!
//! The variable `KILN_TEST_KUSTOMIZE` names kustomize, and `tests/kustomize/up` builds it; without it these tests look on
//! the PATH, and are skipped if it is not there either.

use std::path::PathBuf;
use std::process::Command;

use crate::faults::skip;
use crate::test_environment::{Outcome, TestEnvironment, run};

const RESOURCE: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  value: old\n";

/// A kustomization, and a `docker` that is kiln.
struct Kustomization {
    test_env: TestEnvironment,
    kustomize: PathBuf,
}

fn find_kustomize() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("KILN_TEST_KUSTOMIZE").filter(|it| !it.is_empty()) {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join("kustomize"))
        .find(|program| program.is_file())
}

impl Kustomization {
    /// `field` is `transformers`, `generators` or `validators`; `functions` are files in it.
    fn new(test: &str, field: &str, functions: &[(&str, String)]) -> Option<Kustomization> {
        let Some(kustomize) = find_kustomize() else {
            skip(
                test,
                "KILN_TEST_KUSTOMIZE is not set, see tests/kustomize/up",
            );
            return None;
        };
        let test_env = TestEnvironment::new();
        let installed = test_env.kiln(&["function", "install", "--docker", "links"], "");
        assert_eq!(installed.code, Some(0), "{}", installed.stderr);
        test_env.write("app/a.yaml", RESOURCE);
        let mut kustomization = format!("resources:\n- a.yaml\n{field}:\n");
        for (name, content) in functions {
            kustomization.push_str(&format!("- {name}\n"));
            test_env.write(&format!("app/{name}"), content);
        }
        test_env.write("app/kustomization.yaml", &kustomization);
        Some(Kustomization {
            test_env,
            kustomize,
        })
    }

    fn command(&self) -> Command {
        let program = self.kustomize.display().to_string();
        let mut command = self.test_env.command(&program, &self.test_env.work());
        let links = self.test_env.work().join("links");
        let path = std::env::join_paths([links, self.test_env.bin()]).expect("a path");
        command
            .args(["build", "--enable-alpha-plugins", "app"])
            .env("PATH", path);
        command
    }

    fn build(&self) -> Outcome {
        run(&mut self.command(), "")
    }
}

/// The configuration of a function with its container.
fn container(image: &str, more: &str, config: &str) -> String {
    function(&format!("container:\n  image: {image}\n{more}"), config)
}

fn function(runtime: &str, config: &str) -> String {
    let runtime = runtime.trim_end().replace('\n', "\n      ");
    let (head, rest) = config.split_once("metadata:\n").expect("metadata");
    format!(
        "{head}metadata:\n  annotations:\n    config.kubernetes.io/function: |\n      {runtime}\n{rest}"
    )
}

const LABELS: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: labels\ndata:\n  env: prod\n";

fn starlark(source: &str) -> String {
    let source = source.replace('\n', "\n  ");
    format!(
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: script\nsource: |\n  {source}\n"
    )
}

const SET_LABELS: &str = "gcr.io/kpt-fn/set-labels:v0.2.0";
const STARLARK: &str = "gcr.io/kpt-fn/starlark:v0.4.3";

const LABELLED: &str = "apiVersion: v1
data:
  value: old
kind: ConfigMap
metadata:
  labels:
    env: prod
  name: a
";

#[test]
fn a_transformer_runs_without_an_engine() {
    let functions = [("labels.yaml", container(SET_LABELS, "", LABELS))];
    let Some(made) = Kustomization::new("transformer", "transformers", &functions) else {
        return;
    };
    let built = made.build();
    assert_eq!(
        (built.code, built.stdout.as_str()),
        (Some(0), LABELLED),
        "{}",
        built.stderr
    );
}

#[test]
fn two_transformers_run_one_after_the_other() {
    let source = "for resource in ctx.resource_list['items']:\n  resource['data']['labels'] = str(resource['metadata']['labels']['env'])";
    let functions = [
        ("labels.yaml", container(SET_LABELS, "", LABELS)),
        ("script.yaml", container(STARLARK, "", &starlark(source))),
    ];
    let Some(made) = Kustomization::new("two", "transformers", &functions) else {
        return;
    };
    let built = made.build();
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    assert!(built.stdout.contains("labels: prod"), "{}", built.stdout);
}

#[test]
fn a_generator_and_its_variables() {
    let source = "ctx.resource_list['items'].append({'apiVersion': 'v1', 'kind': 'ConfigMap', \
                  'metadata': {'name': 'made'}, 'data': {'mode': ctx.environment['MODE'], 'token': ctx.environment['TOKEN']}})";
    let more = "  envs:\n  - MODE=fast\n  - TOKEN\n";
    let functions = [("made.yaml", container(STARLARK, more, &starlark(source)))];
    let Some(made) = Kustomization::new("generator", "generators", &functions) else {
        return;
    };
    let built = run(made.command().env("TOKEN", "secret"), "");
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    assert!(
        built.stdout.contains("mode: fast\n  token: secret"),
        "{}",
        built.stdout
    );
}

#[test]
fn a_validator_that_fails_fails_the_build() {
    let source = "fail('value is old')";
    let functions = [("check.yaml", container(STARLARK, "", &starlark(source)))];
    let Some(made) = Kustomization::new("validator", "validators", &functions) else {
        return;
    };
    let built = made.build();
    assert_eq!((built.code, built.stdout.as_str()), (Some(1), ""));
    assert!(
        built.stderr.contains("function failure"),
        "{}",
        built.stderr
    );
    assert!(built.stderr.contains("exit status 1"), "{}", built.stderr);
}

#[test]
fn the_network_and_files_outside_need_permission() {
    let network = [(
        "labels.yaml",
        container(SET_LABELS, "  network: true\n", LABELS),
    )];
    let Some(made) = Kustomization::new("network", "transformers", &network) else {
        return;
    };
    // kustomize has a flag of its own for it.
    let refused = run(made.command().arg("--network"), "");
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("KILN_ALLOW_NETWORK"),
        "{}",
        refused.stderr
    );
    let mut command = made.command();
    command.arg("--network").env("KILN_ALLOW_NETWORK", "1");
    let allowed = run(&mut command, "");
    assert_eq!(allowed.stdout, LABELLED, "{}", allowed.stderr);

    // kustomize itself refuses absolute paths; a link can lead out.
    let mount = |source: &str| {
        let more = format!("  mounts:\n  - type: bind\n    src: {source}\n    dst: /x\n");
        [("labels.yaml", container(SET_LABELS, &more, LABELS))]
    };
    for (source, code) in [("schemas", 0), ("outside", 1)] {
        let Some(made) = Kustomization::new("mount", "transformers", &mount(source)) else {
            return;
        };
        made.test_env.write("app/schemas/a.json", "{}");
        let link = made.test_env.work().join("app/outside");
        std::os::unix::fs::symlink("/etc", link).expect("a link");
        let built = made.build();
        assert_eq!(built.code, Some(code), "{source}: {}", built.stderr);
        let is_refused = built.stderr.contains("KILN_ALLOW_MOUNTS");
        assert_eq!(is_refused, code == 1, "{source}: {}", built.stderr);
    }
}

#[test]
fn a_program_is_a_transformer_only_with_the_flag() {
    let exec = "exec:\n  path: kiln\n  args:\n  - function\n  - run\n  - set-labels:v0.2.0";
    let functions = [("labels.yaml", function(exec, LABELS))];
    let Some(made) = Kustomization::new("exec", "transformers", &functions) else {
        return;
    };
    let built = run(made.command().arg("--enable-exec"), "");
    assert_eq!(
        (built.code, built.stdout.as_str()),
        (Some(0), LABELLED),
        "{}",
        built.stderr
    );
    // kustomize leaves the function out in silence, which docs/other-tools.md warns of.
    let built = made.build();
    assert!(!built.stdout.contains("env: prod"), "{}", built.stdout);
}
