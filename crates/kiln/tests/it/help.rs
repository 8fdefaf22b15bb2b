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
    let catalog = "ghcr.io/kptdev/krm-functions-catalog";
    let found = complete(
        &test_env,
        &["kiln", "fn", "eval", "-i", &format!("{catalog}/set-l")],
    );
    assert_eq!(found, [format!("{catalog}/set-labels")]);
    let found = complete(
        &test_env,
        &["kiln", "fn", "eval", "-i", "example.com/set-l"],
    );
    assert!(found.is_empty(), "{found:?}");
    for verb in ["get", "update"] {
        let found = complete(&test_env, &["kiln", "pkg", verb, "--strategy", "f"]);
        assert_eq!(found, ["fast-forward", "force-delete-replace"]);
    }
    let found = complete(&test_env, &["kiln", "pkg", "diff", "--diff-type", ""]);
    assert_eq!(found, ["local", "remote", "combined", "3way"]);
    let found = complete(&test_env, &["kiln", "serve", "--tls-self"]);
    assert_eq!(found, ["--tls-self-signed"]);
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

/// Fish completes without a terminal.
#[test]
fn fish_completes_functions_and_versions() {
    let test_env = TestEnvironment::new();
    if test_env
        .shell(&test_env.work(), "command -v fish", &[])
        .code
        != Some(0)
    {
        return skip("fish_completes_functions_and_versions", "fish is not there");
    }
    for (line, wanted) in [
        ("kiln fn eval -i set-l", "set-labels"),
        ("kiln fn eval -i set-labels:v0.2", "set-labels:v0.2.0"),
        ("kiln rpk", "rpkg"),
    ] {
        let script = format!("fish -c 'kiln completion fish | source; complete -C \"{line}\"'");
        let ran = test_env.shell(&test_env.work(), &script, &[]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let words = ran.stdout.lines().map(|line| line.split('\t').next());
        let words: Vec<&str> = words.flatten().collect();
        assert!(words.contains(&wanted), "{line}: {}", ran.stdout);
    }
}

/// Completion of zsh needs its line editor, so a terminal of its own gets the keys.
#[test]
fn zsh_completes_functions() {
    let test_env = TestEnvironment::new();
    if test_env.shell(&test_env.work(), "command -v zsh", &[]).code != Some(0) {
        return skip("zsh_completes_functions", "zsh is not there");
    }
    test_env.write(
        "complete.zsh",
        "zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; autoload -Uz compinit; compinit -u; source <(kiln completion zsh); print rea\"\"dy'
zpty -r shell seen '*ready*'
zpty -n -w shell $'kiln fn eval -i set-lab\\t'
zpty -r shell seen '*set-labels*'
print found
zpty -d shell
",
    );
    let script = "timeout 60 zsh -f complete.zsh";
    let ran = test_env.shell(&test_env.work(), script, &[("TERM", "xterm")]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "found\n"),
        "{}",
        ran.stderr
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
    let on_terminal = |command: &str| format!("script -qec '{command}' /dev/null || true");
    if test_env.shell(&work, "command -v script", &[]).code != Some(0) {
        return skip("colours_are_for_terminals", "there is no program `script`");
    }
    // On a terminal, the same commands are coloured without the variable.
    for command in ["kiln fn render pkg --dry-run", "kiln fn rendr"] {
        assert!(
            is_coloured(&on_terminal(command), &[("TERM", "xterm")]),
            "{command}"
        );
    }
    let no_color = [("NO_COLOR", "1"), ("TERM", "xterm")];
    for command in ["kiln fn render pkg --dry-run", "kiln fn rendr"] {
        assert!(!is_coloured(&on_terminal(command), &no_color), "{command}");
    }
}
