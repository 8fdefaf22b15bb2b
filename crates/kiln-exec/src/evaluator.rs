//! The evaluator of local executables.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use kiln_go::quote;
use kiln_runtime::process::{self, Program, StopSignal};
use kiln_runtime::{
    Evaluator, FindError, Found, FunctionIdentity, FunctionSpec, Input, Outcome, RunContext,
    RunError, Runner, Target,
};
use kiln_sandbox::Sandbox;
use sha2::{Digest as _, Sha256};

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
    #[error("exec command {} must be valid: {reason}", quote(command_line))]
    BadCommandLine {
        command_line: String,
        reason: SplitError,
    },
}

impl ExecEvaluator {
    /// `search_path` is the value of `$PATH`.
    pub fn new(search_path: impl Into<OsString>) -> ExecEvaluator {
        let search_path: OsString = search_path.into();
        ExecEvaluator {
            search_path: search_path.into(),
            sandbox: None,
        }
    }

    /// Runs every program in a sandbox.
    #[must_use]
    pub fn with_sandbox(self, sandbox: Arc<Sandbox>) -> ExecEvaluator {
        ExecEvaluator {
            sandbox: Some(sandbox),
            ..self
        }
    }

    /// Runs a program that sees another name than that of its file as its own: one file may be several functions.
    pub fn find_as(&self, program: &Path, own_name: String) -> Found {
        Found::blocking(ExecRunner {
            program: program.to_string_lossy().into_owned(),
            own_name: Some(own_name),
            arguments: Vec::new(),
            search_path: Arc::clone(&self.search_path),
            sandbox: self.sandbox.clone(),
        })
    }
}

impl Evaluator for ExecEvaluator {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        if let Target::Image(_) = function.target {
            return Err(FindError::not_found(function));
        }
        let mut words = words(function).map_err(FindError::refused)?.into_iter();
        Ok(Found::blocking(ExecRunner {
            // Without a word the declaration itself is searched for and not found.
            program: words.next().unwrap_or_else(|| function.name().to_owned()),
            own_name: None,
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
    /// What the program sees as its own name; `None` for the same.
    own_name: Option<String>,
    arguments: Vec<String>,
    search_path: Arc<OsStr>,
    sandbox: Option<Arc<Sandbox>>,
}

impl ExecRunner {
    /// The identity of the program's file; `None` if it cannot be read, which is not a reason not to run it.
    fn identity(&self) -> Option<FunctionIdentity> {
        let path = process::find(&self.program, &self.search_path).ok()?;
        let mut hash = Sha256::new();
        let mut file = File::open(path).ok()?;
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let read = file.read(&mut buffer).ok()?;
            if read == 0 {
                break;
            }
            hash.update(buffer.get(..read)?);
        }
        let hex: String = hash
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Some(FunctionIdentity::exec(&hex))
    }
}

impl Runner for ExecRunner {
    fn run(&self, input: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
        let program = Program {
            name: self.own_name.as_ref().unwrap_or(&self.program),
            arguments: &self.arguments,
            search_path: &self.search_path,
            stop_signal: StopSignal::Kill,
            sandbox: self.sandbox.as_deref(),
            environment: None,
        };
        let identity = match ctx.wants_identity {
            true => self.identity(),
            false => None,
        };
        let input = input.wire();
        let finished = match &self.own_name {
            Some(_) => process::run_file(Path::new(&self.program), program, input.as_bytes(), ctx)?,
            None => process::run(program, input.as_bytes(), ctx)?,
        };
        Ok(Outcome {
            identity,
            ..Outcome::from(finished)
        })
    }
}
