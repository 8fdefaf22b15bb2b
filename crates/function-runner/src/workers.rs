//! Worker processes of native functions: the same program under another name.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use kiln_sandbox::SandboxMode;
use kiln_server::{WORKER_NAME, WorkerOptions, WorkerPool, work};

use crate::config::RunnerConfig;
use crate::environment::Environment;
use crate::evaluators::native;

/// A worker has memory for the largest list, its tree, and as much again for what a function makes of it.
const MEMORY_PER_MESSAGE_BYTE: u64 = 48;
const LEAST_MEMORY: u64 = 512 << 20;

/// Starts the pool, if native functions are enabled.
pub(crate) fn start(
    config: &RunnerConfig,
    environment: &Environment,
) -> Result<Option<Arc<WorkerPool>>> {
    if !config.evaluators.native {
        return Ok(None);
    }
    let by_message = MEMORY_PER_MESSAGE_BYTE.saturating_mul(config.max_message_size as u64);
    let pool = WorkerPool::start(WorkerOptions {
        program: environment.program.clone(),
        memory: config
            .native_memory
            .unwrap_or_else(|| by_message.max(LEAST_MEMORY)),
        is_strict: config.sandbox == Some(SandboxMode::Strict),
        spare: config.admission.native,
    });
    Ok(Some(pool.context("start workers")?))
}

/// Runs the program as a worker if it was started as one.
pub fn run_as_worker(
    program: &OsStr,
    arguments: impl Iterator<Item = std::ffi::OsString>,
) -> Option<ExitCode> {
    if Path::new(program) != Path::new(WORKER_NAME) {
        return None;
    }
    let arguments = arguments.map(|word| word.to_string_lossy().into_owned());
    Some(match work(&native().evaluator(), arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{WORKER_NAME}: {error}");
            ExitCode::FAILURE
        }
    })
}
