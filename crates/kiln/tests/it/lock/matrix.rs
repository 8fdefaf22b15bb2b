//! What renders do, by the state of the lock file and the flags.

use super::{CATALOG, LockTest, NAMESPACE, namespace_entry, text_of};

/// What happens to the lock file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lock {
    Stays,
    IsComplete,
}

const FLAGS: [&str; 6] = ["", "--lock", "--locked", "--frozen", "--check", "--dry-run"];

/// Checks the exit codes of all flags, and which of them complete the lock file.
#[track_caller]
fn check(entries: Option<&str>, prefix: &str, expected: [(i32, Lock); 6]) {
    for (flag, (code, outcome)) in FLAGS.into_iter().zip(expected) {
        let test = LockTest::new(&[NAMESPACE]);
        // So that only the lock file can change.
        test.run("fn render pkg", 0);
        if let Some(entries) = entries {
            test.write_lock(entries);
        }
        let before = test.lock();
        let words = ["fn render pkg", prefix, flag].join(" ");
        let ran = test.run(
            words
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .as_str(),
            code,
        );
        let complete =
            text_of(&namespace_entry("v0.4.5", 1).replace(CATALOG, image_prefix(prefix)));
        match outcome {
            Lock::Stays => assert_eq!(test.lock(), before, "{entries:?} {flag}: {ran:?}"),
            Lock::IsComplete => assert_eq!(test.lock(), Some(complete), "{entries:?} {flag}"),
        }
        if code == 1 {
            assert!(
                ran.stderr.contains("set-namespace (~0.4)"),
                "{}",
                ran.stderr
            );
        }
    }
}

fn image_prefix(flag: &str) -> &str {
    flag.strip_prefix("--image-prefix=").unwrap_or(CATALOG)
}

#[test]
fn a_render_follows_the_lock_and_the_flags() {
    use Lock::{IsComplete, Stays};
    let complete = namespace_entry("v0.4.5", 1);
    let other =
        "- image: set-labels\n  resolved: h/set-labels:latest\n  native: set-labels@v0.2.0#1\n";
    let stays = (0, Stays);
    check(
        None,
        "",
        [stays, (0, IsComplete), (1, Stays), (1, Stays), stays, stays],
    );
    check(Some(&complete), "", [stays; 6]);
    // The entry of another prefix is another entry.
    let prefix = "--image-prefix=gcr.io/kpt-fn";
    check(
        Some(&complete),
        prefix,
        [
            (0, IsComplete),
            (0, IsComplete),
            (1, Stays),
            (1, Stays),
            (3, Stays),
            stays,
        ],
    );
    // Another kiln wrote it.
    let foreign = namespace_entry("v0.4.5", 999);
    check(Some(&foreign), "", [(1, Stays); 6]);
    // A tag that the Kptfile does not ask for.
    let outside = namespace_entry("v0.3.4", 1);
    check(
        Some(&outside),
        "",
        [
            (0, IsComplete),
            (0, IsComplete),
            (1, Stays),
            (1, Stays),
            (3, Stays),
            stays,
        ],
    );
    // An entry that is missing is added beside the others.
    let test = LockTest::new(&[NAMESPACE]);
    test.write_lock(other);
    let refused = test.run("fn render pkg --locked", 1);
    let wanted = "kiln.lock has no matching entries for: set-namespace (~0.4)";
    assert!(refused.stderr.contains(wanted), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("run `kiln lock`"),
        "{}",
        refused.stderr
    );
    test.run("fn render pkg", 0);
    let entries = format!("{other}{}", namespace_entry("v0.4.5", 1));
    assert_eq!(test.lock(), Some(text_of(&entries)));
}

#[test]
fn a_lock_that_would_change_is_a_difference() {
    let test = LockTest::new(&[NAMESPACE]);
    test.run("fn render pkg", 0);
    let checked = test.run("fn render pkg --lock --check", 3);
    assert!(
        checked.stderr.contains("Would change 1 file: kiln.lock"),
        "{}",
        checked.stderr
    );
    let shown = test.run("fn render pkg --lock --dry-run", 0);
    assert!(shown.stdout.contains("+++ b/kiln.lock"), "{}", shown.stdout);
    assert_eq!(test.lock(), None);
}

#[test]
fn the_lock_is_written_in_place_only() {
    let test = LockTest::new(&[NAMESPACE]);
    test.run("fn render pkg --lock -o stdout", 2);
    test.run("fn render pkg --lock --locked", 2);
    test.run("fn render pkg --frozen --runner localhost:1", 2);
    test.write_lock(&namespace_entry("v0.4.1", 1));
    test.functions(&[
        NAMESPACE,
        "{image: 'set-labels:v0.2.0', configMap: {tier: db}}",
    ]);
    let before = test.lock();
    for words in ["fn render pkg -o unwrap", "fn render pkg -o out"] {
        test.run(words, 0);
        assert_eq!(test.lock(), before, "{words}");
    }
    assert!(!test.test_env.work().join("out/kiln.lock").exists());
    test.run("fn render pkg -o unwrap --locked", 1);
}

#[test]
fn an_entry_without_a_digest_does_not_run_as_an_image() {
    let test = LockTest::new(&[NAMESPACE]);
    test.write_lock(&namespace_entry("v0.4.1", 1));
    let refused = test.run("fn render pkg --frozen --no-native", 1);
    assert!(
        refused.stderr.contains("set-namespace (~0.4)"),
        "{}",
        refused.stderr
    );
}
