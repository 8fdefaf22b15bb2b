//! `kiln pkg` in kiln's own mode, with a real git: what is better than in kpt.

use crate::faults::skip;
use crate::test_environment::{Outcome, TestEnvironment, files};

/// A repository `r/up.git` with a package `web` in two versions; `None` without git.
pub(crate) fn upstream() -> Option<TestEnvironment> {
    let test_env = TestEnvironment::new();
    let made = shell(
        &test_env,
        r#"set -e
git config --global user.name Tester; git config --global user.email tester@example.com
git config --global init.defaultBranch main
mkdir r; git init -q --bare r/up.git; git init -q up; mkdir up/web; cd up
cat > web/Kptfile <<'E'
# about web
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: web
info:
  description: a server # short
E
cat > web/deploy.yaml <<'E'
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1   # padded

  paused: false
E
printf 'run\n' > web/run.sh; chmod +x web/run.sh
git add -A; git commit -qm one; git tag v1
sed -i 's/replicas: 1/replicas: 3/' web/deploy.yaml; git commit -qam two; git tag v2; git tag -a note -m note
git remote add origin ../r/up.git; git push -q origin main --tags"#,
    );
    if made.code != Some(0) {
        skip("pkg", "git is not there");
        return None;
    }
    Some(test_env)
}

pub(crate) fn shell(test_env: &TestEnvironment, script: &str) -> Outcome {
    test_env.shell(&test_env.work(), script, &[])
}

#[track_caller]
pub(crate) fn succeed(test_env: &TestEnvironment, script: &str) -> Outcome {
    let outcome = shell(test_env, script);
    assert_eq!(outcome.code, Some(0), "{script}: {outcome:?}");
    outcome
}

const GET: &str = "kiln pkg get file://$PWD/r/up.git/web@v1";

#[test]
fn comments_layout_and_modes_survive_get_and_update() {
    let Some(test_env) = upstream() else { return };
    let got = succeed(&test_env, GET);
    assert!(!got.stderr.contains("FETCH_HEAD"), "{got:?}");
    let kptfile = |test_env: &TestEnvironment| files(&test_env.work())["web/Kptfile"].clone();
    assert!(kptfile(&test_env).starts_with("# about web\n"));
    assert!(kptfile(&test_env).contains("description: a server # short\n"));
    succeed(
        &test_env,
        "test -x web/run.sh && test \"$(stat -c %a web/Kptfile)\" = 644",
    );
    succeed(
        &test_env,
        "sed -i 's/paused: false/paused: true/' web/deploy.yaml; kiln pkg update web@v2",
    );
    let deployment = &files(&test_env.work())["web/deploy.yaml"];
    assert!(
        deployment.contains("  replicas: 3 # padded\n\n  paused: true\n"),
        "{deployment}"
    );
    let commit = succeed(&test_env, "git -C up rev-parse v2").stdout;
    assert!(kptfile(&test_env).contains(&format!("commit: {}", commit.trim())));
    assert!(kptfile(&test_env).contains("    ref: v2\n"));
}

#[test]
fn annotated_tags_and_short_commits_are_locked_in_full() {
    let Some(test_env) = upstream() else { return };
    succeed(
        &test_env,
        "set -e; short=$(git -C up rev-parse --short=8 v1)
         kiln pkg get file://$PWD/r/up.git/web@note a; grep -q \"commit: $(git -C up rev-parse v2)\" a/Kptfile
         kiln pkg get file://$PWD/r/up.git/web@$short b; grep -q \"commit: $(git -C up rev-parse v1)\" b/Kptfile
         kiln pkg get file://$PWD/r/up.git/web c; grep -q 'ref: main' c/Kptfile",
    );
}

