//! The error of a command: what failed, where, what to do about it, and the exit code.
//!
//! Commands return `anyhow::Error`. One of ours carries a `CommandError`; the conversion here gives any other its class and
//! hint, by the types in its chain.

pub(crate) mod hints;
pub(crate) mod image;
pub(crate) mod package;
pub(crate) mod position;
pub(crate) mod render;
pub(crate) mod revisions;

use std::error::Error;
use std::fmt;
use std::io;
use std::process::ExitCode;

use kiln_task::ChangeError;
use kiln_task::git::{NoGit, NoResponse};
use serde::Serialize;

use crate::compat::Compat;
use crate::functions::policy;
use crate::interrupt;
use crate::ui::{Level, Record};
pub(crate) use position::FilePosition;

/// Returns from the function with an error about the command line.
macro_rules! bail_usage {
    ($($message:tt)*) => {
        return Err($crate::error::CommandError::usage(format!($($message)*)).into())
    };
}
pub(crate) use bail_usage;

/// The exit code for an invalid command line.
pub(crate) const USAGE: u8 = 2;
/// The exit code for differences.
pub(crate) const DIFFERENCES: u8 = 3;
/// The exit code if not everything could be compared.
pub(crate) const NOT_COMPARED: u8 = 4;

/// Why a command failed.
#[derive(Debug, Default)]
pub(crate) struct CommandError {
    /// Printed as it is; `None` if the log has everything.
    pub(crate) message: Option<String>,
    pub(crate) class: ErrorClass,
    /// The package's name in messages.
    pub(crate) package: Option<String>,
    /// The image or command line.
    pub(crate) function: Option<String>,
    pub(crate) position: Option<FilePosition>,
    /// What the user can do next.
    pub(crate) hint: Option<String>,
}

/// What kind of error it is. The class decides the exit code and is part of the JSON record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ErrorClass {
    /// The command line, the file system or anything else.
    #[default]
    Other,
    /// A package, a Kptfile or another input is invalid.
    Input,
    /// A function failed, or its output is invalid.
    Function,
    /// A container engine, a registry or a remote repository is not available.
    Unavailable,
    /// The policy refuses a function, or cannot be read.
    Policy,
    /// The command line is invalid.
    Usage,
    /// Nothing failed, but there are differences, and the command line asks to report them: `--check`, `--exit-code`.
    Differences,
    /// Nothing differs as far as it was compared, and not everything was.
    NotCompared,
    /// The reader of our output has closed it: `kiln fn source | head`. This is not a failure.
    OutputClosed,
}

impl CommandError {
    /// An error with this very message.
    pub(crate) fn new(message: impl Into<String>) -> CommandError {
        CommandError {
            message: Some(message.into()),
            ..CommandError::default()
        }
    }

    /// An invalid command line.
    pub(crate) fn usage(message: impl fmt::Display) -> CommandError {
        CommandError {
            class: ErrorClass::Usage,
            ..CommandError::new(format!("error: {message}"))
        }
    }

    /// Differences that have been printed.
    pub(crate) fn differences() -> CommandError {
        CommandError {
            class: ErrorClass::Differences,
            ..CommandError::default()
        }
    }

    /// A failed function, of which the log has everything.
    pub(crate) fn logged() -> CommandError {
        CommandError {
            class: ErrorClass::Function,
            ..CommandError::default()
        }
    }

    /// Another error with a hint.
    pub(crate) fn with_hint(
        error: impl Into<anyhow::Error>,
        hint: impl Into<String>,
    ) -> CommandError {
        CommandError {
            hint: Some(hint.into()),
            ..CommandError::from(error.into())
        }
    }

    /// The exit code; kpt has only one for all errors. A command that fails after a signal exits with the code of the signal.
    pub(crate) fn exit_code(&self, compat: Compat) -> ExitCode {
        let code = match (self.class, compat) {
            (ErrorClass::OutputClosed, _) => return ExitCode::SUCCESS,
            (ErrorClass::Usage, Compat::Kiln) => ExitCode::from(USAGE),
            (ErrorClass::Differences, Compat::Kiln) => ExitCode::from(DIFFERENCES),
            (ErrorClass::NotCompared, Compat::Kiln) => ExitCode::from(NOT_COMPARED),
            _ => ExitCode::FAILURE,
        };
        interrupt::exit_code().unwrap_or(code)
    }

