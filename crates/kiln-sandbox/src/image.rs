//! What to run of an image, and how far it is isolated, as data.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use crate::policy::{ControlGroupUse, SandboxLimits};

/// What the functions of all images may do.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ImagePolicy {
    pub limits: SandboxLimits,
    /// Whether the kernel counts what the processes of a function use together.
    pub control_group: ControlGroupUse,
}

/// A program of an unpacked image. Paths are those inside the image, unless stated otherwise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImageProcess {
    /// The directory on this machine that becomes the root. It stays unchanged, and must have directories `proc`, `dev`
    /// and those that `writable` lists.
    pub root: PathBuf,
    pub program: PathBuf,
    /// The name of the program and its arguments.
    pub words: Vec<OsString>,
    /// All variables: nothing of this process's environment is added.
    pub environment: Vec<(OsString, OsString)>,
    /// The working directory.
    pub directory: PathBuf,
    /// The IDs of the user and the group that the program sees itself as.
    pub user: (u32, u32),
    pub rights: FileRights,
    /// Directories that are replaced by empty directories in memory.
    pub writable: Vec<PathBuf>,
    pub mounts: Vec<ImageMount>,
    pub network: ImageNetwork,
}

/// Whose rights a function has on mounted files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FileRights {
    /// As root, those of a user that nothing else uses; otherwise ours.
    #[default]
    Least,
    /// Ours, without capabilities.
    Ours,
}

/// A file or directory of this machine in an image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImageMount {
    /// The path on this machine.
    pub source: PathBuf,
    pub target: PathBuf,
    pub access: MountAccess,
}

/// The access of a function to a mount.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MountAccess {
    #[default]
    ReadOnly,
    ReadWrite,
}

/// The network of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ImageNetwork {
    /// Its own, with a loopback interface only.
    #[default]
    Loopback,
    /// That of this machine.
    Host,
}

/// How a function of an image is isolated from this machine, the strongest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum IsolationLevel {
    /// Own namespaces, and nothing of this machine but the kernel.
    Namespaces,
    /// The same, but `/proc` lists the processes of this machine or container.
    NamespacesWithOuterProc,
    /// The program of the image in place, confined like an executable.
    Landlock,
}

impl IsolationLevel {
    /// The levels in the order in which they are tried.
    pub const ALL: [IsolationLevel; 3] = [
        IsolationLevel::Namespaces,
        IsolationLevel::NamespacesWithOuterProc,
        IsolationLevel::Landlock,
    ];
}

impl fmt::Display for IsolationLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            IsolationLevel::Namespaces => "namespaces",
            IsolationLevel::NamespacesWithOuterProc => "namespaces with the outer /proc",
            IsolationLevel::Landlock => "landlock",
        })
    }
}

/// A step of isolating a function that this system refused.
#[derive(Debug, thiserror::Error)]
#[error("cannot {doing}")]
pub struct RefusedStep {
    pub step: IsolationStep,
    /// What failed, as a verb and its object.
    pub doing: &'static str,
    pub source: std::io::Error,
}

/// The steps by which environments differ, for hints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IsolationStep {
    /// Making namespaces.
    Namespaces,
    /// Mapping the user of the function.
    Users,
    /// Any mount but the next.
    Mounts,
    /// Mounting `/proc`.
    Proc,
    /// Any other step.
    Other,
}

/// The result of trying a level.
#[derive(Debug)]
pub struct LevelProbe {
    pub level: IsolationLevel,
    pub outcome: Result<(), crate::SandboxError>,
}