#[test]
fn nothing_is_written_on_failure() {
    let Some(test_env) = upstream() else { return };
    for (script, words) in [
        (
            "kiln pkg get file://$PWD/r/up.git/web@nosuch",
            "has no branch, tag or commit \"nosuch\"",
        ),
        (
            "kiln pkg get file://$PWD/r/up.git/none@v1",
            "path \"/none\" does not exist",
        ),
        (
            "kiln pkg get file://$PWD/r/none.git/web@v1",
            "hint: run `git ls-remote",
        ),
        (
            "kiln pkg get web",
            "hint: write the address as REPO.git/DIRECTORY@VERSION",
        ),
        (
            "mkdir -p e && cd e && kiln pkg get file://$PWD/../r/up.git/web@nosuch .; test -d ../e; exit 1",
            "nosuch",
        ),
    ] {
        let failed = shell(&test_env, script);
        assert_eq!(failed.code, Some(1), "{script}: {failed:?}");
        assert!(failed.stderr.contains(words), "{script}: {failed:?}");
        assert!(!test_env.work().join("web").exists());
    }
    succeed(&test_env, &format!("{GET}; echo mine >> web/run.sh"));
    let before = files(&test_env.work());
    for script in [
        "kiln pkg update web@nosuch",
        "kiln pkg update web@v2 --strategy fast-forward",
        "kiln pkg update web@v2 --strategy bad",
        "kiln pkg update web@v2@v3",
    ] {
        assert_ne!(shell(&test_env, script).code, Some(0), "{script}");
        assert_eq!(files(&test_env.work()), before, "{script}");
    }
}

#[test]
fn conflicts_are_listed_and_previews_write_nothing() {
    let Some(test_env) = upstream() else { return };
    succeed(
        &test_env,
        &format!("{GET}; sed -i 's/replicas: 1/replicas: 9/' web/deploy.yaml"),
    );
    let before = files(&test_env.work());
    let preview = succeed(&test_env, "kiln pkg update web@v2 --dry-run");
    assert!(
        preview
            .stdout
            .contains("-  replicas: 9   # padded\n+  replicas: 3 # padded\n"),
        "{preview:?}"
    );
    assert_eq!(files(&test_env.work()), before);
    let updated = succeed(&test_env, "kiln pkg update web@v2");
    let conflict = "conflict in deploy.yaml: Deployment web: spec.replicas: was 1, local has 9, upstream has 3; upstream taken";
    assert!(updated.stderr.contains(conflict), "{updated:?}");
}

#[test]
fn the_check_and_the_exit_code_say_whether_there_is_a_difference() {
    let Some(test_env) = upstream() else { return };
    succeed(&test_env, GET);
    succeed(&test_env, "kiln pkg update web@v1 --check");
    assert_eq!(
        shell(&test_env, "kiln pkg update web@v2 --check").code,
        Some(3)
    );
    let same = succeed(&test_env, "kiln pkg diff web --exit-code");
    assert_eq!(same.stdout, "");
    succeed(
        &test_env,
        "sed -i 's/replicas: 1/replicas: 9/' web/deploy.yaml",
    );
    let different = shell(&test_env, "kiln pkg diff web --exit-code");
    assert_eq!(different.code, Some(3), "{different:?}");
    assert!(
        different
            .stdout
            .contains("-  replicas: 1   # padded\n+  replicas: 9   # padded\n")
    );
    assert_eq!(
        succeed(&test_env, "kiln pkg diff web").stdout,
        different.stdout
    );
}

#[test]
fn without_git_the_message_says_so() {
    let test_env = TestEnvironment::new();
    let get = |program: &str| {
        let script =
            format!("PATH=$(dirname $(command -v kiln)) {program} pkg get file:///r/up.git/web@v1");
        let ran = shell(&test_env, &script);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        ran.stderr
    };
    let own = "error: there is no git on the PATH\nhint: install git; packages in images (oci://) need none\n";
    assert!(get("kiln").ends_with(own), "{}", get("kiln"));
    let kpt = "Error: No git executable found. kpt requires git to be installed and available in the path.\n";
    assert!(get("kpt").contains(kpt), "{}", get("kpt"));
}

/// kpt suggests the same verbs.
#[test]
fn verbs_of_other_tools_are_recognised() {
    let test_env = TestEnvironment::new();
    for (name, meant) in [
        ("clone", "get"),
        ("cp", "get"),
        ("fetch", "get"),
        ("rebase", "update"),
        ("replace", "update"),
    ] {
        let ran = test_env.kiln(&["pkg", name, "x"], "");
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let tip = format!("tip: a similar subcommand exists: '{meant}'");
        assert!(ran.stderr.contains(&tip), "{ran:?}");
        let ran = shell(&test_env, &format!("kpt pkg {name} x"));
        let suggestion = format!("\n\nDid you mean this?\n\t{meant}\n");
        assert!(ran.stderr.contains(&suggestion), "{ran:?}");
    }
    let other = test_env.kiln(&["rpkg", "replace"], "");
    assert!(!other.stderr.contains("'update'"), "{other:?}");
}

