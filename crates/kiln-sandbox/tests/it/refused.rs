//! Older kernels and restricted containers: what they lack shows in the type of the error.

use std::process::Command;

use kiln_sandbox::{ImageSandbox, IsolationLevel, SandboxError};

use crate::refused_calls::ALL;

/// Set in the process that lacks system calls.
const INSIDE: &str = "KILN_TEST_REFUSED_CALLS";

#[test]
fn levels_that_do_not_work_have_typed_errors() {
    if std::env::var_os(INSIDE).is_some() {
        return check_levels();
    }
    for refused in ALL {
        let name = "refused::levels_that_do_not_work_have_typed_errors";
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", name]).env(INSIDE, "1");
        let output = refused.output(&mut command);
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}: {printed}", refused.name);
        assert!(printed.contains("1 passed"), "{}: {printed}", refused.name);
    }
}

fn check_levels() {
    for probe in ImageSandbox::probe(&std::env::temp_dir()) {
        match (probe.level, probe.outcome) {
            (IsolationLevel::Landlock, Ok(()) | Err(SandboxError::Unsupported { .. })) => {}
            (_, Err(SandboxError::Isolate(_))) => {}
            (level, outcome) => panic!("{level}: {outcome:?}"),
        }
    }
}
