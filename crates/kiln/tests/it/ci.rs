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
    // Steps that upload the report find one.
    let reported = checkout.shell(&format!("{check} --report-data ../r.json && cat ../r.json"));
    let report: serde_json::Value = serde_json::from_str(&reported.stdout).expect("a report");
    assert_eq!(report["verdict"], "passed");

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
fn a_check_accepts_what_a_render_wrote() {
    let test_env = TestEnvironment::new();
    let kptfile = kptfile("app").replace("set-labels:v0.2.0", "set-namespace:v0.4.1");
    test_env.write(
        "app/Kptfile",
        &kptfile.replace("env: prod", "namespace: prod"),
    );
    test_env.write("app/a.yaml", CONFIG_MAP);
    let render = |flags: &[&str]| test_env.kiln(&[&["fn", "render", "app"], flags].concat(), "");
    assert_eq!(render(&["--check"]).code, Some(3));
    assert_eq!(render(&[]).code, Some(0));
    // The function reports something else now, which a second render would write into the Kptfile.
    let report = test_env.work().join("r.json").display().to_string();
    let checked = render(&["--check", "--report", &report]);
    assert_eq!(checked.code, Some(0), "{}", checked.stderr);
    assert!(
        checked.stderr.contains("no value changed"),
        "{}",
        checked.stderr
    );
    let report = fs::read_to_string(report).expect("a report");
    assert!(report.contains("\"verdict\": \"passed\""), "{report}");
    let preview = render(&["--dry-run"]);
    assert!(
        preview.stdout.contains("+++ b/Kptfile"),
        "{}",
        preview.stdout
    );
    // A change that was not rendered is one.
    test_env.write("app/b.yaml", &CONFIG_MAP.replace("name: a", "name: b"));
    assert_eq!(render(&["--check"]).code, Some(3));
}

#[test]
fn before_the_first_commit_every_file_is_a_change() {
    let checkout = Checkout::new();
    let made = checkout.shell("rm -rf .git && git init -q . && git add team/db");
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let check = "kiln fn render --check --changed-since HEAD";
    let all = names(&["app/inner", "app", "db"]);
    assert_eq!(checkout.check(check), (Some(0), all));
    assert_eq!(
        checkout.check("kiln fn render --changed-since main").0,
        Some(1)
    );
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
fn a_history_with_two_merge_bases_is_compared_with_one_of_them() {
    let checkout = Checkout::new();
    let made = checkout.shell(
        "git checkout -qb one && git commit -q --allow-empty -m one && git checkout -qb two main && \
         git commit -q --allow-empty -m two && git merge -q one -m both && git checkout -q one && \
         git merge -q two~1 -m both && echo '  namespace: x' >>team/db/a.yaml",
    );
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let (_, packages) = checkout.check("kiln fn render --check --changed-since two");
    assert_eq!(packages, names(&["db"]));
}

#[test]
fn packages_of_repositories_in_the_repository_are_found() {
    let checkout = Checkout::new();
    let made =
        checkout.shell("git init -q vendor && mv team/db team/app vendor && git checkout -q team");
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let check = "kiln fn render --check --changed-since start";
    let all = names(&["app/inner", "app", "db"]);
    assert_eq!(checkout.check(check), (Some(0), all));
    // As a submodule.
    let made = checkout.shell(
        "cd vendor && git add . && git -c user.name=t -c user.email=t@example.com commit -qm vendored && cd .. && \
         git add vendor 2>/dev/null && git commit -qm vendor && git tag -f start",
    );
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert_eq!(checkout.check(check), (Some(0), names(&[])));
    checkout.shell("echo '  namespace: x' >>vendor/db/a.yaml");
    let all = names(&["app/inner", "app", "db"]);
    assert_eq!(checkout.check(check).1, all);
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
    assert!(ran.stderr.contains("in a clone"), "{}", ran.stderr);
    let ran = checkout.shell(
        "git checkout -q --orphan other && git commit -qm other && kiln fn render --changed-since start",
    );
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("no commit is an ancestor"),
        "{}",
        ran.stderr
    );
}

/// Regression: git ran filters that the settings of the repository name.
#[test]
fn the_filters_of_a_repository_are_not_run() {
    let checkout = Checkout::new();
    let made = checkout.shell(
        "git config filter.evil.clean 'touch ran; cat' && git config filter.evil.process 'touch ran' && \
         git config filter.evil.required true && echo '* filter=evil' >.gitattributes && \
         echo '  namespace: x' >>team/db/a.yaml",
    );
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let (_, packages) = checkout.check("kiln fn render --check --changed-since start");
    assert_eq!(packages, names(&["db"]));
    let ran = checkout.shell("find . -name ran | grep .");
    assert_eq!(ran.stdout, "");
}