/// A tag does not move, so that a check of it looks for higher versions. A branch moves.
#[test]
fn the_check_finds_higher_versions_and_moved_branches() {
    let Some(test_env) = upstream() else { return };
    let check = |named: &str| {
        let checked = shell(&test_env, &format!("kiln pkg update {named} --check"));
        (checked.code, checked.stderr)
    };
    succeed(&test_env, GET);
    let newer = "web: newer than v1: v2; update with `kiln pkg update web@v2`\n";
    assert_eq!(check("web"), (Some(3), newer.to_owned()));
    succeed(&test_env, "kiln pkg update web@v2");
    assert_eq!(check("web"), (Some(0), "web is up to date\n".to_owned()));
    let own_tags = "cd up; git tag web/v1.0 v1; git tag web/v1.1 v2; git tag web/v2.0-rc1 v2; git push -q origin --tags";
    succeed(&test_env, own_tags);
    for (version, newer) in [
        (
            "v1.0",
            "newer than v1.0: v1.1; update with `kiln pkg update own@v1.1`",
        ),
        ("web/v1.0", "newer than web/v1.0: web/v1.1; update"),
    ] {
        let get = format!("rm -rf own; kiln pkg get file://$PWD/r/up.git/web@{version} own");
        succeed(&test_env, &get);
        let (code, text) = check("own");
        assert_eq!(code, Some(3), "{version}: {text}");
        assert!(text.contains(newer), "{version}: {text}");
    }
    succeed(&test_env, "kiln pkg get file://$PWD/r/up.git/web branch");
    assert_eq!(check("branch").0, Some(0));
    succeed(
        &test_env,
        "cd up; echo more >> web/run.sh; git commit -qam three; git push -q origin main",
    );
    let (code, text) = check("branch");
    assert_eq!(code, Some(3), "{text}");
    assert!(text.starts_with("branch: main is at "), "{text}");
}

/// Regression: these were exit code 1.
#[test]
fn an_invalid_command_line_is_exit_code_2_and_1_as_kpt() {
    let Some(test_env) = upstream() else { return };
    succeed(&test_env, GET);
    for (arguments, words) in [
        ("pkg get", "requires at least 1 arg(s), only received 0"),
        (
            "pkg get file://$PWD/r/up.git/web@v1 x --strategy foo",
            "unknown update strategy \"foo\"",
        ),
        ("pkg init a b", "accepts at most 1 arg(s), received 2"),
        ("pkg update a b", "accepts at most 1 arg(s), received 2"),
        ("pkg update web@v1@v2", "at most 1 version permitted"),
        ("pkg diff web@v1@v2", "at most 1 version permitted"),
        ("pkg diff web --diff-type nope", "invalid diff-type 'nope'"),
        (
            "pkg diff web --diff-tool nope",
            "diff-tool 'nope' not found in the PATH",
        ),
        ("pkg tree a b", "accepts at most 1 arg(s), received 2"),
        ("pkg cat a b", "accepts at most 1 arg(s), received 2"),
        (
            "alpha wasm push x",
            "2 positional arguments (local wasm file and OCI image) are required",
        ),
        (
            "alpha wasm pull x",
            "2 positional arguments (a OCI image and a local path) required",
        ),
        (
            "version -o yaml",
            "invalid output format \"yaml\"; must be text or json",
        ),
        (
            "live init web --rg-file a/b",
            "rg-file must be a valid filename",
        ),
    ] {
        for (program, code) in [("kiln", 2), ("kiln --compat=kpt", 1)] {
            let refused = shell(&test_env, &format!("{program} {arguments}"));
            assert_eq!(
                refused.code,
                Some(code),
                "{program} {arguments}: {refused:?}"
            );
            assert!(
                refused.stderr.contains(words),
                "{program} {arguments}: {refused:?}"
            );
        }
    }
    for arguments in [
        "pkg get file://$PWD/r/up.git/web@v1 x y",
        "pkg update web@v2 --strategy bad",
        "pkg cat web --style NoStyle",
        "pkg diff web --diff-type 3way",
    ] {
        let refused = shell(&test_env, &format!("kiln {arguments}"));
        assert_eq!(refused.code, Some(2), "{arguments}: {refused:?}");
    }
    assert!(!test_env.work().join("x").exists());
}

