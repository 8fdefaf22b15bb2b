//! What functions may do, as data.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Whether functions run in a sandbox at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SandboxMode {
    /// In one, or not at all.
    Strict,
    /// As any other program of the user.
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
    /// Files and directories that it may read and execute, besides the system and its own directory.
    pub read: Vec<PathBuf>,
    /// Names of variables that it gets from the environment besides those that every function gets.
    pub variables: Vec<String>,
    /// What it may use.
    pub limits: SandboxLimits,
    /// Whether the kernel counts what all its processes use together.
    pub control_group: ControlGroupUse,
}

/// Where the control groups of functions are made. Without one, what processes use together is looked at now and then.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum ControlGroupUse {
    /// In the group of this process or the one above, if it is delegated and has the controllers for memory and processes.
    #[default]
    IfDelegated,
    /// In this directory, if it has the controllers.
    In(PathBuf),
    /// Nowhere.
    Never,
}

/// What a function in a sandbox may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SandboxLimits {
    /// Memory in bytes. Each process is refused more than that, and all are killed that have more together.
    pub memory: u64,
    /// Computing time of each process.
    pub cpu: Duration,
    /// Files that a process may have open.
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
