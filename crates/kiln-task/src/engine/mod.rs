//! What is done to package revisions, from the first task to their deletion.
//!
//! Every operation builds its commit in memory and in objects that no ref knows of, and changes refs last, all at once and
//! only if they are what they were. What fails before that has never happened.

mod approve;
mod change;
mod create;
mod delete;
mod error;
mod source;
mod upgrade;
mod upstream;

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::contents::Contents;
use crate::git::{
    Atomicity, Identity, InvalidRef, NewCommit, ObjectId, PackageChange, PublishError, Revision,
    Snapshot, change_message,
};
use crate::lifecycle::Lifecycle;
use crate::names::RevisionName;
use crate::render::{RenderSettings, RenderStatus, RenderedContents, render_contents};
use crate::repository::{Repositories, Repository};
use crate::task::Task;

pub use approve::{ApproveError, Overwrite};
pub use change::{Change, ChangeError, OnRenderFailure, PUSH_ON_RENDER_FAILURE};
pub use create::{CreateError, Created, NewRevision};
pub use delete::DeleteError;
pub use error::{AccessError, CommitError, RenderFailure};
pub use source::{OpenUpstreamError, TaskError};
pub use upgrade::UpgradeError;

/// How often a change is tried again because somebody else was faster.
const ATTEMPTS: usize = 10;

/// Does things to package revisions.
pub struct Engine<'a> {
    /// The repositories there are.
    pub repositories: &'a Repositories,
    /// How packages are rendered.
    pub render: RenderSettings<'a>,
    /// Who is the author of commits.
    pub author: Identity,
    /// Whether refs must change all at once.
    pub atomicity: Atomicity,
}

/// A revision, the repository it is in and everything else that is there.
pub struct Located {
    /// The repository.
    pub repository: Arc<Repository>,
    /// What it holds.
    pub snapshot: Snapshot,
    /// The revision.
    pub revision: Revision,
}

impl Engine<'_> {
    /// Finds a revision by its whole name.
    pub fn find(&self, name: &str) -> Result<Located, AccessError> {
        let not_found = || AccessError::NotFound(name.to_owned());
        let repository = RevisionName::repository_of(name).ok_or_else(not_found)?;
        let repository = self.repositories.get(repository)?;
        let snapshot = repository.snapshot()?;
        let revision = snapshot.find(name).cloned().ok_or_else(not_found)?;
        Ok(Located {
            repository,
            snapshot,
            revision,
        })
    }

    /// Renders; a failure is not an error here, because what is to be kept of it is in the contents.
    fn rendered(
        &self,
        contents: &Contents,
        name: &RevisionName,
        repository: &Repository,
    ) -> Result<RenderedContents, AccessError> {
        let path = &name.package.path;
        render_contents(contents, path, &repository.config, &self.render)
            .map_err(AccessError::Runner)
    }

    /// Writes the commit that makes a draft of contents.
    fn draft_commit(
        &self,
        repository: &Repository,
        name: &RevisionName,
        parent: Option<&ObjectId>,
        contents: &Contents,
        task: &Task,
    ) -> Result<ObjectId, CommitError> {
        if contents.bytes(kiln_krm::kptfile::FILE_NAME).is_none() {
            return Err(CommitError::NoKptfile);
        }
        repository.store.check_size(contents)?;
        let directory = repository.layout.full_path(&name.package.path);
        let message = change_message(&directory, &name.workspace, task);
        let commit = NewCommit {
            parents: parent.into_iter().cloned().collect(),
            package: &directory,
            change: PackageChange::Contents(contents),
            message: &message,
            author: &self.author,
            time: now(),
        };
        Ok(repository.store.write_commit(&commit)?)
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// Whether all conditions that a revision waits for are true.
pub fn is_ready(revision: &Revision) -> bool {
    let kptfile = revision.kptfile();
    let gates = kptfile.info.unwrap_or_default().readiness_gates;
    let conditions = kptfile.status.unwrap_or_default().conditions;
    gates.iter().all(|gate| {
        let is_met = |condition: &kiln_krm::kptfile::Condition| {
            condition.kind == gate.condition_type && condition.status == "True"
        };
        conditions.iter().any(is_met)
    })
}

/// The status worth showing: one that tells something.
fn told(status: RenderStatus) -> Option<RenderStatus> {
    (!status.is_empty()).then_some(status)
}

fn lifecycle_branch(
    repository: &Repository,
    name: &RevisionName,
    lifecycle: Lifecycle,
) -> Result<crate::git::RefName, InvalidRef> {
    let (package, workspace) = (&name.package.path, &name.workspace);
    match lifecycle {
        Lifecycle::Proposed => repository.layout.proposed(package, workspace),
        _ => repository.layout.draft(package, workspace),
    }
}

/// Whether it may well work the next time.
fn is_passing(error: &CommitError) -> bool {
    let is_busy = matches!(error, CommitError::Publish(PublishError::Busy(_)));
    is_busy || is_stale(error)
}

fn is_stale(error: &CommitError) -> bool {
    matches!(error, CommitError::Publish(PublishError::Stale(_)))
}