/// The strategy of the Kptfile is used, and uncommitted changes are not overwritten.
#[test]
fn the_kptfile_and_git_are_respected() {
    let Some(test_env) = upstream() else { return };
    succeed(&test_env, &format!("{GET} --strategy fast-forward"));
    succeed(
        &test_env,
        "kiln pkg update web@v2 && grep -q 'updateStrategy: fast-forward' web/Kptfile",
    );
    succeed(
        &test_env,
        &format!(
            "rm -r web; {GET}; git init -q .; git add web; git commit -qm x; sed -i 's/paused: false/paused: true/' web/deploy.yaml"
        ),
    );
    let refused = shell(&test_env, "kiln pkg update web@v2");
    assert_eq!(refused.code, Some(1));
    assert!(
        refused
            .stderr
            .contains("web has uncommitted changes: deploy.yaml\nhint: commit or stash"),
        "{refused:?}"
    );
    succeed(
        &test_env,
        "kiln pkg update web@v2 --force && grep -q 'replicas: 3' web/deploy.yaml",
    );
}

#[test]
fn a_new_package_renders() {
    let test_env = TestEnvironment::new();
    succeed(
        &test_env,
        "kiln pkg init p --description \"it's <b>\" && kiln fn render p",
    );
    assert!(files(&test_env.work())["p/README.md"].contains("it's <b>"));
}

#[test]
fn the_inventory_file_is_written() {
    let test_env = TestEnvironment::new();
    succeed(
        &test_env,
        "kiln pkg init p && kiln live init p --name inv --inventory-id 7",
    );
    let group = "apiVersion: kpt.dev/v1alpha1\nkind: ResourceGroup\nmetadata:\n  name: inv\n  namespace: default\n  labels:\n    cli-utils.sigs.k8s.io/inventory-id: \"7\"\n";
    assert_eq!(files(&test_env.work())["p/resourcegroup.yaml"], group);
    let again = shell(&test_env, "kiln live init p");
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("hint: pass --force"), "{again:?}");
    succeed(
        &test_env,
        "kiln live init p --force --quiet && ! grep -q 'name: inv$' p/resourcegroup.yaml",
    );
}

/// Called as kpt, commands that kiln lacks are run by another kpt, which is never kiln itself.
#[test]
fn foreign_commands_are_passed_through() {
    let test_env = TestEnvironment::new();
    test_env.write_program("real/kpt", "#!/bin/sh\necho real \"$@\"\nexit 7\n");
    // Nothing but kiln is there, so no other kpt either.
    let alone = "PATH=$(dirname \"$(command -v kpt)\")";
    let own_kpt = shell(&test_env, "command -v kpt").stdout;
    assert!(own_kpt.contains("/bin/kpt"));
    let passed = shell(
        &test_env,
        "PATH=$PATH:$PWD/real KILN_KPT=$PWD/real/kpt kpt live apply x --y",
    );
    assert_eq!(
        (passed.code, passed.stdout.as_str()),
        (Some(7), "real live apply x --y\n")
    );
    let found = shell(
        &test_env,
        "PATH=$(dirname \"$(command -v kpt)\"):$PWD/real; kpt alpha rpkg get",
    );
    assert_eq!(found.stdout, "real alpha rpkg get\n");
    let flags = shell(
        &test_env,
        "KILN_KPT=$PWD/real/kpt kpt --kubeconfig k live -n shop apply x",
    );
    assert_eq!(flags.stdout, "real --kubeconfig k live -n shop apply x\n");
    // A variable that names kiln itself names no other kpt.
    let itself = shell(
        &test_env,
        "export KILN_KPT=$(command -v kiln) PATH=$(dirname \"$(command -v kpt)\"):$PWD/real; kpt alpha rpkg get",
    );
    assert_eq!(itself.stdout, "real alpha rpkg get\n", "{itself:?}");
    let wrong = shell(&test_env, "KILN_KPT=/nope/kpt kpt live apply");
    assert!(wrong.stderr.contains("hint: set KILN_KPT"), "{wrong:?}");
    let missing = shell(&test_env, &format!("{alone}; kpt live apply"));
    assert_eq!(missing.code, Some(1));
    assert_eq!(missing.stderr.lines().count(), 1, "{missing:?}");
    assert!(missing.stderr.contains("KILN_KPT"), "{missing:?}");
}

