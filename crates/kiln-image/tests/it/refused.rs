//! Older kernels and restricted containers: an image runs at the next level, or is left to the next evaluator.

use std::process::Command;

use kiln_image::{ImageEvaluator, ImageOptions, IsolationLevel, LevelChoice};
use kiln_runtime::RunError;

use crate::pulls::{PullTest, run};
use crate::refused_calls::ALL;

/// Set to the name of the system in the process that lacks system calls.
const INSIDE: &str = "KILN_TEST_REFUSED_CALLS";

#[test]
fn a_system_without_namespaces_uses_what_comes_next() {
    if let Ok(system) = std::env::var(INSIDE) {
        return check_system(&system);
    }
    for refused in ALL {
        let name = "refused::a_system_without_namespaces_uses_what_comes_next";
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", name]).env(INSIDE, refused.name);
        let output = refused.output(&mut command);
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}: {printed}", refused.name);
        assert!(printed.contains("1 passed"), "{}: {printed}", refused.name);
    }
}

fn check_system(system: &str) {
    let Some(test) = PullTest::new() else {
        return;
    };
    let image = test.image("v1");
    let namespaces = ImageEvaluator::new(ImageOptions {
        levels: LevelChoice::Namespaces,
        ..test.options()
    });
    let error = run(&namespaces, &image).map(|_| ()).unwrap_err();
    assert!(matches!(error, RunError::Unavailable(_)), "{error:?}");
    let any = ImageEvaluator::new(test.options());
    match run(&any, &image) {
        Ok(outcome) => {
            assert!(!system.starts_with("Linux"), "has no Landlock");
            assert_eq!(outcome.exit_code, 0);
            assert_eq!(any.level_used(&image), Some(IsolationLevel::Landlock));
        }
        Err(RunError::NotFound(error)) => {
            let error = error.to_string();
            assert!(error.contains("landlock: "), "{error}");
        }
        Err(error) => panic!("{error:?}"),
    }
}
