//! Steps that tests share: a draft, a proposal, a published revision, a push, and tasks.

use kiln_task::{
    ApproveOverwrite, ChangeError, CloneTask, Contents, DraftChange, EditTask, Engine,
    OnRenderFailure, PackageMetadata, RevisionRef, Task, Upstream,
};

use crate::fixture::new;

#[track_caller]
pub(crate) fn draft(engine: &Engine<'_>, repository: &str, package: &str, workspace: &str) {
    let created = engine.create(&new(repository, package, workspace, None));
    created.expect("it can be made");
}

/// Creates a draft and proposes it.
#[track_caller]
pub(crate) fn proposal(engine: &Engine<'_>, repository: &str, package: &str, workspace: &str) {
    draft(engine, repository, package, workspace);
    let name = new(repository, package, workspace, None).name.to_string();
    engine.propose(&name).expect("it can be proposed");
}

/// Proposes a draft and approves it.
#[track_caller]
pub(crate) fn publish(engine: &Engine<'_>, name: &str) {
    engine.propose(name).expect("it can be proposed");
    let approved = engine.approve(name, ApproveOverwrite::Refuse);
    approved.expect("it can be approved");
}

pub(crate) fn named(name: &str) -> Option<RevisionRef> {
    Some(RevisionRef {
        name: name.to_owned(),
    })
}

/// The task that copies a revision into another package.
pub(crate) fn clone_of(name: &str) -> Task {
    Task::Clone(CloneTask {
        upstream: Upstream {
            revision: named(name),
            ..Upstream::default()
        },
    })
}

/// The task that copies a revision of the same package.
pub(crate) fn edit_of(name: &str) -> Task {
    Task::Edit(EditTask {
        source: named(name),
    })
}

/// Pushes files to a draft by its name.
pub(crate) fn push(
    engine: &Engine<'_>,
    name: &str,
    contents: &Contents,
    version: &str,
    on_failure: OnRenderFailure,
) -> Result<DraftChange, ChangeError> {
    let located = engine.find(name)?;
    engine.push(&located, contents, version, on_failure)
}

/// Changes the metadata of a draft by its name.
pub(crate) fn update(
    engine: &Engine<'_>,
    name: &str,
    metadata: &PackageMetadata,
) -> Result<DraftChange, ChangeError> {
    let located = engine.find(name)?;
    engine.update(&located, metadata)
}
