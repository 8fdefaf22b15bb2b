//! kiln in CI: `--changed-since`, the hooks of pre-commit and the scripts of the GitHub Action.

use std::fs;
use std::path::Path;

use crate::test_environment::{Outcome, TestEnvironment};

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";

fn kptfile(name: &str) -> String {
    format!(
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\npipeline:\n  mutators:\n    \
         - image: gcr.io/kpt-fn/set-labels:v0.2.0\n      configMap:\n        env: prod\n"
    )
}

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A repository with the packages `team/app`, which has a sub-package, and `team/db`, rendered and committed.
struct Checkout {
    test_env: TestEnvironment,
}

impl Checkout {
    fn new() -> Checkout {
        let test_env = TestEnvironment::new();
        for package in ["team/app", "team/app/inner", "team/db"] {
            let name = package.rsplit('/').next().expect("a name");
            test_env.write(&format!("{package}/Kptfile"), &kptfile(name));
            test_env.write(&format!("{package}/a.yaml"), CONFIG_MAP);
        }
        test_env.write("README.md", "# Packages\n");
        let checkout = Checkout { test_env };
        let made = checkout.shell(
            "git init -q -b main . && git config user.name t && git config user.email t@example.com && \
             kiln fn render team/app team/db --quiet && git add . && git commit -qm rendered && git tag start",
        );
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        checkout
    }

    fn shell(&self, script: &str) -> Outcome {
        self.shell_with(script, &[])
    }

    fn shell_with(&self, script: &str, variables: &[(&str, &str)]) -> Outcome {
        let work = self.test_env.work();
        self.test_env.shell(&work, script, variables)
    }

