//! Lock files of two branches, merged by git.

use super::LockTest;
use crate::faults::skip;

const NAMES: [&str; 6] = [
    "apply-setters:v0.2.0",
    "set-annotations:v0.1.4",
    "set-image:v0.1.1",
    "set-labels:v0.2.0",
    "set-namespace:v0.4.5",
    "upsert-resource:v0.2.0",
];

/// Locks some of the functions.
fn lock(test: &LockTest, numbers: &[usize]) {
    let functions: Vec<String> = numbers
        .iter()
        .map(|&number| format!("image: '{}'", NAMES[number]))
        .collect();
    let functions: Vec<&str> = functions.iter().map(String::as_str).collect();
    test.functions(&functions);
    test.run("lock pkg", 0);
}

/// Commits the lock file on a branch of its own, which begins at the first commit.
fn commit(test: &LockTest, branch: &str) {
    let script = format!(
        "set -e; git checkout -q -b {branch} base; git add kiln.lock; git commit -q -m {branch}"
    );
    git(test, &script, 0);
}

#[track_caller]
fn git(test: &LockTest, script: &str, code: i32) -> String {
    let variables = [
        ("GIT_AUTHOR_NAME", "a"),
        ("GIT_AUTHOR_EMAIL", "a@example.com"),
        ("GIT_COMMITTER_NAME", "a"),
        ("GIT_COMMITTER_EMAIL", "a@example.com"),
    ];
    let ran = test
        .test_env
        .shell(&test.test_env.work().join("pkg"), script, &variables);
    assert_eq!(ran.code, Some(code), "{script}: {ran:?}");
    ran.stdout
}

#[test]
fn two_branches_merge_or_conflict_cleanly() {
    let test = LockTest::new(&[]);
    let pkg = test.test_env.work().join("pkg");
    if test.test_env.shell(&pkg, "git --version", &[]).code != Some(0) {
        return skip("two_branches_merge_or_conflict_cleanly", "git is not there");
    }
    let base = [1, 3, 4];
    lock(&test, &base);
    git(
        &test,
        "set -e; git init -q -b base; git add kiln.lock; git commit -q -m base",
        0,
    );
    lock(&test, &[0, 1, 3, 4]);
    commit(&test, "first");
    git(&test, "git checkout -q base", 0);
    lock(&test, &[1, 3, 4, 5]);
    commit(&test, "last");
    git(&test, "git merge -q --no-edit first", 0);
    // The same file as from the functions of both branches.
    let merged = test.lock();
    lock(&test, &[0, 1, 3, 4, 5]);
    assert_eq!(test.lock(), merged);
    test.run("lock pkg --check", 0);

    // Both branches change the same lines.
    git(&test, "git checkout -q base", 0);
    lock(&test, &[1, 2, 3, 4]);
    commit(&test, "middle");
    git(&test, "git checkout -q base", 0);
    lock(&test, &[1, 4]);
    commit(&test, "without");
    git(&test, "git merge -q --no-edit middle", 1);
    let refused = test.run("lock pkg", 1);
    let wanted = "the lock file has a merge conflict";
    assert!(refused.stderr.contains(wanted), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("pkg/kiln.lock:"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("take the file of either branch"),
        "{}",
        refused.stderr
    );
    test.run("fn render pkg", 1);
    git(&test, "git checkout -q --ours kiln.lock", 0);
    lock(&test, &[1, 2, 4]);
    test.run("lock pkg --check", 0);
}
