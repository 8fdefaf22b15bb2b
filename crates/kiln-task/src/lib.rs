//! Package revisions in git, and the operations on them (Porch's task handler).
//!
//! The files of a package are [`Contents`] in memory. Every operation computes new contents and writes them at the end. A
//! revision has a [`RevisionName`] and a [`Lifecycle`], and is created by a [`Task`]. Nothing here prints or reads the
//! environment.

mod contents;
mod engine;
pub mod git;
pub mod image;
mod init;
mod lifecycle;
pub mod merge;
mod metadata;
mod names;
mod package_context;
pub mod pkg;
mod render;
mod repository;
mod restore_comments;
mod task;

pub use contents::{Contents, FileMode, PackageFile, PackagePath};
pub use engine::{
    AccessError, ApproveError, ApproveOverwrite, ChangeError, CommitError, CreateError, Created,
    DeleteError, DraftChange, Engine, LocatedRevision, NewRevision, OnRenderFailure, RenderFailure,
    TaskError, UnmetGate, UpgradeError,
};
pub use lifecycle::Lifecycle;
pub use metadata::PackageMetadata;
pub use names::{PackageName, RevisionName, check_repository_name};
pub use package_context::PackageContextStyle;
pub use render::{FailedRender, RenderSettings, RepositoryEvaluators};
pub use repository::{Repositories, Repository, RepositoryConfig, RepositoryError, RunnerOptions};
pub use task::{
    CloneTask, EditTask, GitUpstream, InitTask, OciUpstream, RevisionRef, SecretRef, Strategy,
    Task, UpgradeTask, Upstream,
};
