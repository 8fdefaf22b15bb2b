//! `kiln function new`: the function of every template is built, tested and run with the commands that it prints.
//!
//! What is not there, such as a compiler, is skipped with a message. Compilers use the caches of the user who runs the tests,
//! because compiling the standard library of Go takes longer than everything else, and nothing is downloaded except for TypeScript.

use std::fs;
use std::process::Command;

use crate::faults::skip;
use crate::test_environment::{TestEnvironment, files};

const NAME: &str = "set-replicas";

/// Variables of the user that compilers need to find themselves and their caches.
fn tool_variables() -> Vec<(String, String)> {
    let home = std::env::var("HOME").unwrap_or_default();
    let or_home = |name: &str, below: &str| {
        let value = std::env::var(name).unwrap_or_else(|_| format!("{home}/{below}"));
        (name.to_owned(), value)
    };
    let mut variables = vec![
        or_home("CARGO_HOME", ".cargo"),
        or_home("RUSTUP_HOME", ".rustup"),
        or_home("GOCACHE", ".cache/go-build"),
        ("GOTOOLCHAIN".to_owned(), "local".to_owned()),
        ("GOFLAGS".to_owned(), "-mod=mod".to_owned()),
        ("CARGO_NET_OFFLINE".to_owned(), "true".to_owned()),
    ];
    let settings = format!("{home}/.npmrc");
    if fs::exists(&settings).unwrap_or(false) {
        variables.push(("NPM_CONFIG_USERCONFIG".to_owned(), settings));
    }
    let is_npm = |name: &str| {
        let name = name.to_lowercase();
        name.starts_with("npm_config_") || name.ends_with("_proxy") || name == "node_extra_ca_certs"
    };
    variables.extend(std::env::vars().filter(|(name, _)| is_npm(name)));
    variables
}

/// Whether a command of the user's tools succeeds.
fn succeeds(command: &str) -> bool {
    let output = Command::new("bash").args(["-c", command]).output();
    output.is_ok_and(|output| output.status.success())
}

#[track_caller]
fn check(language: &str, probe: &str, missing: &str) {
    if !succeeds(probe) {
        return skip(&format!("kiln function new --lang {language}"), missing);
    }
    let test_env = TestEnvironment::new();
    let ran = test_env.kiln(&["function", "new", NAME, "--lang", language], "");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let printed = |label: &str| {
        let mut lines = ran.stdout.lines();
        let line = lines.find_map(|line| line.strip_prefix(label));
        line.map(|line| line.trim().to_owned())
    };
    let variables = tool_variables();
    let variables: Vec<(&str, &str)> = variables
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let shell = |script: &str| {
        let ran = test_env.shell(&test_env.work(), script, &variables);
        assert_eq!(ran.code, Some(0), "{script}: {}{}", ran.stdout, ran.stderr);
        ran
    };
    if let Some(build) = printed("build it:") {
        shell(&build);
    }
    shell(&printed("test it:").expect("a command"));
    let run = printed("run it:").expect("a command");
    if language == "wasm" && !runs_modules(&test_env) {
        return skip(
            "kiln fn render of a module",
            "this kiln does not run WebAssembly",
        );
    }
    shell(&run);
    let found = &files(&test_env.work())[&format!("{NAME}/example/deployment.yaml")];
    assert!(found.contains("  replicas: 3 # how many\n"), "{found}");

    // A function that reports an error fails the render, and its message is printed.
    let script = format!("sed -i 's/\"3\"/many/' {NAME}/example/Kptfile; {run}");
    let ran = test_env.shell(&test_env.work(), &script, &variables);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("to a number in the configuration"),
        "{}",
        ran.stderr
    );
}

/// Whether this kiln has an evaluator of modules.
fn runs_modules(test_env: &TestEnvironment) -> bool {
    let help = test_env.kiln(&["fn", "render", "--help"], "");
    help.stdout.contains("wasm")
}

#[test]
fn bash() {
    check("bash", "bash --version", "bash is not there");
}

#[test]
fn python() {
    check("python", "python3 --version", "python3 is not there");
}

#[test]
fn go() {
    check("go", "go version", "go is not there");
}

#[test]
fn rust() {
    let cached = "ls ${CARGO_HOME:-$HOME/.cargo}/registry/cache/*/serde_json-1.*.crate";
    check("rust", cached, "serde_json is not in the cache of cargo");
}

#[test]
fn typescript() {
    let probe = "timeout 20 npm view typescript version && node --version | grep -qE '^v(2[0-9]|[3-9][0-9])'";
    check(
        "typescript",
        probe,
        "npm has nothing to install from, or Node is too old",
    );
}

#[test]
fn wasm() {
    let probe = "rustc --print target-libdir --target wasm32-wasip1 | xargs ls";
    check("wasm", probe, "the target wasm32-wasip1 is not installed");
}

#[test]
fn names_and_directories_are_checked() {
    let test_env = TestEnvironment::new();
    for name in ["", "Upper", "a b", "../x", "-x", "x-", "1x"] {
        let ran = test_env.kiln(&["function", "new", "--lang", "bash", "--", name], "");
        assert_eq!(ran.code, Some(2), "{name}: {}", ran.stderr);
    }
    test_env.write("taken/file", "mine");
    let ran = test_env.kiln(&["function", "new", "taken", "--lang", "bash"], "");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert_eq!(files(&test_env.work()).len(), 1);
}

#[test]
fn a_program_that_prints_no_json_is_an_error() {
    let test_env = TestEnvironment::new();
    let list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n";
    let ran = test_env.kiln(&["function", "json", "echo", "hello"], list);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("did not print a ResourceList as JSON"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("\nhint: "), "{}", ran.stderr);
    let ran = test_env.kiln(&["function", "json", "cat"], list);
    let same = "apiVersion: config.kubernetes.io/v1\nitems: []\nkind: ResourceList\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), same));
    // The exit code of the program is that of the function.
    let ran = test_env.kiln(&["function", "json", "sh", "-c", "exit 7"], list);
    assert_eq!(ran.code, Some(7));
    let ran = test_env.kiln(&["function", "json", "./nope"], list);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("cannot start ./nope"), "{}", ran.stderr);
}
