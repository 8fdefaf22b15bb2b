//! Changes a draft: its metadata, its files, or its lifecycle between draft and proposal.

use kiln_go::quote;
use kiln_krm::kptfile::FILE_NAME;

use super::error::{AccessError, CommitError, RenderFailure, UnmetGate};
use super::{Engine, LocatedRevision, non_empty, unmet_gates};
use crate::contents::Contents;
use crate::git::{GitIdentity, ObjectId, RefChange, read_kptfile};
use crate::lifecycle::Lifecycle;
use crate::metadata::{KptfileChangeError, MetadataUpdate, PackageMetadata, apply};
use crate::render::RenderStatus;
use crate::restore_comments::restore_comments;
use crate::task::Task;

/// The annotation of a Kptfile that allows pushing a package that fails to render.
const PUSH_ON_RENDER_FAILURE: &str = "porch.kpt.dev/push-on-render-failure";

/// What to do with a package that fails to render.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnRenderFailure {
    /// Do not push it, unless its Kptfile has [`PUSH_ON_RENDER_FAILURE`].
    #[default]
    Refuse,
    Push,
}

/// A completed change.
#[derive(Clone, Debug)]
pub struct DraftChange {
    pub commit: ObjectId,
    /// The status of rendering, if it is not empty.
    pub render_status: Option<RenderStatus>,
}