    /// The message with position and hint; `None` if there is nothing to print.
    pub(crate) fn text(&self) -> Option<String> {
        let mut text = match self.class {
            ErrorClass::OutputClosed => return None,
            _ => self.message.clone()?,
        };
        let context = self.context();
        if !context.is_empty() {
            text.truncate(text.trim_end().len());
            text.push_str(&context);
        }
        Some(text)
    }

    /// The message without its prefix.
    pub(crate) fn plain_message(&self) -> &str {
        let message = self.message.as_deref().unwrap_or_default().trim();
        let message = message.strip_prefix("Error: ").unwrap_or(message);
        message.strip_prefix("error: ").unwrap_or(message)
    }

    /// The error as a log record.
    pub(crate) fn record(&self) -> Record<'_> {
        let position = self.position.as_ref();
        Record {
            level: Level::Error,
            event: "error",
            class: Some(self.class).filter(|class| *class != ErrorClass::Other),
            package: self.package.as_deref(),
            function: self.function.as_deref(),
            file: position.map(|position| position.file.as_str()),
            line: position.map(|position| position.line),
            column: position.map(|position| position.column),
            message: Some(self.plain_message()),
            hint: self.hint.as_deref(),
            ..Record::default()
        }
    }

    /// Position, function, package and hint, each line after a line break.
    pub(crate) fn context(&self) -> String {
        let quote = kiln_go::quote;
        let mut text = String::new();
        let position = self.position.as_ref().and_then(FilePosition::shown);
        let preposition = if position.is_some() { "at" } else { "in" };
        let function = self.function.as_ref();
        let function = function.map(|function| format!("function {}", quote(function)));
        let package = self.package.as_ref();
        let package = package.map(|package| format!("package {}", quote(package)));
        let places: Vec<String> = [position, function, package]
            .into_iter()
            .flatten()
            .collect();
        if !places.is_empty() {
            text.push_str(&format!("\n  {preposition} {}", places.join(", ")));
        }
        if let Some(excerpt) = self.position.as_ref().and_then(FilePosition::excerpt) {
            text.push('\n');
            text.push_str(&excerpt);
        }
        if let Some(hint) = &self.hint {
            text.push_str(&format!("\nhint: {hint}"));
        }
        text
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_deref().unwrap_or("failed"))
    }
}

impl Error for CommandError {}

impl From<anyhow::Error> for CommandError {
    fn from(error: anyhow::Error) -> CommandError {
        let error = match error.downcast::<CommandError>() {
            Ok(error) => return error,
            Err(error) => error,
        };
        let plain = CommandError::new(format!("error: {error:#}"));
        if error.chain().any(is_closed_output) {
            return CommandError {
                class: ErrorClass::OutputClosed,
                ..plain
            };
        }
        if error.chain().any(is_timeout) {
            return CommandError {
                class: ErrorClass::Unavailable,
                hint: Some(hints::git_timeout()),
                ..plain
            };
        }
        if error.chain().any(|cause| cause.is::<NoGit>()) {
            return CommandError {
                class: ErrorClass::Unavailable,
                hint: Some(hints::no_git()),
                ..plain
            };
        }
        if let Some(refusal) = error.chain().find_map(policy::refusal) {
            return CommandError {
                class: ErrorClass::Policy,
                hint: Some(refusal.hint()),
                ..plain
            };
        }
        if let Some(failure) = error.chain().find_map(revisions::render_failure) {
            return revisions::failed_render(plain, failure);
        }
        if let Some((class, hint)) = error.chain().find_map(image::class_and_hint) {
            return CommandError {
                class,
                hint,
                ..plain
            };
        }
        CommandError {
            hint: error.chain().find_map(revisions::hint),
            ..plain
        }
    }
}

/// Whether whatever reads the output has closed it.
pub(crate) fn is_closed_output(error: &(dyn Error + 'static)) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn is_timeout(error: &(dyn Error + 'static)) -> bool {
    // This one has its cause in the middle of its text and so not as its source.
    if let Some(ChangeError::CommitAfterRender { commit, .. }) = error.downcast_ref() {
        let commit: &(dyn Error + 'static) = commit;
        let mut causes = std::iter::successors(Some(commit), |&error| error.source());
        return causes.any(|cause| cause.is::<NoResponse>());
    }
    error.is::<NoResponse>()
}

#[cfg(test)]
mod tests;
