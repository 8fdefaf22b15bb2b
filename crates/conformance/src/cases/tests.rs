//! The verdicts on cases, with a small shell script as the program under test.

use std::fs;
use std::path::{Path, PathBuf};

use super::{CaseTally, Suite};

/// A tree with one case, `tree/a`, that runs `kpt` on a file; the program under test is a shell script.
struct Tree {
    dir: tempfile::TempDir,
}

impl Tree {
    fn new(program: &str, config: &str, patch: &str) -> Tree {
        let tree = Tree {
            dir: tempfile::tempdir().unwrap(),
        };
        tree.write("tree/commands.yaml", "a:\n  run:\n  - kpt x.yaml\n");
        tree.write("tree/a/x.yaml", "a: 1\n");
        tree.write("tree/a/.expected/config.yaml", config);
        tree.write("tree/a/.expected/about.txt", "a case\n");
        tree.write("tree/a/.expected/diff.patch", patch);
        tree.write("program", &format!("#!/bin/sh\n{program}\n"));
        let path = tree.dir.path().join("program");
        super::process::run(
            std::process::Command::new("chmod").arg("+x").arg(path),
            tree.dir.path(),
        )
        .unwrap();
        tree
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn run(&self) -> (CaseTally, String) {
        self.run_in(super::Mode::Recorded)
    }

    fn run_in(&self, mode: super::Mode) -> (CaseTally, String) {
        let mut out = Vec::new();
        let bin: PathBuf = self.dir.path().join("program");
        let suite = Suite {
            bin: &bin,
            fake_docker: None,
            catalog: super::Catalog::BuiltIn,
            only: None,
            jobs: Some(1),
            mode,
            verbose: true,
        };
        let tally = suite.run(&[self.dir.path().join("tree")], &mut out);
        (tally.unwrap(), String::from_utf8(out).unwrap())
    }
}

const PATCH: &str = "\
diff --git a/x.yaml b/x.yaml
index a8926a5..9dfc208 100644
--- a/x.yaml
+++ b/x.yaml
@@ -1 +1 @@
-a: 1
+a: 2
";

#[track_caller]
fn check(program: &str, config: &str, passed: bool, message: &str) {
    let (tally, out) = Tree::new(program, config, PATCH).run();
    assert_eq!(
        (tally.passed, tally.failed == 0),
        (usize::from(passed), passed),
        "{out}"
    );
    assert!(out.contains(message), "{out}");
}

#[test]
fn a_case_passes_when_everything_is_as_recorded() {
    check("echo 'a: 2' > $1", "exitCode: 0\n", true, "ok    tree/a");
    let config = "exitCode: 3\nstdErr: \"oops\\n\"\nstdOut: out\n";
    let program = "echo 'a: 2' > $1; printf out; echo oops >&2; exit 3";
    check(program, config, true, "ok    tree/a");
}

#[test]
fn every_difference_fails_a_case() {
    check(
        "echo 'a: 3' > $1",
        "exitCode: 0\n",
        false,
        "git diff (- wanted, + got)",
    );
    check("true", "exitCode: 0\n", false, "git diff");
    check("echo 'a: 2' > $1; touch new", "", false, "new file mode");
    check(
        "echo 'a: 2' > $1; exit 3",
        "exitCode: 0\n",
        false,
        "exit code 3, wanted 0",
    );
    check("echo 'a: 2' > $1; echo x", "exitCode: 0\n", false, "stdout");
    check(
        "echo 'a: 2' > $1; echo x >&2",
        "exitCode: 0\n",
        false,
        "stderr",
    );
}

#[test]
fn durations_and_places_do_not_count() {
    let program =
        "echo 'a: 2' > $1; echo '[PASS] \"sed -e x\" in 1.203s' >&2; echo \"$PWD/x.yaml\" >&2";
    let config = "stdErr: |\n  [PASS] \"sed -e x\" in 0s\n  a/x.yaml\n";
    check(program, config, true, "ok");
}

/// A tree whose case calls `kpt fn eval` on an image, which calls docker with these words and the image.
fn with_engine(words: &str, image: &str) -> Tree {
    let program = format!("docker {words} $5");
    let tree = Tree::new(&program, "exitCode: 0\n", PATCH);
    let run = format!("a:\n  run:\n  - kpt fn eval x.yaml --image {image}\n");
    tree.write("tree/commands.yaml", &run);
    tree
}

const RUN: &str =
    "run --rm -i --network none --user nobody --security-opt=no-new-privileges --pull missing";

#[test]
fn a_case_that_needs_an_image_is_skipped_with_the_reason() {
    let (tally, out) = with_engine(RUN, "example.com/fn:v1").run();
    assert_eq!(tally.skipped, 1, "{out}");
    assert!(out.contains("needs the image example.com/fn:v1"), "{out}");
    // An image that does not exist is not a reason.
    let (tally, out) = with_engine(RUN, "example.com/dne:v1").run();
    assert_eq!(tally.failed, 1, "{out}");
}

#[test]
fn an_engine_must_be_called_as_kpt_calls_it() {
    let (tally, out) = with_engine(&RUN.replace("none", "host"), "example.com/fn:v1").run();
    assert_eq!(tally.failed, 1, "{out}");
    assert!(out.contains("the engine was called with"), "{out}");
}

#[test]
fn the_default_mode_may_write_as_it_likes_but_not_more() {
    let check = |program: &str, passed: bool, message: &str| {
        let tree = Tree::new(program, "stdErr: words\n", PATCH);
        let (tally, out) = tree.run_in(super::Mode::Default);
        assert_eq!(tally.failed == 0, passed, "{out}");
        assert!(out.contains(message), "{out}");
    };
    check("echo 'a: 2' > $1", true, "ok");
    check("echo '{\"a\": 2}' > $1; echo other words >&2", true, "ok");
    check("echo 'a: 3' > $1", false, "x.yaml");
    check("echo 'a: 2' > $1; exit 1", false, "exit code 1");
    check("printf '# c\\na: 2\\n' > $1", false, "3 lines changed");
}

#[test]
fn legacy_cases_are_compared_by_value() {
    let config = "testType: run\n";
    check("echo '{\"a\": 2}' > $1", config, true, "ok");
    check("echo 'a: \"2\"' > $1", config, false, "x.yaml");
    check(
        "echo 'a: 2' > $1; touch new",
        config,
        false,
        "new is not expected",
    );
    check("rm $1", config, false, "x.yaml is missing");
}

#[test]
fn the_lists_are_well_formed() {
    super::gaps::Gaps::read(Path::new(super::KNOWN_GAPS)).unwrap();
    super::better::Better::read(Path::new(super::BETTER)).unwrap();
}
