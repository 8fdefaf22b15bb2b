//! `kiln.lock`: written by renders and by `kiln lock`, used by renders, checked, proven and moved.

mod branches;
mod images;
mod matrix;
mod ranges;

use std::fs;

use crate::test_environment::{Outcome, TestEnvironment};

const RESOURCE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: prod\n";
const NAMESPACE: &str = "{image: set-namespace, tag: ~0.4, configMap: {namespace: prod}}";
const CATALOG: &str = "ghcr.io/kptdev/krm-functions-catalog";

/// A package with a lock file, or without.
pub(crate) struct LockTest {
    pub(crate) test_env: TestEnvironment,
}

impl LockTest {
    pub(crate) fn new(functions: &[&str]) -> LockTest {
        let test = LockTest {
            test_env: TestEnvironment::new(),
        };
        test.functions(functions);
        test.test_env.write("pkg/a.yaml", RESOURCE);
        test
    }

    /// Replaces the pipeline.
    pub(crate) fn functions(&self, functions: &[&str]) {
        let mut kptfile =
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n"
                .to_owned();
        for function in functions {
            kptfile.push_str(&format!("  - {function}\n"));
        }
        self.test_env.write("pkg/Kptfile", &kptfile);
    }

    pub(crate) fn kiln(&self, words: &str) -> Outcome {
        let words: Vec<&str> = words.split(' ').collect();
        self.test_env.kiln(&words, "")
    }

    /// Runs a command with an expected exit code.
    #[track_caller]
    pub(crate) fn run(&self, words: &str, code: i32) -> Outcome {
        let ran = self.kiln(words);
        assert_eq!(ran.code, Some(code), "{words}: {ran:?}");
        ran
    }

    /// The lock file; `None` if there is none.
    pub(crate) fn lock(&self) -> Option<String> {
        fs::read_to_string(self.test_env.work().join("pkg/kiln.lock")).ok()
    }

    /// Replaces the lock file.
    pub(crate) fn write_lock(&self, entries: &str) {
        let text = format!("version: 1\nfunctions:\n{entries}upstream: []\n");
        self.test_env.write("pkg/kiln.lock", &text);
    }
}

fn text_of(entries: &str) -> String {
    format!(
        "# Made by kiln. Commit it; `kiln lock --update` renews it.\nversion: 1\nfunctions:\n{entries}upstream: []\n"
    )
}

/// An entry of `set-namespace` in a version.
fn namespace_entry(version: &str, behaviour: u32) -> String {
    format!(
        "- image: set-namespace\n  tag: ~0.4\n  resolved: {CATALOG}/set-namespace:{version}\n  \
         native: set-namespace@{version}#{behaviour}\n"
    )
}

#[test]
fn a_render_writes_the_lock_that_the_next_one_uses() {
    let test = LockTest::new(&[NAMESPACE, "{image: builtins/gen-pkg-context}"]);
    test.run("fn render pkg", 0);
    assert_eq!(test.lock(), None);
    let ran = test.run("fn render pkg --lock", 0);
    assert!(ran.stderr.contains("kiln.lock"), "{}", ran.stderr);
    let lock = text_of(&namespace_entry("v0.4.5", 1));
    assert_eq!(test.lock(), Some(lock.clone()));
    for words in [
        "fn render pkg",
        "fn render pkg --lock",
        "fn render pkg --frozen",
        "fn render pkg --locked --check",
        "lock pkg --check",
        "lock pkg",
    ] {
        test.run(words, 0);
        assert_eq!(test.lock(), Some(lock.clone()), "{words}");
    }
    // It is a file of the package, but not a resource.
    let source = test.run("fn source pkg", 0).stdout;
    assert!(!source.contains("resolved"), "{source}");
}

#[test]
fn the_lock_decides_which_version_runs() {
    let test = LockTest::new(&[NAMESPACE]);
    let old = namespace_entry("v0.4.1", 1);
    test.write_lock(&old);
    let before = test.lock();
    let ran = test.run("fn render pkg --timings", 0);
    let identity = "native:set-namespace@v0.4.1#1";
    assert!(ran.stderr.contains(identity), "{}", ran.stderr);
    assert_eq!(test.lock(), before);
    // The version is that of the lock also where the lock file is not written.
    for words in [
        "fn render pkg -o unwrap --timings",
        "fn render pkg --dry-run --timings",
    ] {
        let ran = test.run(words, 0);
        assert!(ran.stderr.contains(identity), "{words}: {}", ran.stderr);
    }
    // kpt has no lock files, and an invalid one does not matter there.
    test.test_env.write("pkg/kiln.lock", "no lock\n");
    test.run("fn render pkg --compat=kpt", 0);
    let refused = test.run("fn render pkg --compat=kpt --lock", 1);
    assert!(
        refused.stderr.contains("--lock is not a flag of kpt"),
        "{}",
        refused.stderr
    );
    let refused = test.run("lock pkg --compat=kpt", 1);
    assert!(
        refused.stderr.contains("not a command of kpt"),
        "{}",
        refused.stderr
    );
    let refused = test.run("fn render pkg", 1);
    assert!(
        refused.stderr.contains("pkg/kiln.lock:1: "),
        "{}",
        refused.stderr
    );
}

