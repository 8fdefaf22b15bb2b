//! The runtime of local executables.

use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use kiln_go::quote;
use kiln_runtime::process::{self, Ending, Program};
use kiln_runtime::{
    Evaluator, FindError, Found, FunctionSpec, Input, Outcome, Output, RunContext, RunError,
    Runner, Target,
};
use kiln_sandbox::Sandbox;

use crate::words::{SplitError, split};

/// Runs programs of this machine.
#[derive(Clone)]
pub struct ExecEvaluator {
    search_path: Arc<OsStr>,
    sandbox: Option<Arc<Sandbox>>,
}

/// Why a declared program is not run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ExecError {
    /// The command line is no command line.
    #[error("exec command {} must be valid: {reason}", quote(command_line))]
    BadCommandLine {
        /// As it was declared.
        command_line: String,
        /// What is wrong with it.
        reason: SplitError,
    },
}

impl ExecEvaluator {
    /// Programs are searched for in `search_path`, which is what `$PATH` says.
    pub fn new(search_path: impl Into<OsString>) -> ExecEvaluator {
        let search_path: OsString = search_path.into();
        ExecEvaluator {
            search_path: search_path.into(),
            sandbox: None,
        }
    }

    /// The same, with every program in a sandbox.
    #[must_use]
    pub fn with_sandbox(self, sandbox: Arc<Sandbox>) -> ExecEvaluator {
        ExecEvaluator {
            sandbox: Some(sandbox),
            ..self
        }
    }
}

impl Evaluator for ExecEvaluator {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        if let Target::Image(_) = function.target {
            return Err(FindError::not_found(function));
        }
        let mut words = words(function).map_err(FindError::refused)?.into_iter();
        Ok(Found::blocking(ExecRunner {
            // Without a word the declaration itself is looked for, in vain.
            program: words.next().unwrap_or_else(|| function.name().to_owned()),
            arguments: words.collect(),
            search_path: Arc::clone(&self.search_path),
            sandbox: self.sandbox.clone(),
        }))
    }
}

/// The program and its arguments.
fn words(function: &FunctionSpec) -> Result<Vec<String>, ExecError> {
    match &function.target {
        Target::Exec(command_line) => {
            split(command_line).map_err(|reason| ExecError::BadCommandLine {
                command_line: command_line.clone(),
                reason,
            })
        }
        Target::Image(name) | Target::Program(name) => Ok(vec![name.clone()]),
    }
}

struct ExecRunner {
    program: String,
    arguments: Vec<String>,
    search_path: Arc<OsStr>,
    sandbox: Option<Arc<Sandbox>>,
}

impl Runner for ExecRunner {
    fn run(&self, input: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
        // A sandbox does so itself.
        if self.sandbox.is_none() {
            kiln_sandbox::keep_descriptors().map_err(|source| RunError::Io {
                doing: "keep open files from the function",
                source,
            })?;
        }
        let program = Program {
            name: &self.program,
            arguments: &self.arguments,
            search_path: &self.search_path,
            ending: Ending::Killed,
            sandbox: self.sandbox.as_deref(),
        };
        let finished = process::run(program, input.wire().as_bytes(), ctx)?;
        Ok(Outcome {
            exit_code: finished.exit_code,
            signal: finished.signal,
            output: Output::Wire(finished.stdout.into()),
            stderr: finished.stderr,
            elapsed: finished.elapsed,
        })
    }
}
