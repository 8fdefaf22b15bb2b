//! Why the program of an image does not start. The error of the system names the program, but not what it lacks.

use kiln_oci::Platform;
use kiln_runtime::{ExecProblem, RunError, StartError};
use kiln_store::ExecutableFormat;

use crate::command::PreparedImage;
use crate::error::ImageRunError;

/// Why the program of an image does not start.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StartProblem {
    #[error("the image is for {image}, and this machine is {machine}")]
    Platform { image: Platform, machine: Platform },
    #[error("it is a program for another architecture (ELF machine {0})")]
    Machine(u16),
    #[error("it needs {0}, which the image does not have")]
    Interpreter(String),
    #[error("the user of the function may not execute it")]
    Permission,
    #[error("it is neither a program nor a script that starts with #!")]
    NotAProgram,
    #[error(transparent)]
    Other(StartError),
}

/// The same error, in terms of the image if the program was not started.
pub(crate) fn explain(image: &str, prepared: &PreparedImage, error: RunError) -> RunError {
    let RunError::NotStarted(error) = error else {
        return error;
    };
    RunError::Unavailable(Box::new(ImageRunError::NotStarted {
        image: image.to_owned(),
        program: prepared.program.path.clone(),
        source: Box::new(problem(
            &prepared.program.format,
            &prepared.image.meta().platform,
            error,
        )),
    }))
}

fn problem(format: &ExecutableFormat, platform: &Platform, error: StartError) -> StartProblem {
    let StartError::ForkExec { problem, .. } = &error else {
        return StartProblem::Other(error);
    };
    match (problem, format) {
        (
            ExecProblem::NotFound,
            ExecutableFormat::Elf {
                interpreter: Some(interpreter),
                ..
            }
            | ExecutableFormat::Script { interpreter, .. },
        ) => StartProblem::Interpreter(interpreter.clone()),
        (ExecProblem::NotAProgram, ExecutableFormat::Elf { machine, .. }) => {
            let this = Platform::this_machine();
            match platform.architecture == this.architecture {
                true => StartProblem::Machine(*machine),
                false => StartProblem::Platform {
                    image: platform.clone(),
                    machine: this,
                },
            }
        }
        (ExecProblem::NotAProgram, ExecutableFormat::Other) => StartProblem::NotAProgram,
        (ExecProblem::PermissionDenied, _) => StartProblem::Permission,
        _ => StartProblem::Other(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(exec: ExecProblem, format: ExecutableFormat, architecture: &str, expected: &str) {
        let error = StartError::ForkExec {
            program: "/fn".to_owned(),
            problem: exec,
            reason: "as the system says".to_owned(),
        };
        let platform = match architecture {
            "" => Platform::this_machine(),
            other => Platform::linux(other),
        };
        assert_eq!(problem(&format, &platform, error).to_string(), expected);
    }

    #[test]
    fn the_missing_part_is_named() {
        let elf = |interpreter: Option<&str>| ExecutableFormat::Elf {
            machine: 22,
            interpreter: interpreter.map(str::to_owned),
        };
        let script = || ExecutableFormat::Script {
            interpreter: "/bin/bash".to_owned(),
            argument: None,
        };
        check(
            ExecProblem::NotFound,
            elf(Some("/lib/ld.so")),
            "",
            "it needs /lib/ld.so, which the image does not have",
        );
        check(
            ExecProblem::NotFound,
            script(),
            "",
            "it needs /bin/bash, which the image does not have",
        );
        check(
            ExecProblem::NotFound,
            elf(None),
            "",
            "fork/exec /fn: as the system says",
        );
        check(
            ExecProblem::NotAProgram,
            elf(None),
            "",
            "it is a program for another architecture (ELF machine 22)",
        );
        let machine = Platform::this_machine();
        check(
            ExecProblem::NotAProgram,
            elf(None),
            "s390x",
            &format!("the image is for linux/s390x, and this machine is {machine}"),
        );
        check(
            ExecProblem::NotAProgram,
            ExecutableFormat::Other,
            "",
            "it is neither a program nor a script that starts with #!",
        );
        check(
            ExecProblem::PermissionDenied,
            script(),
            "",
            "the user of the function may not execute it",
        );
    }
}
