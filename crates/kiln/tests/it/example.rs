//! The example package through source and sink: only what kpt's rules change, changes.

use std::fs;
use std::path::{Path, PathBuf};

use crate::test_environment::{TestEnvironment, copy, files};

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/shop")
}

/// Compares with a file of the repository, or writes it if `KILN_UPDATE` is set.
#[track_caller]
pub(crate) fn check_golden(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it")
        .join(name);
    if std::env::var_os("KILN_UPDATE").is_some() {
        fs::write(&path, found).expect("writes");
    }
    let wanted = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        found, wanted,
        "set KILN_UPDATE=1 to accept the change of {name}"
    );
}

#[test]
fn source_and_sink_change_what_the_rules_say() {
    for compat in ["kiln", "kpt"] {
        let test_env = TestEnvironment::new();
        let work = test_env.work();
        copy(&example(), &work.join("shop"));
        let pipe = "set -o pipefail; kiln fn source shop | kiln fn sink out";
        let ran = test_env.shell(&work, pipe, &[("KILN_COMPAT", compat)]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        let diff = test_env.shell(&work, "git diff --no-index --abbrev=7 shop out", &[]);
        check_golden("shop.diff", &diff.stdout);

        // What was written once comes back the same.
        let again = "set -o pipefail; kiln fn source out | kiln fn sink again";
        let ran = test_env.shell(&work, again, &[("KILN_COMPAT", compat)]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(files(&work.join("out")), files(&work.join("again")));
    }
}

#[test]
fn the_pipeline_passes_and_changes_nothing_the_second_time() {
    let test_env = TestEnvironment::new();
    let work = test_env.work();
    copy(&example(), &work.join("shop"));
    let render = || {
        let ran = test_env.shell(&work, "kiln fn render shop", &[]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let mut files = files(&work.join("shop"));
        // What a function reports is kept there, and differs when there is nothing left to do.
        files.remove("Kptfile");
        files
    };
    assert_eq!(render(), render());
}
