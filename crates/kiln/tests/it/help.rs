//! Help, completion, man pages and colours.

use std::fs;

use crate::faults::skip;
use crate::test_environment::TestEnvironment;

/// What a shell gets when the user presses Tab after these words.
fn complete(test_env: &TestEnvironment, words: &[&str]) -> Vec<String> {
    let index = (words.len() - 1).to_string();
    let variables = [
        ("KILN_COMPLETE", "bash"),
        ("_CLAP_COMPLETE_INDEX", index.as_str()),
        ("_CLAP_IFS", "\n"),
    ];
    let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let script = format!("kiln -- {}", words.join(" "));
    let ran = test_env.shell(&test_env.work(), &script, &variables);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    ran.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn functions_and_versions_are_completed() {
    let test_env = TestEnvironment::new();
    let found = complete(&test_env, &["kiln", "fn", "eval", "-i", "set-l"]);
    assert_eq!(found, ["set-labels"]);
    let found = complete(
        &test_env,
        &["kiln", "fn", "eval", "--image", "set-labels:v0.2"],
    );
    assert!(found.contains(&"set-labels:v0.2.0".to_owned()), "{found:?}");
    let found = complete(&test_env, &["kiln", "function", "doc", "gate"]);
    assert_eq!(found, ["gatekeeper"]);
    let found = complete(&test_env, &["kiln", "rpk"]);
    assert_eq!(found, ["rpkg"]);
}

#[test]
fn revisions_and_repositories_are_completed() {
    let test_env = TestEnvironment::new();
    let setup = "git init -q --bare up.git && kiln repo register up.git --create-branch --name blueprints \
                 && kiln rpkg init web --workspace v1 -q";
    if test_env.shell(&test_env.work(), "git --version", &[]).code != Some(0) {
        return skip(
            "revisions_and_repositories_are_completed",
            "git is not there",
        );
    }
    let ran = test_env.shell(&test_env.work(), setup, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let found = complete(&test_env, &["kiln", "rpkg", "propose", "blue"]);
    assert_eq!(found, ["blueprints.web.v1"]);
    let found = complete(&test_env, &["kiln", "repo", "unregister", ""]);
    assert!(found.contains(&"blueprints".to_owned()), "{found:?}");
    let found = complete(
        &test_env,
        &["kiln", "rpkg", "init", "x", "--repository", "b"],
    );
    assert_eq!(found, ["blueprints"]);
}

#[test]
fn bash_completes_a_version_after_a_colon() {
    let test_env = TestEnvironment::new();
    let script = "source <(kiln completion bash)
        COMP_WORDS=(kiln fn eval -i set-labels:v0.2) COMP_CWORD=4 COMP_TYPE=9
        _clap_complete_kiln kiln set-labels:v0.2 -i
        printf '%s\\n' \"${COMPREPLY[@]}\"; [[ $COMP_WORDBREAKS != *:* ]]";
    let ran = test_env.shell(&test_env.work(), script, &[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(
        ran.stdout.lines().any(|line| line == "set-labels:v0.2.0"),
        "{}",
        ran.stdout
    );
}

#[test]
fn man_pages_are_written_for_every_command() {
    let test_env = TestEnvironment::new();
    let ran = test_env.kiln(&["manual", "man"], "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let page = |name: &str| fs::read_to_string(test_env.work().join("man").join(name));
    let render = page("kiln-fn-render.1").expect("a page");
    assert!(
        render.starts_with(".ie") || render.contains(".TH"),
        "{render}"
    );
    assert!(render.contains("no\\-status"), "{render}");
    assert!(page("kiln.1").is_ok());
    assert!(page("kiln-manual.1").is_err());
}

#[test]
fn help_fits_the_terminal_and_begins_with_the_flags_of_the_command() {
    let test_env = TestEnvironment::new();
    let work = test_env.work();
    let ran = test_env.shell(&work, "kiln fn render -h", &[("COLUMNS", "80")]);
    let widest = ran.stdout.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{}", ran.stdout);
    let at = |text: &str| {
        ran.stdout
            .find(text)
            .unwrap_or_else(|| panic!("no {text}: {}", ran.stdout))
    };
    assert!(at("--check") < at("Global options:"));
    assert!(at("Global options:") < at("      --compat <MODE>"));
    assert!(at("Examples:") < at("Environment:"));

    let ran = test_env.kiln(&["serve", "-h"], "");
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.contains("-tls-self-signed"), "{}", ran.stdout);
    for flag in ["pod-ttl", "kubeconfig", "max-concurrent-pod-calls"] {
        assert!(!ran.stdout.contains(flag), "{flag}: {}", ran.stdout);
    }
}

#[test]
fn colours_are_for_terminals_and_on_request() {
    let test_env = TestEnvironment::new();
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\n";
    test_env.write("pkg/Kptfile", kptfile);
    let work = test_env.work();
    let is_coloured = |script: &str, variables: &[(&str, &str)]| {
        let ran = test_env.shell(&work, script, variables);
        ran.stdout.contains('\x1b') || ran.stderr.contains('\x1b')
    };
    assert!(!is_coloured("kiln fn render pkg --dry-run", &[]));
    assert!(is_coloured(
        "kiln fn render pkg --dry-run --color=always",
        &[]
    ));
    assert!(is_coloured("kiln fn rendr --color always", &[]));
    assert!(!is_coloured("kiln fn rendr --color never", &[]));
    let no_color = [("NO_COLOR", "1")];
    assert!(!is_coloured(
        "script -qec 'kiln fn render pkg --dry-run' /dev/null || true",
        &no_color
    ));
    assert!(!is_coloured(
        "script -qec 'kiln fn rendr' /dev/null || true",
        &no_color
    ));
}
