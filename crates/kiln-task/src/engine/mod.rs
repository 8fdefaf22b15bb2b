//! The operations on package revisions, from creation to deletion.
//!
//! Every operation builds its commit in memory and in objects without a ref. It updates refs last, atomically, and only if they
//! have their expected values. An operation that fails before that changes nothing.

mod approve;
mod change;
mod create;
mod delete;
mod error;
mod located;
mod source;
mod upgrade;
mod upstream;

use std::time::{SystemTime, UNIX_EPOCH};

use crate::contents::Contents;
use crate::git::{
    Atomicity, GitIdentity, InvalidRef, NewCommit, ObjectId, PackageChange, PublishError, Revision,
    change_message,
};
use crate::lifecycle::Lifecycle;
use crate::names::RevisionName;
use crate::render::{RenderSettings, RenderStatus, RenderedContents, render_contents};
use crate::repository::{Repositories, Repository};
use crate::task::Task;

pub use approve::{ApproveError, ApproveOverwrite};
pub use change::{ChangeError, DraftChange, OnRenderFailure};
pub use create::{CreateError, Created, NewRevision};
pub use delete::DeleteError;
pub use error::{AccessError, CommitError, RenderFailure, UnmetGate};
pub use located::LocatedRevision;
pub use source::TaskError;
pub use upgrade::UpgradeError;

/// How often an operation is tried because refs change concurrently.
const ATTEMPTS: usize = 10;

/// The operations on package revisions.
pub struct Engine<'a> {
    pub repositories: &'a Repositories,
    pub render: RenderSettings<'a>,
    pub author: GitIdentity,
    pub atomicity: Atomicity,
}

impl Engine<'_> {
    /// Finds a revision by its full name.
    pub fn find(&self, name: &str) -> Result<LocatedRevision, AccessError> {
        self.repositories.find(name)
    }

    /// Renders contents. A failed function is not an error here: its status is in the contents.
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

    /// Writes the commit of a draft.
    fn draft_commit(
        &self,
        repository: &Repository,
        name: &RevisionName,
        parent: Option<&ObjectId>,
        contents: &Contents,
        task: &Task,
    ) -> Result<ObjectId, CommitError> {
        // Whatever rendering made of it: a render without functions does not notice an interrupt.
        if self.render.cancel.is_cancelled() {
            return Err(CommitError::Interrupted);
        }
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

/// The readiness gates whose conditions are not true.
fn unmet_gates(revision: &Revision) -> Vec<UnmetGate> {
    let kptfile = revision.kptfile();
    let gates = kptfile.info.unwrap_or_default().readiness_gates;
    let conditions = kptfile.status.unwrap_or_default().conditions;
    let unmet = gates.into_iter().filter_map(|gate| {
        let own = || {
            let all = conditions.iter();
            all.filter(|condition| condition.kind == gate.condition_type)
        };
        if own().any(|condition| condition.status == "True") {
            return None;
        }
        let condition = own().next().cloned().unwrap_or_default();
        Some(UnmetGate {
            status: condition.status,
            message: condition.message,
            condition_type: gate.condition_type,
        })
    });
    unmet.collect()
}

fn non_empty(status: RenderStatus) -> Option<RenderStatus> {
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

/// Whether another attempt may succeed.
fn is_temporary(error: &CommitError) -> bool {
    let is_busy = matches!(error, CommitError::Publish(PublishError::Busy(_)));
    is_busy || is_stale(error)
}

fn is_stale(error: &CommitError) -> bool {
    matches!(error, CommitError::Publish(PublishError::Stale(_)))
}
