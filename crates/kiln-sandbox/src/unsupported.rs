//! No sandbox: this system is not supported.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io::{PipeReader, PipeWriter};
use std::path::Path;

use rustix::process::Pid;

use crate::environment::HostEnvironment;
use crate::image::{ImagePolicy, ImageProcess, IsolationLevel, LevelProbe};
use crate::measure::{Excess, InForce, Measure, SandboxError, StartError};
use crate::policy::SandboxPolicy;

fn linux_only() -> SandboxError {
    let reason = "functions are confined on Linux only".to_owned();
    SandboxError::Unsupported { reason }
}

/// Never made.
#[derive(Debug)]
pub struct Sandbox {
    never: Infallible,
}

impl Sandbox {
    /// Reports that nothing is in force.
    pub fn probe() -> Vec<Measure> {
        vec![Measure {
            name: "sandbox",
            in_force: InForce::No,
            how: "functions are confined on Linux only".to_owned(),
        }]
    }

    /// Always an error.
    pub fn new(_: SandboxPolicy, _: HostEnvironment) -> Result<Sandbox, SandboxError> {
        Err(linux_only())
    }

    /// Never called.
    pub fn measures(&self) -> Vec<Measure> {
        match self.never {}
    }

    /// Never called.
    pub fn prepare_run(&self, _: &Path, _: Option<u64>) -> Result<SandboxRun, SandboxError> {
        match self.never {}
    }
}

/// Never made.
pub struct SandboxRun {
    never: Infallible,
}

impl SandboxRun {
    /// Never called.
    pub fn directory(&self) -> &Path {
        match self.never {}
    }

    /// Never called.
    #[must_use]
    pub fn with_environment(self, _: &[(OsString, OsString)]) -> SandboxRun {
        self
    }

    /// Never called.
    pub fn start(&self, _: &Path, _: &str, _: &[String]) -> Result<StartedProcess, StartError> {
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

/// Never made.
#[derive(Debug)]
pub struct ImageSandbox {
    never: Infallible,
}

impl ImageSandbox {
    /// Always an error.
    pub fn new(_: ImagePolicy) -> Result<ImageSandbox, SandboxError> {
        Err(linux_only())
    }

    /// Reports that no level works.
    pub fn probe(_: &Path) -> impl Iterator<Item = LevelProbe> {
        let levels = IsolationLevel::ALL.into_iter();
        levels.map(|level| LevelProbe {
            level,
            outcome: Err(linux_only()),
        })
    }

    /// Never called.
    pub fn level(&self) -> IsolationLevel {
        match self.never {}
    }

    /// Never called.
    pub fn prepare_run<'a>(
        &'a self,
        _: &'a ImageProcess,
        _: Option<u64>,
    ) -> Result<ImageRun<'a>, SandboxError> {
        match self.never {}
    }
}

/// Never made.
pub struct ImageRun<'a> {
    never: &'a Infallible,
}

impl ImageRun<'_> {
    /// Never called.
    pub fn start(&self) -> Result<StartedProcess, StartError> {
        match *self.never {}
    }

    /// Never called.
    pub fn excess(&self, _: Pid) -> Option<Excess> {
        match *self.never {}
    }

    /// Never called.
    pub fn excess_at_end(&self) -> Option<Excess> {
        match *self.never {}
    }

    /// Never called.
    pub fn kill(&self) {
        match *self.never {}
    }
}

/// A process that was started and must be waited for.
#[derive(Debug)]
pub struct StartedProcess {
    pub id: Pid,
    pub stdin: PipeWriter,
    pub stdout: PipeReader,
    pub stderr: PipeReader,
}

/// Does nothing: only Linux confines processes.
pub fn confine_worker(_: u32, _: u64) -> Result<(), SandboxError> {
    Ok(())
}

/// Does nothing: only Linux confines processes.
pub fn lower_priority(_: Option<u32>) {}
