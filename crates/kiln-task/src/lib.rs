//! Package revisions on git, and what is done to them.
//!
//! The files of a package are [`Contents`], whole and in memory: every operation takes contents and gives new ones, and
//! only when all is done is anything written. A revision is known by its [`RevisionName`], is in one [`Lifecycle`], and
//! began with a [`Task`]. Nothing here prints, and what the environment says is passed in.

mod contents;
pub mod git;
mod lifecycle;
mod names;
mod task;

pub use contents::{Contents, ContentsError, File, FileMode, PackagePath, PathProblem, UnsafePath};
pub use lifecycle::{Lifecycle, UnknownLifecycle};
pub use names::{InvalidName, PackageName, RevisionName};
pub use task::{
    CloneTask, EditTask, GitUpstream, InitTask, OciUpstream, RevisionRef, SecretRef, Strategy,
    Task, UnknownStrategy, UpgradeTask, Upstream,
};
