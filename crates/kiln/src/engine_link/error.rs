//! Why a call by the name of an engine failed, in the form and with the exit codes of engines.

use std::error::Error;
use std::process::ExitCode;

use kiln_container::Engine;
use kiln_image::{ImageRunError, LeftToNext, StartProblem};
use kiln_policy::PolicyRefusal;
use kiln_runtime::{ExecProblem, RunError, StartError};

use super::real_engine_variable;
use crate::error::is_closed_output;
use crate::functions::container_functions;
use crate::functions::policy;
use crate::functions::unknown_function::unknown_image;
use crate::interrupt;

/// The exit code of engines for their own errors.
const ENGINE_FAILED: u8 = 125;
/// The exit code of engines for a program that cannot be executed.
const NOT_EXECUTABLE: u8 = 126;
/// The exit code of engines for a program that does not exist.
const NOT_FOUND: u8 = 127;

pub(super) struct EngineLinkError {
    /// `None` if whatever reads the output has closed it, which is no failure.
    message: Option<String>,
    hint: Option<String>,
    pub(super) code: ExitCode,
}

impl EngineLinkError {
    pub(super) fn new(message: impl Into<String>) -> EngineLinkError {
        EngineLinkError {
            message: Some(message.into()),
            hint: None,
            code: ExitCode::from(ENGINE_FAILED),
        }
    }

    pub(super) fn with_hint(self, hint: impl Into<String>) -> EngineLinkError {
        EngineLinkError {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// A command line that no function tool sends.
    pub(super) fn unknown_word(engine: Engine, word: &str) -> EngineLinkError {
        let (name, variable) = (engine.program(), real_engine_variable(engine));
        EngineLinkError::new(format!(
            "this {name} is a link to kiln, which runs the functions of kustomize and kpt and does not know {word:?}"
        ))
        .with_hint(format!(
            "install {name}, or set {variable} to its path; kiln passes on what it does not know"
        ))
    }

    /// A function that did not run to its end.
    pub(super) fn not_run(image: &str, error: &RunError) -> EngineLinkError {
        let code = interrupt::exit_code().unwrap_or_else(|| ExitCode::from(exit_code(error)));
        let hint = match error {
            RunError::Unavailable(error) | RunError::NotFound(error) => {
                let functions = [(None, image.to_owned())];
                container_functions::unavailable(&**error, &functions)
            }
            error => policy::refusal(error).map(PolicyRefusal::hint),
        };
        let suggestion = unknown_image(image).and_then(|unknown| unknown.suggestion);
        EngineLinkError {
            message: Some(kiln_go::error_chain(error)),
            hint: suggestion.or(hint),
            code,
        }
    }

    /// The message as engines print it; `None` if there is nothing to print.
    pub(super) fn text(&self, engine: Engine) -> Option<String> {
        let (name, message) = (engine.program(), self.message.as_ref()?);
        Some(match &self.hint {
            None => format!("{name}: Error response from daemon: {message}"),
            Some(hint) => {
                format!("{name}: Error response from daemon: {message}\nhint: {hint}")
            }
        })
    }
}

impl From<anyhow::Error> for EngineLinkError {
    fn from(error: anyhow::Error) -> EngineLinkError {
        match error.chain().any(is_closed_output) {
            true => EngineLinkError {
                message: None,
                hint: None,
                code: ExitCode::SUCCESS,
            },
            false => EngineLinkError::new(format!("{error:#}")),
        }
    }
}

fn exit_code(error: &RunError) -> u8 {
    match error {
        RunError::NotStarted(StartError::ForkExec { problem, .. }) => match problem {
            ExecProblem::NotFound => NOT_FOUND,
            _ => NOT_EXECUTABLE,
        },
        RunError::Unavailable(error) | RunError::NotFound(error) => match image_error(&**error) {
            Some(ImageRunError::NoProgram { .. }) => NOT_FOUND,
            Some(ImageRunError::NotStarted { source, .. }) => match **source {
                StartProblem::Interpreter(_) => NOT_FOUND,
                _ => NOT_EXECUTABLE,
            },
            _ => ENGINE_FAILED,
        },
        _ => ENGINE_FAILED,
    }
}

fn image_error<'a>(error: &'a (dyn Error + Send + Sync + 'static)) -> Option<&'a ImageRunError> {
    let left = error.downcast_ref::<LeftToNext>().map(|left| &left.0);
    left.or_else(|| error.downcast_ref::<ImageRunError>())
}
