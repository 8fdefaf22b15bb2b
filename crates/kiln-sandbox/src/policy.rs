//! The policy of a sandbox, as data.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Whether functions run in a sandbox.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SandboxMode {
    /// Functions run in a sandbox, or not at all.
    Strict,
    /// Functions run like any other program of the user.
    Off,
}

impl FromStr for SandboxMode {
    type Err = String;

    fn from_str(text: &str) -> Result<SandboxMode, String> {
        match text {
            "strict" => Ok(SandboxMode::Strict),
            "off" => Ok(SandboxMode::Off),
            _ => Err("must be one of: strict, off".to_owned()),
        }
    }
}

/// What a function in a sandbox may do. The default allows what a function needs that only computes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SandboxPolicy {
    /// Whether it may use the internet protocols. Other sockets are never allowed.
    pub allow_network: bool,
    /// Files and directories that it may read and execute, in addition to the system and its own directory.
    pub read: Vec<PathBuf>,
    /// Names of environment variables that it gets in addition to those of every function.
    pub variables: Vec<String>,
    pub limits: SandboxLimits,
    /// Whether the kernel counts what its processes use together.
    pub control_group: ControlGroupUse,
}

/// Where to make the control groups of functions. Without one, what processes use together is checked periodically.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum ControlGroupUse {
    /// In the group of this process or its parent, if it is delegated and has the controllers for memory and processes.
    #[default]
    IfDelegated,
    /// In this directory, if it has the controllers.
    In(PathBuf),
    Never,
}

/// Limits of a function in a sandbox.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SandboxLimits {
    /// Memory in bytes. No process gets more, and all are killed if they use more together.
    pub memory: u64,
    /// CPU time of each process.
    pub cpu: Duration,
    /// Open files of a process.
    pub open_files: u64,
    /// Processes and threads at the same time.
    pub processes: u64,
    /// Size of a file, in bytes.
    pub file_size: u64,
}

impl Default for SandboxLimits {
    fn default() -> SandboxLimits {
        SandboxLimits {
            memory: 2 << 30,
            cpu: Duration::from_secs(10 * 60),
            open_files: 1024,
            processes: 256,
            file_size: 512 << 20,
        }
    }
}
