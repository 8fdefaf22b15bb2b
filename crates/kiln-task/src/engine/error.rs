//! What several operations can fail with.

use std::error::Error;
use std::fmt;

use kiln_krm::gotext::quote;

use crate::git::{GitError, InvalidRef, PublishError, ReadPackageError};
use crate::render::RenderStatus;
use crate::repository::RepositoryError;

/// Why what is needed cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// The repository cannot be used.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// There is no such revision.
    #[error("cannot find package revision {}", quote(.0))]
    NotFound(String),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The package cannot be read.
    #[error("cannot get package resources")]
    Read(#[from] ReadPackageError),
    /// Nothing runs the functions of the repository's packages.
    #[error("cannot use the function runner")]
    Runner(#[source] Box<dyn Error + Send + Sync>),
}

/// Why a change was not written.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// A package without a Kptfile cannot be found again.
    #[error("package must contain Kptfile at root: file does not exist")]
    NoKptfile,
    /// Nobody could read it.
    #[error(transparent)]
    TooMuch(#[from] ReadPackageError),
    /// There is no such ref, and cannot be.
    #[error(transparent)]
    Ref(#[from] InvalidRef),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The refs were not changed.
    #[error("failed to push package to remote")]
    Publish(#[from] PublishError),
}

impl CommitError {
    /// Why a package was not pushed, with all causes, in one text.
    pub(super) fn reason(&self) -> String {
        let first: &dyn Error = match self {
            CommitError::Publish(error) => error,
            error => error,
        };
        let causes = std::iter::successors(Some(first), |error| (*error).source());
        let texts: Vec<String> = causes.map(ToString::to_string).collect();
        texts.join(": ")
    }
}

/// A package could not be rendered. What its functions said comes with it.
#[derive(Clone, PartialEq, Debug)]
pub struct RenderFailure {
    /// How it went.
    pub status: RenderStatus,
    /// Whether the package is in the repository all the same.
    pub is_pushed: bool,
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
