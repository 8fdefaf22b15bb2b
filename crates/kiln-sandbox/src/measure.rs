//! Measures in force, exceeded limits and errors.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::image::RefusedStep;

/// One measure of a sandbox.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Measure {
    /// What it protects: `files`, `network`, …
    pub name: &'static str,
    pub in_force: InForce,
    /// How, or why not.
    pub how: String,
}

/// Whether a measure works on this system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InForce {
    Yes,
    /// With gaps, which the text names.
    Partly,
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

/// A limit that a function exceeded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Excess {
    /// Memory, with the limit in bytes.
    Memory(u64),
    /// Processes and threads, with their limit.
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
    /// The system lacks a feature.
    #[error("this system cannot run functions in a sandbox: {reason}")]
    Unsupported { reason: String },
    #[error("cannot make the filter of system calls: {reason}")]
    Filter { reason: String },
    #[error("cannot let functions read {}", path.display())]
    Path { path: PathBuf, source: io::Error },
    #[error("cannot make a private directory in {}", path.display())]
    Scratch { path: PathBuf, source: io::Error },
    #[error("cannot make a control group in {}", path.display())]
    ControlGroup { path: PathBuf, source: io::Error },
    #[error("cannot make the sandbox's rules for files: {reason}")]
    Rules { reason: String },
    /// This system does not let this process isolate functions of images.
    #[error("cannot isolate the function")]
    Isolate(#[source] RefusedStep),
    /// A mount of an image was not possible.
    #[error("cannot mount {} at {} of the image", source_path.display(), target.display())]
    Mount {
        source_path: PathBuf,
        target: PathBuf,
        source: io::Error,
    },
    /// A path of an image cannot be used.
    #[error("the path {} of the image is malformed", shown(path))]
    MalformedPath { path: PathBuf },
    /// A path of an image leads to a directory that it may not choose.
    #[error(
        "the path {} of the image is in /{reserved}, which the image cannot choose",
        shown(path)
    )]
    ReservedPath {
        path: PathBuf,
        reserved: &'static str,
    },
    /// The child was not started because it could not be confined.
    #[error("cannot confine the function ({doing})")]
    Confine {
        doing: &'static str,
        source: io::Error,
    },
}

/// How much of a path that an image chose is shown.
const MAX_SHOWN: usize = 200;

/// A path that an image chose, without the control characters that a terminal would obey.
fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    let start: String = text.chars().take(MAX_SHOWN).collect();
    match start.len() < text.len() {
        true => format!("{start:?}…"),
        false => format!("{start:?}"),
    }
}

/// Why a program was not started in a sandbox.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It does not exist, or cannot be executed.
    #[error("cannot start the program")]
    Program(#[source] io::Error),
    #[error(transparent)]
    Sandbox(SandboxError),
}