#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("resourceVersion must be specified for an update")]
    NoVersion,
    /// The revision has changed since it was read.
    #[error(
        "Operation cannot be fulfilled on packagerevisionresources.porch.kpt.dev {}: the object has been modified; please apply your changes to the latest version and try again",
        quote(name)
    )]
    Conflict {
        name: String,
        /// The present lifecycle, as far as it is known.
        lifecycle: Lifecycle,
        /// The author of the present version, if it was read.
        author: Option<GitIdentity>,
    },
    #[error("cannot update a package revision with lifecycle value {}; package must be Draft", quote(lifecycle.as_str()))]
    NotDraft { name: String, lifecycle: Lifecycle },
    #[error("{0} is already proposed")]
    AlreadyProposed(String),
    #[error("cannot propose {lifecycle} package")]
    CannotPropose { name: String, lifecycle: Lifecycle },
    #[error("cannot reject {name} with lifecycle '{lifecycle}'")]
    CannotReject { name: String, lifecycle: Lifecycle },
    #[error("readiness conditions not met")]
    NotReady { name: String, gates: Vec<UnmetGate> },
    #[error(transparent)]
    Kptfile(#[from] KptfileChangeError),
    #[error(transparent)]
    Render(Box<RenderFailure>),
    #[error("failed to push package to remote: {}; render error: {render}", commit.reason())]
    CommitAfterRender {
        /// Part of the message, so it is not also the source.
        commit: CommitError,
        render: String,
    },
    #[error(transparent)]
    Commit(#[from] CommitError),
}

impl Engine<'_> {
    /// Changes the metadata of a draft.
    pub fn update(
        &self,
        located: &LocatedRevision,
        metadata: &PackageMetadata,
    ) -> Result<DraftChange, ChangeError> {
        check_draft(located)?;
        let mut contents = read(located)?;
        apply(&mut contents, metadata, MetadataUpdate::Replace)?;
        self.write(
            located,
            &contents,
            Lifecycle::Draft,
            OnRenderFailure::Refuse,
        )
    }

    /// Replaces all files of a draft. `version` is the commit that they were pulled from. Comments that were lost because a
    /// program has rewritten the files are restored.
    pub fn push(
        &self,
        located: &LocatedRevision,
        contents: &Contents,
        version: &str,
        on_failure: OnRenderFailure,
    ) -> Result<DraftChange, ChangeError> {
        if version.is_empty() {
            return Err(ChangeError::NoVersion);
        }
        if located.revision.commit.as_str() != version {
            let author = located.revision.author.clone();
            return Err(ChangeError::Conflict {
                name: located.revision.name.to_string(),
                lifecycle: located.revision.lifecycle,
                author: author.map(|(author, _)| author),
            });
        }
        check_draft(located)?;
        let contents = restore_comments(&read(located)?, contents);
        self.write(located, &contents, Lifecycle::Draft, on_failure)
    }

    /// Proposes a draft for approval. Renders it again.
    pub fn propose(&self, name: &str) -> Result<DraftChange, ChangeError> {
        let located = self.find(name)?;
        match located.revision.lifecycle {
            Lifecycle::Draft => {}
            Lifecycle::Proposed => return Err(ChangeError::AlreadyProposed(name.to_owned())),
            lifecycle => {
                return Err(ChangeError::CannotPropose {
                    name: name.to_owned(),
                    lifecycle,
                });
            }
        }
        let gates = unmet_gates(&located.revision);
        if !gates.is_empty() {
            return Err(ChangeError::NotReady {
                name: name.to_owned(),
                gates,
            });
        }
        let contents = read(&located)?;
        self.write(
            &located,
            &contents,
            Lifecycle::Proposed,
            OnRenderFailure::Refuse,
        )
    }

    /// Turns a proposal back into a draft, or withdraws a proposal for deletion. Returns the previous lifecycle.
    pub fn reject(&self, name: &str) -> Result<Lifecycle, ChangeError> {
        let located = self.find(name)?;
        let lifecycle = located.revision.lifecycle;
        let changes = match lifecycle {
            Lifecycle::Proposed => {
                self.ref_updates(&located, located.revision.commit.clone(), Lifecycle::Draft)?
            }
            Lifecycle::DeletionProposed => {
                vec![super::delete::withdraw_deletion(&located).map_err(CommitError::from)?]
            }
            lifecycle => {
                return Err(ChangeError::CannotReject {
                    name: name.to_owned(),
                    lifecycle,
                });
            }
        };
        self.publish(&located, &changes)?;
        Ok(lifecycle)
    }

    /// Renders contents and commits them as the revision.
    fn write(
        &self,
        located: &LocatedRevision,
        contents: &Contents,
        lifecycle: Lifecycle,
        on_failure: OnRenderFailure,
    ) -> Result<DraftChange, ChangeError> {
        let name = &located.revision.name;
        let repository = &located.repository;
        let rendered = self.rendered(contents, name, repository)?;
        let is_failure = !rendered.status.error.is_empty();
        if is_failure && !allows_push(contents, on_failure) {
            return Err(ChangeError::Render(Box::new(RenderFailure {
                status: rendered.status,
                is_pushed: false,
                failed: rendered.failed,
            })));
        }
        let parent = Some(&located.revision.commit);
        let written = self
            .draft_commit(repository, name, parent, &rendered.contents, &Task::Render)
            .map_err(ChangeError::from)
            .and_then(|commit| {
                let changes = self.ref_updates(located, commit.clone(), lifecycle)?;
                self.publish(located, &changes)?;
                Ok(commit)
            });
        match (written, is_failure) {
            (Ok(commit), false) => Ok(DraftChange {
                commit,
                render_status: non_empty(rendered.status),
            }),
            (Ok(_), true) => Err(ChangeError::Render(Box::new(RenderFailure {
                status: rendered.status,
                is_pushed: true,
                failed: rendered.failed,
            }))),
            (Err(ChangeError::Commit(commit)), true) => Err(ChangeError::CommitAfterRender {
                commit,
                render: rendered.status.error,
            }),
            (Err(error), _) => Err(error),
        }
    }

    /// The ref updates that make a commit the draft or the proposal.
    fn ref_updates(
        &self,
        located: &LocatedRevision,
        commit: ObjectId,
        lifecycle: Lifecycle,
    ) -> Result<Vec<RefChange>, ChangeError> {
        let revision = &located.revision;
        let branch = super::lifecycle_branch(&located.repository, &revision.name, lifecycle);
        let branch = branch.map_err(CommitError::from)?;
        let old = located.snapshot.refs.get(&branch).cloned();
        let is_same = branch == revision.reference;
        let mut changes = vec![RefChange {
            name: branch,
            old: old.filter(|_| is_same),
            new: Some(commit),
        }];
        if !is_same {
            changes.push(RefChange {
                name: revision.reference.clone(),
                old: Some(revision.commit.clone()),
                new: None,
            });
        }
        Ok(changes)
    }

    /// Updates refs. If the draft has changed meanwhile, that is a conflict and not tried again.
    fn publish(&self, located: &LocatedRevision, changes: &[RefChange]) -> Result<(), ChangeError> {
        let published = located.repository.store.publish(changes, self.atomicity);
        published.map_err(|error| match CommitError::from(error) {
            error if super::is_stale(&error) => ChangeError::Conflict {
                name: located.revision.name.to_string(),
                lifecycle: located.revision.lifecycle,
                author: None,
            },
            error => ChangeError::Commit(error),
        })
    }
}

fn check_draft(located: &LocatedRevision) -> Result<(), ChangeError> {
    match located.revision.lifecycle {
        Lifecycle::Draft => Ok(()),
        lifecycle => Err(ChangeError::NotDraft {
            name: located.revision.name.to_string(),
            lifecycle,
        }),
    }
}

fn read(located: &LocatedRevision) -> Result<Contents, AccessError> {
    Ok(located.repository.contents(&located.revision)?)
}

/// Whether the flag or the Kptfile allows pushing. The annotation must be exactly `true`.
fn allows_push(contents: &Contents, on_failure: OnRenderFailure) -> bool {
    let kptfile = read_kptfile(contents.bytes(FILE_NAME).unwrap_or_default());
    let annotation = kptfile.metadata.annotations.get(PUSH_ON_RENDER_FAILURE);
    on_failure == OnRenderFailure::Push || annotation.is_some_and(|value| value == "true")
}
