//! What tests do before they begin: a draft, a proposal, a published revision, and the tasks that lead to others.

use kiln_task::{CloneTask, EditTask, Engine, Overwrite, RevisionRef, Task, Upstream};

use crate::world::new;

/// Begins a new package.
#[track_caller]
pub(crate) fn draft(engine: &Engine<'_>, repository: &str, package: &str, workspace: &str) {
    let created = engine.create(&new(repository, package, workspace, None));
    created.expect("it can be made");
}

/// Begins a new package and proposes it.
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
    let approved = engine.approve(name, Overwrite::Refuse);
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
