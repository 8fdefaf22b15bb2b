//! `--exec-sandbox`, from the outside.

use std::fs;

use crate::test_environment::TestEnvironment;

const PIPELINE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n  - exec: ./fn.sh\n";

/// Does its work, and leaves a note where it should not.
const FUNCTION: &str = "#!/bin/sh\ncat\necho was here >\"${0%/*}/note\"\nexit 0\n";

fn test_env() -> TestEnvironment {
    let test_env = TestEnvironment::new();
    test_env.write("pkg/Kptfile", PIPELINE);
    test_env.write_program("fn.sh", FUNCTION);
    test_env
}

#[test]
#[cfg(target_os = "linux")]
fn strict_keeps_a_program_from_writing() {
    for (mode, is_free) in [
        ("--exec-sandbox=off", true),
        ("--exec-sandbox=strict", false),
    ] {
        for words in [
            ["fn", "render", "pkg", "--allow-exec", mode].as_slice(),
            &["fn", "eval", "pkg", "--exec", "./fn.sh", mode],
        ] {
            let test_env = test_env();
            let ran = test_env.kiln(words, "");
            if ran.stderr.contains("cannot run functions in a sandbox") {
                skip(&ran.stderr);
                return;
            }
            assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.stderr);
            let note = test_env.work().join("note");
            assert_eq!(note.exists(), is_free, "{words:?}: {}", ran.stderr);
            let _ = fs::remove_file(note);
        }
    }
}

#[expect(clippy::print_stderr, reason = "a skipped test prints it")]
#[cfg(target_os = "linux")]
fn skip(reason: &str) {
    eprintln!("SKIPPED: {reason}");
}

#[test]
fn there_is_nothing_between_strict_and_off() {
    let ran = test_env().kiln(&["fn", "render", "pkg", "--exec-sandbox=maybe"], "");
    assert_ne!(ran.code, Some(0));
    assert!(
        ran.stderr.contains("must be one of: strict, off"),
        "{}",
        ran.stderr
    );
}
