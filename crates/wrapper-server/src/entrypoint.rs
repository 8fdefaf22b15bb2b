//! The one function of a pod: the entrypoint runs for every image.

use std::ffi::OsString;
use std::sync::{Arc, RwLock};

use kiln_runtime::process::{self, Program, StopSignal};
use kiln_runtime::{
    Evaluator, FindError, Found, FunctionSpec, Input, Outcome, RunContext, RunError, Runner,
};

pub(crate) struct Entrypoint {
    runner: Arc<EntrypointRunner>,
}

struct EntrypointRunner {
    program: String,
    arguments: Vec<String>,
    search_path: OsString,
    /// Read-locked while a function runs.
    running: RwLock<()>,
}

impl Entrypoint {
    /// A command, which is searched for in `search_path` if it is not a path. `None` if there is no word.
    pub(crate) fn new(words: &[String], search_path: OsString) -> Option<Entrypoint> {
        let (program, arguments) = words.split_first()?;
        Some(Entrypoint {
            runner: Arc::new(EntrypointRunner {
                program: program.clone(),
                arguments: arguments.to_vec(),
                search_path,
                running: RwLock::new(()),
            }),
        })
    }
}

impl Evaluator for Entrypoint {
    fn find(&self, _: &FunctionSpec) -> Result<Found, FindError> {
        Ok(Found::Blocking(Arc::<EntrypointRunner>::clone(
            &self.runner,
        )))
    }
}

impl Runner for EntrypointRunner {
    fn run(&self, input: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
        let outcome = {
            let _running = self.running.read();
            self.run_once(input, ctx)
        };
        // PID 1 inherits orphans. They are reaped while no child is waited for.
        if let Ok(_alone) = self.running.try_write() {
            process::reap_orphans();
        }
        outcome
    }
}

impl EntrypointRunner {
    fn run_once(&self, input: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
        let program = Program {
            name: &self.program,
            arguments: &self.arguments,
            search_path: &self.search_path,
            stop_signal: StopSignal::Kill,
            // The container confines it.
            sandbox: None,
            environment: None,
        };
        let finished = process::run(program, input.wire().as_bytes(), ctx)?;
        if finished.exit_code != 0 {
            tracing::trace!(
                "Input Resource List: {}\nOutput Resource List: {}",
                input.wire(),
                String::from_utf8_lossy(&finished.stdout)
            );
        }
        Ok(finished.into())
    }
}
