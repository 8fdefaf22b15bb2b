//! Why a repository cannot be used as an upstream, in kpt's words.

use std::io;
use std::path::PathBuf;
use std::process::Output;

use kiln_go::quote;

use super::super::owner::ForeignDirectory;
use super::super::program::{GitError, without_credentials};

/// Why a repository cannot be used as an upstream.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    #[error("invalid git {kind} {}: must not begin with '-'", quote(value))]
    LikeOption { kind: &'static str, value: String },
    #[error("unable to detect default branch in repo")]
    NoDefaultBranch,
    #[error("unexpected response from git when determining default branch: {0}")]
    DefaultBranch(String),
    #[error(transparent)]
    Command(#[from] UpstreamCommandError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Owner(#[from] ForeignDirectory),
    #[error("error creating cache directory for repo: {path:?}")]
    Cache {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
}

/// A git command failed. Displayed as kpt prints it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UpstreamCommandError {
    pub problem: UpstreamProblem,
    /// The command line.
    pub command: String,
    /// The address, without credentials.
    pub repo: String,
    pub git_ref: Option<String>,
    /// What git printed.
    pub output: String,
}

/// What git's message means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UpstreamProblem {
    UnknownRef,
    AuthenticationRequired,
    Unavailable,
    NotFound,
    Other,
}

impl std::fmt::Display for UpstreamCommandError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let repo = quote(&self.repo);
        let git_ref = self.git_ref.as_deref().map(quote);
        match self.problem {
            UpstreamProblem::UnknownRef => {
                let git_ref = git_ref.unwrap_or_default();
                write!(
                    f,
                    "Unknown ref {git_ref}. Please verify that the reference exists in upstream repo {repo}."
                )?;
            }
            UpstreamProblem::AuthenticationRequired => write!(
                f,
                "Repository {repo} requires authentication. kpt does not support this for the 'https' protocol. Please use the 'git' protocol instead."
            )?,
            UpstreamProblem::Unavailable => write!(f, "Unable to access repository {repo}.")?,
            UpstreamProblem::NotFound => write!(f, "Repository {repo} not found.")?,
            UpstreamProblem::Other => {
                let command = quote(&self.command);
                write!(
                    f,
                    "Failed to execute git command {command} against repo {repo}"
                )?;
                if let Some(git_ref) = git_ref {
                    write!(f, " for reference {git_ref}")?;
                }
            }
        }
        f.write_str("\n")?;
        match self.output.as_str() {
            "" => Ok(()),
            output => write!(f, "\nDetails:\n{output}"),
        }
    }
}

impl std::error::Error for UpstreamCommandError {}

impl UpstreamCommandError {
    /// The failure of a command on a repository.
    pub(super) fn new(
        address: &str,
        (command, arguments): (&'static str, &[&str]),
        git_ref: Option<&str>,
        output: &Output,
    ) -> UpstreamCommandError {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let has = |text: &str| stderr.contains(text);
        let problem = if has("unknown revision or path not in the working tree") {
            UpstreamProblem::UnknownRef
        } else if has("could not read Username") {
            UpstreamProblem::AuthenticationRequired
        } else if has("Could not resolve host") {
            UpstreamProblem::Unavailable
        } else if has("fatal: repository '") && has("not found") {
            UpstreamProblem::NotFound
        } else {
            UpstreamProblem::Other
        };
        let stdout = String::from_utf8_lossy(&output.stdout);
        UpstreamCommandError {
            problem,
            command: format!("git {command} {}", arguments.join(" ")),
            repo: without_credentials(address),
            git_ref: git_ref.map(str::to_owned),
            output: without_credentials(&format!("{stdout}{stderr}")),
        }
    }
}
