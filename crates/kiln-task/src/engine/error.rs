//! Errors that several operations share.

use std::error::Error;
use std::fmt;

use kiln_go::{error_chain, quote};

use crate::git::{GitError, InvalidRef, PublishError, ReadPackageError};
use crate::render::{FailedRender, RenderStatus};
use crate::repository::RepositoryError;

/// Why a revision or its repository cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    #[error("cannot find package revision {}", quote(.0))]
    NotFound(String),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("cannot get package resources")]
    Read(#[from] ReadPackageError),
    #[error("cannot use the function runner")]
    Runner(#[source] Box<dyn Error + Send + Sync>),
}

#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// The user interrupted the command before anything was published.
    #[error("interrupted; nothing was pushed")]
    Interrupted,
    /// A package without a Kptfile would not be discovered.
    #[error("package must contain Kptfile at root: file does not exist")]
    NoKptfile,
    /// The package is too large to be read again.
    #[error(transparent)]
    TooMuch(#[from] ReadPackageError),
    #[error(transparent)]
    Ref(#[from] InvalidRef),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("failed to push package to remote")]
    Publish(#[from] PublishError),
}

impl CommitError {
    /// The reason with all its causes, in one text.
    pub(super) fn reason(&self) -> String {
        let first: &dyn Error = match self {
            CommitError::Publish(error) => error,
            error => error,
        };
        error_chain(first)
    }
}

/// A package failed to render.
#[derive(Clone, PartialEq, Debug)]
pub struct RenderFailure {
    pub status: RenderStatus,
    /// Whether the package was pushed anyway.
    pub is_pushed: bool,
    /// The error with its place, unless the files could not be written.
    pub failed: Option<Box<FailedRender>>,
}

/// A readiness gate whose condition is not true.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnmetGate {
    pub condition_type: String,
    /// The status of the condition; empty if there is no such condition.
    pub status: String,
    pub message: String,
}

impl fmt::Display for RenderFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rest = match self.is_pushed {
            true => "Package pushed to remote despite render failure.",
            false => {
                "Package NOT pushed to remote. Fix locally (until 'kpt fn render' succeeds) and retry."
            }
        };
        let details = &self.status.error;
        write!(
            f,
            "Error rendering package in kpt function pipeline. {rest} Details: {details}"
        )
    }
}

impl Error for RenderFailure {}
