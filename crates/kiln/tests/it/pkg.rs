//! `kiln pkg` in kiln's own mode, with a real git: what is better than in kpt.

use crate::faults::skip;
use crate::test_environment::{Outcome, TestEnvironment, files};

/// A repository `r/up.git` with a package `web` in two versions; `None` without git.
fn upstream() -> Option<TestEnvironment> {
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

fn shell(test_env: &TestEnvironment, script: &str) -> Outcome {
    test_env.shell(&test_env.work(), script, &[])
}

#[track_caller]
fn succeed(test_env: &TestEnvironment, script: &str) -> Outcome {
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
        assert_eq!(shell(&test_env, script).code, Some(1), "{script}");
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
    succeed(&test_env, "kiln pkg update web --check");
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
            .contains("not committed: deploy.yaml\nhint: commit or stash"),
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
    let alone = "PATH=$(dirname \"$(command -v kpt)\"):/usr/bin:/bin";
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
        "PATH=$(dirname \"$(command -v kpt)\"):$PWD/real:/usr/bin:/bin; kpt alpha rpkg get",
    );
    assert_eq!(found.stdout, "real alpha rpkg get\n");
    if std::path::Path::new("/usr/bin/kpt").exists() || std::path::Path::new("/bin/kpt").exists() {
        return skip(
            "foreign_commands_are_passed_through",
            "a kpt is installed, so its absence is not tested",
        );
    }
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
    let json = test_env.kiln(&["version", "-o", "json"], "").stdout;
    assert!(json.starts_with("{\"program\":\"kiln\","), "{json}");
    let kpt = shell(&test_env, "kpt version").stdout;
    assert!(
        kpt.starts_with(&format!("Version: {version}\nGit commit: ")),
        "{kpt}"
    );
}
