//! How `kiln rpkg` runs git: how often it fetches, which git it refuses, and what it does without threads.

use crate::faults::skip;
use crate::test_environment::{Outcome, TestEnvironment};

/// A registered remote repository `r` with a draft `r.p.v1`; `None` without git.
fn remote_draft() -> Option<TestEnvironment> {
    let test_env = TestEnvironment::new();
    let ran = shell(
        &test_env,
        "git config --global user.name Tester && git config --global user.email tester@example.com &&
         git config --global init.defaultBranch main",
    );
    if ran.code != Some(0) {
        skip("rpkg_git", "git is not there");
        return None;
    }
    let ran = shell(
        &test_env,
        "git init -q --bare repo.git &&
         kiln repo register file://$PWD/repo.git --name r --create-branch &&
         kiln rpkg init p --repository r --workspace v1 -q",
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    Some(test_env)
}

fn shell(test_env: &TestEnvironment, script: &str) -> Outcome {
    test_env.shell(&test_env.work(), script, &[])
}

/// A script that puts a stand-in for git first on the path. `$real` is the real git.
fn with_git(stand_in: &str, script: &str) -> String {
    format!(
        "real=$(command -v git)\nmkdir -p stand-in\ncat > stand-in/git <<EOF\n#!/bin/sh\n{stand_in}\nEOF\n\
         chmod +x stand-in/git\nexport PATH=$PWD/stand-in:$PATH\n{script}"
    )
}

/// Regression: `push -` and `update` found the revision twice, and fetched each time.
#[test]
fn a_verb_fetches_once() {
    let Some(test_env) = remote_draft() else {
        return;
    };
    let pulled = shell(
        &test_env,
        "kiln rpkg pull r.p.v1 > list.yaml && kiln rpkg pull r.p.v1 dir",
    );
    assert_eq!(pulled.code, Some(0), "{pulled:?}");
    let log = r#"echo "\$1" >> $PWD/log; exec $real "\$@""#;
    for verb in [
        "push r.p.v1 - < list.yaml",
        "update r.p.v1 --label a=b",
        "pull r.p.v1 > list.yaml",
        "pull r.p.v1 again",
        "push r.p.v1 again",
        "propose r.p.v1",
    ] {
        let script = format!("rm -f log; kiln rpkg {verb} > out && grep -c '^fetch$' log");
        let ran = shell(&test_env, &with_git(log, &script));
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), "1\n"),
            "{verb}: {ran:?}"
        );
    }
}

#[test]
fn an_old_git_is_refused_with_a_clear_message() {
    let Some(test_env) = remote_draft() else {
        return;
    };
    let ran = shell(
        &test_env,
        &with_git("echo git version 2.17.1", "kiln rpkg get --repo r"),
    );
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let message = ": git 2.17.1 is too old: kiln needs git 2.31 or newer; install a newer git\n";
    assert!(ran.stderr.ends_with(message), "{}", ran.stderr);
}

/// Regression: there was no hint.
#[test]
fn without_git_there_is_a_hint() {
    let Some(test_env) = remote_draft() else {
        return;
    };
    for arguments in ["--repo r", "--repo repo.git"] {
        let script = format!("PATH=$(dirname $(command -v kiln)) kiln rpkg get {arguments}");
        let ran = shell(&test_env, &script);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let message =
            ": cannot run git: there is no git on the PATH\nhint: install git 2.31 or newer\n";
        assert!(ran.stderr.ends_with(message), "{}", ran.stderr);
    }
}

/// Regression: doctor had a parser of its own, and named only some of the commands that need git.
#[test]
fn doctor_and_the_commands_agree_about_git() {
    let Some(test_env) = remote_draft() else {
        return;
    };
    let doctor = |script: &str| {
        let ran = shell(&test_env, script);
        let lines = ran.stdout.lines();
        let from_git: Vec<&str> = lines
            .skip_while(|line| !line.trim_start().starts_with("programs"))
            .collect();
        from_git.join("\n")
    };
    let check = |version: &str, commands_work: bool| {
        let git = format!(
            r#"[ "\$1" != version ] || {{ echo git version {version}; exit; }}; exec $real "\$@""#
        );
        let text = doctor(&with_git(&git, "kiln doctor"));
        assert!(text.contains(&format!("git version {version}")), "{text}");
        assert_eq!(text.contains("too old"), !commands_work, "{text}");
        let ran = shell(&test_env, &with_git(&git, "kiln rpkg get --repo r"));
        assert_eq!(ran.code == Some(0), commands_work, "{ran:?}");
    };
    check("2.31.0", true);
    check("of the future", true);
    check("2.20.1", false);
    let missing = doctor("PATH=$(dirname $(command -v kiln)) kiln doctor");
    assert!(missing.contains("there is no git on the PATH"), "{missing}");
    let fix = "install git 2.31 or newer, for kiln pkg, kiln rpkg, kiln repo and --changed-since";
    assert!(missing.contains(fix), "{missing}");
}

/// With a stack of 128 TiB no thread can be started.
#[test]
fn without_threads_there_is_an_error_and_no_panic() {
    let Some(test_env) = remote_draft() else {
        return;
    };
    for (arguments, command) in [("--repo r", "fetch"), ("--repo repo.git -o json", "log")] {
        let script = format!("RUST_MIN_STACK=140737488355328 kiln rpkg get {arguments}");
        let ran = shell(&test_env, &script);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let message = format!("cannot exchange data with git {command}: ");
        assert!(ran.stderr.contains(&message), "{}", ran.stderr);
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    }
}

/// As for kpt, an empty value does not disable attribution. Regression: it did for `rpkg`, but not for `fn render`.
#[test]
fn attribution_is_disabled_by_a_value_that_is_not_empty() {
    let Some(test_env) = remote_draft() else {
        return;
    };
    let bucket = "apiVersion: storage.cnrm.cloud.google.com/v1beta1\nkind: StorageBucket\nmetadata:\n  name: b\n";
    let pipeline =
        "pipeline:\n  mutators:\n  - image: set-labels:v0.2.0\n    configMap:\n      app: x\n";
    for (value, count) in [("", "1"), ("1", "0"), ("false", "0")] {
        test_env.write("bucket.yaml", bucket);
        test_env.write("pipeline.yaml", pipeline);
        let variables = [("KRM_DISABLE_ATTRIBUTION", value)];
        let script = "rm -rf dir new && kiln rpkg pull r.p.v1 dir && cp bucket.yaml dir/ &&
            { grep -q pipeline: dir/Kptfile || cat pipeline.yaml >> dir/Kptfile; } &&
            kiln rpkg push -q r.p.v1 dir > out && kiln rpkg pull r.p.v1 new &&
            cp bucket.yaml dir/ && kiln fn render --quiet dir &&
            for dir in new dir; do grep -c cnrm.cloud.google.com/blueprint $dir/bucket.yaml; done";
        let ran = test_env.shell(&test_env.work(), script, &variables);
        assert_eq!(
            ran.stdout,
            format!("{count}\n{count}\n"),
            "{value:?}: {ran:?}"
        );
    }
}
