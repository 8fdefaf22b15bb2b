//! Package revisions on git, and what is done to them.
//!
//! The files of a package are [`Contents`], whole and in memory: every operation takes contents and gives new ones, and
//! only when all is done is anything written. A revision is known by its [`RevisionName`], is in one [`Lifecycle`], and
//! began with a [`Task`]. Nothing here prints, and what the environment says is passed in.

mod contents;
mod engine;
pub mod git;
pub mod heal;
pub mod image;
mod init;
mod lifecycle;
pub mod merge;
mod metadata;
mod names;
mod package_context;
mod render;
mod repository;
mod task;

pub use contents::{Contents, ContentsError, File, FileMode, PackagePath, PathProblem, UnsafePath};
pub use engine::{
    AccessError, ApproveError, Change, ChangeError, CommitError, CreateError, Created, DeleteError,
    Engine, Located, NewRevision, OnRenderFailure, OpenUpstreamError, Overwrite,
    PUSH_ON_RENDER_FAILURE, RenderFailure, TaskError, UpgradeError, is_ready,
};
pub use lifecycle::{Lifecycle, UnknownLifecycle};
pub use metadata::{KptfileChangeError, PackageMetadata};
pub use names::{
    InvalidName, InvalidRepositoryName, PackageName, RevisionName, check_repository_name,
};
pub use package_context::{PackageContextError, PackageContextStyle};
pub use render::{RenderSettings, RenderStatus, RenderedContents, Runners, render_contents};
pub use repository::{
    CreateBranchError, Repositories, Repository, RepositoryConfig, RepositoryError, RunnerOptions,
};
pub use task::{
    CloneTask, EditTask, GitUpstream, InitTask, OciUpstream, RevisionRef, SecretRef, Strategy,
    Task, UnknownStrategy, UpgradeTask, Upstream,
};