/// Regression: with a relative GIT_DIR or in a linked work tree, variables of a hook select another repository.
#[test]
fn variables_of_hooks_do_not_select_the_repository() {
    let checkout = Checkout::new();
    let made = checkout.shell(
        "git worktree add -q --detach linked && echo '  namespace: x' >>team/db/a.yaml && \
         echo '  namespace: x' >>linked/team/app/a.yaml && echo linked >.gitignore",
    );
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    for variables in [
        "GIT_DIR=.git",
        "GIT_DIR=$PWD/.git GIT_INDEX_FILE=$PWD/.git/index",
        "GIT_DIR=$PWD/.git/worktrees/linked GIT_INDEX_FILE=$PWD/.git/worktrees/linked/index GIT_PREFIX=",
        "GIT_WORK_TREE=$PWD/linked",
    ] {
        let check = |directory: &str| {
            let script =
                format!("{variables} kiln fn render {directory} --check --changed-since HEAD");
            checkout.check(&script).1
        };
        assert_eq!(check("."), names(&["db"]), "{variables}");
        assert_eq!(check("linked"), names(&["app/inner", "app"]), "{variables}");
    }
}

/// Every git that cannot be used has a message and a hint of its own.
#[test]
fn a_git_that_cannot_be_used_has_a_hint() {
    let checkout = Checkout::new();
    let made = checkout.shell(
        "mkdir ../old ../broken && printf '#!/bin/sh\\necho git version 2.20.1\\n' >../old/git && \
         printf '#!/bin/sh\\ntest \"$1\" = version || { echo fatal: broken >&2; exit 128; }\\n' >../broken/git && \
         chmod +x ../old/git ../broken/git",
    );
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    for (path, expected) in [
        (
            "$(dirname $(command -v kiln))",
            "error: --changed-since HEAD: cannot run git: there is no git on the PATH\n\
             hint: install git 2.31 or newer\n",
        ),
        (
            "$PWD/../old:$PATH",
            "error: --changed-since HEAD: git 2.20.1 is too old: kiln needs git 2.31 or newer; install a newer git\n",
        ),
        (
            "$PWD/../broken:$PATH",
            "error: --changed-since HEAD: git rev-parse failed: broken\n\
             hint: make `git status` work there, or run without --changed-since\n",
        ),
    ] {
        let ran = checkout.shell(&format!("PATH={path} kiln fn render --changed-since HEAD"));
        assert_eq!((ran.code, &*ran.stderr), (Some(1), expected), "{path}");
    }
    for (script, expected) in [
        (
            "kiln fn render --changed-since nothing",
            "error: --changed-since nothing: the repository has no commit, branch or tag \"nothing\"\nhint: name a commit, ",
        ),
        (
            "kiln fn render nowhere --changed-since start",
            "error: --changed-since start: nowhere is not a directory\nhint: name directories that exist\n",
        ),
        (
            "cd .. && kiln fn render --changed-since start",
            "error: --changed-since start: . is not in a git repository\nhint: run the command in a clone, ",
        ),
    ] {
        let ran = checkout.shell(script);
        assert_eq!(ran.code, Some(1), "{script}");
        assert!(ran.stderr.starts_with(expected), "{script}: {}", ran.stderr);
    }
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
    for annotation in [
        "::error file=team/db/b.yaml,line=5,title=kiln::rendering would change this file\n",
        "::error title=kiln::Would change ",
    ] {
        assert!(ran.stderr.contains(annotation), "{}", ran.stderr);
    }

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
    let warning = "::warning title=kiln::no report is written";
    assert!(ran.stdout.contains(warning), "{}", ran.stdout);

    // One in each line, so that names may have blanks.
    checkout.shell("cp -r team/db 'team/a b'");
    let lines = [
        ("INPUT_PACKAGE", "team/app\n  team/a b\n"),
        ("INPUT_LOCK", "true"),
    ];
    let (ran, output, _) = action(&checkout, &lines);
    assert_eq!(
        (ran.code, output.as_str()),
        (Some(1), "changed=false\n"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.matches("has no kiln.lock").count() >= 2,
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
fn the_action_refuses_inputs_that_it_would_misread() {
    let checkout = Checkout::new();
    checkout.test_env.write("team/db/b.yaml", CONFIG_MAP);
    for (input, value) in [
        ("INPUT_CHECK", "yes"),
        ("INPUT_CHECK", "True"),
        ("INPUT_LOCK", "1"),
        ("INPUT_REPORT", "r\nevil=1.html"),
    ] {
        let (ran, output, _) = action(&checkout, &[("INPUT_PACKAGE", "team/db"), (input, value)]);
        assert_eq!((ran.code, output.as_str()), (Some(2), ""), "{value}");
        let message = format!(
            "::error title=kiln::the input \"{}\" must be ",
            input.trim_start_matches("INPUT_").to_lowercase()
        );
        assert!(ran.stdout.starts_with(&message), "{}", ran.stdout);
        assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    }
    let text = fs::read_to_string(checkout.test_env.work().join("team/db/b.yaml"));
    assert_eq!(text.expect("a file"), CONFIG_MAP);
}

#[test]
fn the_action_annotates_files_of_several_packages() {
    let checkout = Checkout::new();
    for package in ["team/app", "team/db"] {
        checkout
            .test_env
            .write(&format!("{package}/b.yaml"), CONFIG_MAP);
    }
    let (ran, output, _) = action(&checkout, &[("INPUT_CHANGED_SINCE", "start")]);
    assert_eq!((ran.code, output.as_str()), (Some(3), "changed=true\n"));
    for file in ["team/app/b.yaml", "team/db/b.yaml"] {
        let annotation = format!("::error file={file},line=");
        assert!(ran.stderr.contains(&annotation), "{}", ran.stderr);
    }
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
