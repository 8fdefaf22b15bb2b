//! What is in force, what was exceeded, and what went wrong.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// One thing that a sandbox does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Measure {
    /// What is guarded: `files`, `network`, …
    pub name: &'static str,
    /// Whether it is guarded here.
    pub in_force: InForce,
    /// How, or why not.
    pub how: String,
}

/// Whether a measure works on this system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InForce {
    /// It does.
    Yes,
    /// With gaps, which the text names.
    Partly,
    /// It does not.
    No,
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let in_force = match self.in_force {
            InForce::Yes => "in force",
            InForce::Partly => "partly in force",
            InForce::No => "not in force",
        };
        write!(f, "{}: {in_force}: {}", self.name, self.how)
    }
}

/// What a function used too much of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Excess {
    /// Memory, of which it may have so many bytes.
    Memory(u64),
    /// Processes and threads, of which it may have so many.
    Processes(u64),
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Excess::Memory(limit) => write!(f, "{limit} bytes of memory"),
            Excess::Processes(limit) => write!(f, "{limit} processes and threads"),
        }
    }
}

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The system has not what it takes.
    #[error("this system cannot run functions in a sandbox: {reason}")]
    Unsupported {
        /// What is missing.
        reason: String,
    },
    /// The filter of system calls could not be made.
    #[error("cannot make the filter of system calls: {reason}")]
    Filter {
        /// What is wrong with it.
        reason: String,
    },
    /// A path that functions may read cannot be opened.
    #[error("cannot let functions read {}", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// The private directory could not be made.
    #[error("cannot make a private directory in {}", path.display())]
    Scratch {
        /// Where.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// The control group could not be made.
    #[error("cannot make a control group in {}", path.display())]
    ControlGroup {
        /// Where.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// The rules about files could not be made.
    #[error("cannot make the sandbox's rules about files: {reason}")]
    Rules {
        /// What the kernel or the library says.
        reason: String,
    },
    /// The child could not be confined, and was not started.
    #[error("cannot confine the function ({doing})")]
    Confine {
        /// The step that failed.
        doing: &'static str,
        /// What went wrong.
        source: io::Error,
    },
}

/// Why a program was not started in a sandbox.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It is not there, or cannot be executed.
    #[error("cannot start the program")]
    Program(#[source] io::Error),
    /// The sandbox could not be made.
    #[error(transparent)]
    Sandbox(SandboxError),
}
