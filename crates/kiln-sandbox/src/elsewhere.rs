//! No sandbox: this system has none that we know.

use std::convert::Infallible;
use std::io::{PipeReader, PipeWriter};
use std::path::Path;

use rustix::process::Pid;

use crate::environment::Surroundings;
use crate::measure::{Excess, InForce, Measure, SandboxError, StartError};
use crate::policy::SandboxPolicy;

/// There is none.
#[derive(Debug)]
pub struct Sandbox {
    never: Infallible,
}

impl Sandbox {
    /// That nothing is in force.
    pub fn probe() -> Vec<Measure> {
        vec![Measure {
            name: "sandbox",
            in_force: InForce::No,
            how: "functions are confined on Linux only".to_owned(),
        }]
    }

    /// Always an error.
    pub fn new(_: SandboxPolicy, _: Surroundings) -> Result<Sandbox, SandboxError> {
        Err(SandboxError::Unsupported {
            reason: "functions are confined on Linux only".to_owned(),
        })
    }

    /// Never called.
    pub fn measures(&self) -> Vec<Measure> {
        match self.never {}
    }

    /// Never called.
    pub fn cell(&self, _: &Path, _: Option<u64>) -> Result<Cell, SandboxError> {
        match self.never {}
    }
}

/// There is none.
pub struct Cell {
    never: Infallible,
}

impl Cell {
    /// Never called.
    pub fn directory(&self) -> &Path {
        match self.never {}
    }

    /// Never called.
    pub fn start(&self, _: &Path, _: &str, _: &[String]) -> Result<Started, StartError> {
        match self.never {}
    }

    /// Never called.
    pub fn excess(&self, _: Pid) -> Option<Excess> {
        match self.never {}
    }

    /// Never called.
    pub fn excess_at_end(&self) -> Option<Excess> {
        match self.never {}
    }

    /// Never called.
    pub fn kill(&self) {
        match self.never {}
    }
}

/// A process that has been started and is to be waited for.
#[derive(Debug)]
pub struct Started {
    /// Its number.
    pub id: Pid,
    /// What it reads.
    pub stdin: PipeWriter,
    /// What it writes.
    pub stdout: PipeReader,
    /// What it says besides.
    pub stderr: PipeReader,
}

/// Does nothing: only Linux confines processes.
pub fn confine_worker(_: u32, _: u64) -> Result<(), SandboxError> {
    Ok(())
}

/// Does nothing: only Linux confines processes.
pub fn lower_priority(_: Option<u32>) {}