#[test]
fn an_update_prints_old_and_new() {
    let labels = "{image: 'set-labels:v0.2.0', configMap: {tier: db}}";
    let test = LockTest::new(&[NAMESPACE, labels]);
    test.write_lock(&namespace_entry("v0.4.1", 1));
    // Only what is missing.
    let ran = test.run("lock pkg", 0);
    let resolved = format!("{CATALOG}/set-labels:v0.2.0");
    let added = format!("set-labels:v0.2.0: added {resolved} (built in: set-labels@v0.2.0#1)\n");
    assert_eq!(ran.stdout, added);
    let checked = test.run("lock pkg --check --outdated", 3);
    let (old, new) = (
        format!("{CATALOG}/set-namespace:v0.4.1"),
        format!("{CATALOG}/set-namespace:v0.4.5"),
    );
    assert_eq!(
        checked.stdout,
        format!("set-namespace (~0.4): outdated, {old} → {new}\n")
    );
    assert_eq!(test.run("lock pkg --update set-labels", 0).stdout, "");
    let unknown = test.run("lock pkg --update set-lables", 1);
    assert!(
        unknown.stderr.contains("did you mean set-labels?"),
        "{}",
        unknown.stderr
    );
    let ran = test.run("lock pkg --update set-namespace", 0);
    assert_eq!(
        ran.stdout,
        format!(
            "set-namespace (~0.4): {old} (built in: set-namespace@v0.4.1#1) → {new} (built in: \
             set-namespace@v0.4.5#1)\n"
        )
    );
    test.run("lock pkg --check --outdated", 0);
    // What no Kptfile names is removed by `lock`, and left by renders.
    test.functions(&[labels]);
    let both = test.lock();
    test.run("fn render pkg --locked", 0);
    assert_eq!(test.lock(), both);
    let checked = test.run("lock pkg --check", 3);
    assert_eq!(
        checked.stdout,
        "set-namespace (~0.4): superfluous, no Kptfile names it\n"
    );
    test.run("lock pkg", 0);
    let lock = test.lock().expect("a lock");
    assert!(!lock.contains("set-namespace"), "{lock}");
}

#[test]
fn functions_of_sub_packages_are_in_the_lock_of_the_root() {
    let test = LockTest::new(&[NAMESPACE]);
    let inner = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: db\npipeline:\n  validators:\n  \
                 - {image: set-namespace, tag: ~0.4, configMap: {namespace: prod}}\n  \
                 - {image: 'set-labels:v0.2.0', configMap: {tier: db}}\n";
    test.test_env.write("pkg/db/Kptfile", inner);
    test.test_env
        .write("pkg/db/kiln.lock", "not used by the root package\n");
    test.run("fn render pkg --lock", 0);
    let lock = test.lock().expect("a lock");
    assert_eq!(lock.matches("- image").count(), 2, "{lock}");
    test.run("fn render pkg/db", 1);
}

#[test]
fn a_failed_render_does_not_write_the_lock() {
    let broken = "{image: starlark:v0.5.0, configMap: {source: 'fail(1)'}}";
    let test = LockTest::new(&[NAMESPACE, broken]);
    test.run("fn render pkg --lock", 1);
    assert_eq!(test.lock(), None);
}

/// A Kptfile that names a digest gets this image.
#[test]
fn a_digest_in_the_kptfile_is_not_replaced_by_the_lock() {
    let named = format!("example.com/fn@sha256:{}", "a".repeat(64));
    let other = format!("sha256:{}", "b".repeat(64));
    let test = LockTest::new(&[&format!("{{image: '{named}'}}")]);
    test.write_lock(&format!(
        "- image: {named}\n  resolved: {named}\n  digest: {other}\n"
    ));
    let before = test.lock();
    for words in [
        "fn render pkg",
        "fn render pkg --locked",
        "lock pkg --check",
        "lock pkg",
        "policy check pkg",
    ] {
        let refused = test.run(words, 1);
        let expected = "pkg/kiln.lock:5: digest is not the one that `resolved` names: sha256:aaaa";
        assert!(refused.stderr.contains(expected), "{words}: {refused:?}");
        assert_eq!(test.lock(), before);
    }
}

#[test]
fn a_range_is_not_blamed_if_no_registry_may_be_asked() {
    let test = LockTest::new(&["{image: example.com/fn, tag: ~1.0}"]);
    let image = "example.com/fn:v1.0.0";
    test.write_lock(&format!(
        "- image: example.com/fn\n  tag: ~1.0\n  resolved: {image}\n  digest: sha256:{}\n",
        "a".repeat(64)
    ));
    let words = "lock pkg --check --outdated --image-pull-policy=Never";
    let failed = test.run(words, 1);
    let expected = "(registries are not queried)";
    assert!(failed.stderr.contains(expected), "{}", failed.stderr);
}