#[test]
fn the_version_is_printed() {
    let test_env = TestEnvironment::new();
    let version = env!("CARGO_PKG_VERSION");
    let text = test_env.kiln(&["version"], "").stdout;
    assert!(
        text.starts_with(&format!("kiln {version}\ncommit: ")),
        "{text}"
    );
    assert!(text.contains("\n  set-labels: v"), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    let [commit, date, target] = ["commit: ", "date: ", "target: "].map(|name| {
        let value = lines.iter().find_map(|line| line.strip_prefix(name));
        value.expect("a line").to_owned()
    });
    let parts = target.split('-').count();
    assert!(parts >= 3, "{target} is not a triple");
    let known = shell(
        &test_env,
        &format!(
            "git -C {} log -1 --format=%cs {commit}",
            env!("CARGO_MANIFEST_DIR")
        ),
    );
    match commit.as_str() {
        "unknown" => assert_eq!(date, "unknown"),
        _ => assert_eq!(known.stdout.trim(), date, "{known:?}"),
    }
    let json = test_env.kiln(&["version", "-o", "json"], "").stdout;
    assert!(json.starts_with("{\"program\":\"kiln\","), "{json}");
    let kpt = shell(&test_env, "kpt version").stdout;
    assert!(
        kpt.starts_with(&format!("Version: {version}\nGit commit: ")),
        "{kpt}"
    );
}

/// kpt has these flags with every command, and those of kubectl with every command of `live`.
#[test]
fn global_flags_of_kpt_are_accepted() {
    let test_env = TestEnvironment::new();
    test_env.write(
        "config",
        "contexts:\n- name: a\n  context: {namespace: shop}\n- name: b\ncurrent-context: b\n",
    );
    for group in ["kpt", "kpt pkg", "kpt fn", "kpt live"] {
        assert_eq!(shell(&test_env, group).code, Some(0), "{group}");
    }
    for package in ["p", "q"] {
        succeed(&test_env, &format!("kpt pkg init {package}"));
    }
    for command in [
        "kpt --kubeconfig k -v 4 pkg tree p",
        "kpt pkg tree p -v4 --log_file f --logtostderr --alsologtostderr=false",
        "kpt fn source p --log-flush-frequency 5s --kubeconfig=k",
    ] {
        succeed(&test_env, command);
    }
    for (command, namespace) in [
        (
            "kpt live --kubeconfig config --context a init p --force",
            "shop",
        ),
        (
            "kpt --kubeconfig config live init p --context a --force -s x",
            "shop",
        ),
        (
            "kpt live init q --kubeconfig config --force --token t",
            "default",
        ),
        (
            "kiln live init p --kubeconfig config --context a --force",
            "shop",
        ),
        (
            "kpt live --namespace own --context zzz init p --force",
            "own",
        ),
    ] {
        let inventory = succeed(&test_env, command);
        let words = format!("(namespace: {namespace})...success\n");
        assert!(
            inventory.stderr.ends_with(&words),
            "{command}: {inventory:?}"
        );
    }
    for (arguments, words) in [
        (
            "--context zzz --kubeconfig config",
            "context was not found for specified context: zzz \n",
        ),
        (
            "--kubeconfig missing",
            "Error: stat missing: no such file or directory \n",
        ),
    ] {
        let failed = shell(&test_env, &format!("kpt live init p --force {arguments}"));
        assert_eq!(failed.code, Some(1), "{failed:?}");
        assert!(failed.stderr.ends_with(words), "{failed:?}");
    }
    // In kiln's own mode a flag without meaning is an error.
    assert_eq!(shell(&test_env, "kiln -v 4 pkg tree p").code, Some(2));
}