    /// Runs a check, and returns its exit code and the packages that it rendered.
    fn check(&self, script: &str) -> (Option<i32>, Vec<String>) {
        let ran = self.shell(script);
        let packages = ran.stderr.lines().filter_map(|line| {
            let name = line.strip_prefix("Package \"")?;
            Some(name.strip_suffix("\":")?.to_owned())
        });
        (ran.code, packages.collect())
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn only_packages_with_changed_files_are_rendered() {
    let checkout = Checkout::new();
    let check = "kiln fn render --check --changed-since start";
    let ran = checkout.shell(check);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.stderr, "no package has changed since start\n");

    // A file of no package, then one of a sub-package: its root package is rendered.
    checkout.shell("echo more >>README.md");
    assert_eq!(checkout.check(check), (Some(0), names(&[])));
    checkout.shell("echo '  namespace: x' >>team/app/inner/a.yaml");
    let (code, packages) = checkout.check(check);
    assert_eq!((code, packages), (Some(0), names(&["app/inner", "app"])));

    // A new file that git does not track.
    checkout.shell("git commit -qam namespace && git tag second");
    checkout.test_env.write("team/db/b.yaml", CONFIG_MAP);
    let second = "kiln fn render --check --changed-since second";
    assert_eq!(checkout.check(second), (Some(3), names(&["db"])));
    let below = "kiln fn render team/app --check --changed-since second";
    assert_eq!(checkout.check(below), (Some(0), names(&[])));
    // Ignored, moved and deleted files.
    checkout.shell(
        "echo b.yaml >team/db/.gitignore && git add . && git commit -qm ignore && git tag third",
    );
    assert_eq!(
        checkout.check("kiln fn render --check --changed-since third"),
        (Some(0), names(&[]))
    );
    checkout.shell("git rm -q team/app/inner/a.yaml");
    let (_, packages) = checkout.check("kiln fn render --check --changed-since third");
    assert_eq!(packages, names(&["app/inner", "app"]));
}

#[test]
fn changes_on_the_other_branch_do_not_count() {
    let checkout = Checkout::new();
    let made = checkout.shell(
        "git checkout -qb feature && echo '  namespace: x' >>team/app/a.yaml && git commit -qam app && \
         git checkout -q main && echo '  namespace: x' >>team/db/a.yaml && git commit -qam db && git checkout -q feature",
    );
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let (_, packages) = checkout.check("kiln fn render --check --changed-since main");
    assert_eq!(packages, names(&["app/inner", "app"]));
}

#[test]
fn a_commit_that_git_does_not_know_is_an_error() {
    let checkout = Checkout::new();
    let ran = checkout.shell("kiln fn render --changed-since nothing");
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("--changed-since nothing"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("hint: "), "{}", ran.stderr);
    let ran = checkout.shell("kiln fn render --changed-since=--output=x");
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(!checkout.test_env.work().join("x").exists());
    let ran =
        checkout.shell("mkdir ../outside && cd ../outside && kiln fn render --changed-since start");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
}

/// The values of a field of all hooks.
fn hook_field(field: &str) -> Vec<String> {
    let hooks = fs::read_to_string(repository().join(".pre-commit-hooks.yaml")).expect("a file");
    let prefix = format!("{field}: ");
    let values = hooks.lines().filter_map(|line| {
        let line = line.trim_start_matches(['-', ' ']);
        Some(line.strip_prefix(&prefix)?.to_owned())
    });
    values.collect()
}

#[test]
fn the_hooks_of_pre_commit_find_and_fix_a_package_that_is_not_rendered() {
    let entries: Vec<(String, String)> = hook_field("id")
        .into_iter()
        .zip(hook_field("entry"))
        .collect();
    assert_eq!(
        entries
            .iter()
            .map(|(id, _)| id.as_str())
            .collect::<Vec<_>>(),
        ["kiln-render", "kiln-render-fix", "kiln-render-changed"]
    );
    for (id, entry) in &entries {
        let checkout = Checkout::new();
        checkout.test_env.write("team/db/b.yaml", CONFIG_MAP);
        // As in a hook of git, which selects its repository by variables.
        let variables = [("GIT_DIR", ".git"), ("GIT_INDEX_FILE", ".git/index")];
        let args = if id == "kiln-render-changed" {
            ""
        } else {
            "team/db"
        };
        let ran = checkout.shell_with(&format!("{entry} {args}"), &variables);
        let is_fix = id == "kiln-render-fix";
        assert_eq!(
            ran.code,
            Some(if is_fix { 0 } else { 3 }),
            "{id}: {}",
            ran.stderr
        );
        let text = fs::read_to_string(checkout.test_env.work().join("team/db/b.yaml"));
        assert_eq!(text.expect("a file").contains("env: prod"), is_fix, "{id}");
    }
}

/// Runs the script of the action, and returns its outcome, outputs and summary.
fn action(checkout: &Checkout, variables: &[(&str, &str)]) -> (Outcome, String, String) {
    let script = repository()
        .join("deploy/ci/github-render")
        .display()
        .to_string();
    let mut all = vec![
        ("GITHUB_OUTPUT", "../output"),
        ("GITHUB_STEP_SUMMARY", "../summary.md"),
    ];
    all.extend(variables);
    checkout.shell(": >../output; : >../summary.md");
    let ran = checkout.shell_with(&script, &all);
    let read =
        |name: &str| fs::read_to_string(checkout.test_env.work().join(name)).expect("a file");
    (ran, read("../output"), read("../summary.md"))
}

#[test]
fn the_action_reports_changes_and_a_summary() {
    let checkout = Checkout::new();
    let (ran, output, summary) = action(&checkout, &[("INPUT_PACKAGE", "team/db")]);
    assert_eq!(
        (ran.code, output.as_str()),
        (Some(0), "changed=false\n"),
        "{}",
        ran.stderr
    );
    assert!(summary.contains("db"), "{summary}");

    checkout.test_env.write("team/db/b.yaml", CONFIG_MAP);
    let report = [
        ("INPUT_PACKAGE", "team/db"),
        ("INPUT_REPORT", "../report.html"),
    ];
    let (ran, output, _) = action(&checkout, &report);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert_eq!(output, "changed=true\nreport-path=../report.html\n");

    let fix = [
        ("INPUT_PACKAGE", "team/db"),
        ("INPUT_CHECK", "false"),
        ("INPUT_ARGS", "--quiet --timings"),
    ];
    let (ran, output, _) = action(&checkout, &fix);
    assert_eq!(
        (ran.code, output.as_str()),
        (Some(0), "changed=true\n"),
        "{}",
        ran.stderr
    );

    let several = [
        ("INPUT_PACKAGE", "team/app team/db"),
        ("INPUT_REPORT", "../none.html"),
    ];
    let (ran, output, _) = action(&checkout, &several);
    assert_eq!(
        (ran.code, output.as_str()),
        (Some(0), "changed=false\n"),
        "{}",
        ran.stderr
    );

    let broken = [("INPUT_PACKAGE", "team/none")];
    let (ran, output, _) = action(&checkout, &broken);
    assert_eq!(
        (ran.code, output.as_str()),
        (Some(1), "changed=false\n"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_release_is_installed_only_with_its_checksum() {
    let test_env = TestEnvironment::new();
    let script = repository().join("deploy/install").display().to_string();
    let made = test_env.shell(
        &test_env.work(),
        "target=$(uname -m)-unknown-linux-musl && mkdir -p releases/v1.2.3 && \
         name=kiln-1.2.3-$target && mkdir -p $name/bin && printf '#!/bin/sh\\necho kiln 1.2.3\\n' >$name/bin/kiln && \
         chmod +x $name/bin/kiln && cd releases/v1.2.3 && tar -czf $name.tar.gz -C ../.. $name && \
         sha256sum $name.tar.gz >SHA256SUMS",
        &[],
    );
    if made.code != Some(0) {
        crate::faults::skip(
            "a_release_is_installed_only_with_its_checksum",
            "tar or sha256sum is not there",
        );
        return;
    }
    let releases = format!("file://{}/releases", test_env.work().display());
    let variables = [
        ("KILN_VERSION", "1.2.3"),
        ("KILN_RELEASES", releases.as_str()),
        ("KILN_BIN", "bin"),
    ];
    let wrong = "0".repeat(64);
    let refused = [&variables[..], &[("KILN_SHA256", wrong.as_str())]].concat();
    let ran = test_env.shell(&test_env.work(), &script, &refused);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("nothing was installed"),
        "{}",
        ran.stderr
    );
    assert!(!test_env.work().join("bin").exists());
    let ran = test_env.shell(
        &test_env.work(),
        &format!("{script} && bin/kiln"),
        &variables,
    );
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "kiln 1.2.3\n"),
        "{}",
        ran.stderr
    );
}
