//! Changing a draft: what it says about itself, or all of its files. And moving it between draft and proposal.

use kiln_krm::gotext::quote;
use kiln_krm::kptfile::FILE_NAME;

use super::error::{AccessError, CommitError, RenderFailure};
use super::{Engine, Located, is_ready, told};
use crate::contents::Contents;
use crate::git::{ObjectId, RefChange, read_kptfile};
use crate::heal::heal;
use crate::lifecycle::Lifecycle;
use crate::metadata::{KptfileChangeError, Manner, PackageMetadata, apply};
use crate::render::RenderStatus;
use crate::task::Task;

/// Annotation of the Kptfile: push what cannot be rendered.
pub const PUSH_ON_RENDER_FAILURE: &str = "porch.kpt.dev/push-on-render-failure";

/// What happens to a package that cannot be rendered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnRenderFailure {
    /// It stays where it is, unless its Kptfile says otherwise.
    #[default]
    Refuse,
    /// It is pushed all the same.
    Push,
}

/// A change that has been made.
#[derive(Clone, Debug)]
pub struct Change {
    /// The revision's commit.
    pub commit: ObjectId,
    /// How rendering went, if there is anything to say.
    pub render_status: Option<RenderStatus>,
}

/// Why a revision was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// Something that is needed cannot be had.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// It is not said which version is changed.
    #[error("resourceVersion must be specified for an update")]
    NoVersion,
    /// Somebody else has changed it.
    #[error("Operation cannot be fulfilled on packagerevisionresources.porch.kpt.dev {}: the object has been modified; please apply your changes to the latest version and try again", quote(.0))]
    Conflict(String),
    /// Only drafts are changed.
    #[error("cannot update a package revision with lifecycle value {}; package must be Draft", quote(.0.as_str()))]
    NotDraft(Lifecycle),
    /// It is already where it is to go.
    #[error("{0} is already proposed")]
    AlreadyProposed(String),
    /// Only drafts are proposed.
    #[error("cannot propose {0} package")]
    CannotPropose(Lifecycle),
    /// Only what is proposed is rejected.
    #[error("cannot reject {name} with lifecycle '{lifecycle}'")]
    CannotReject {
        /// The revision.
        name: String,
        /// Where it stands.
        lifecycle: Lifecycle,
    },
    /// Conditions that it waits for are not true.
    #[error("readiness conditions not met")]
    NotReady,
    /// The Kptfile cannot be changed.
    #[error(transparent)]
    Kptfile(#[from] KptfileChangeError),
    /// The functions failed.
    #[error(transparent)]
    Render(Box<RenderFailure>),
    /// It cannot be written after the functions failed.
    #[error("failed to push package to remote: {}; render error: {render}", commit.reason())]
    CommitAfterRender {
        /// Why it cannot be written. It stands in the middle of the sentence, so that it is not told as the cause again.
        commit: CommitError,
        /// Why it could not be rendered.
        render: String,
    },
    /// It cannot be written.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

impl Engine<'_> {
    /// Changes what a draft says about itself.
    pub fn update(&self, name: &str, metadata: &PackageMetadata) -> Result<Change, ChangeError> {
        let located = self.find(name)?;
        check_draft(&located)?;
        let mut contents = read(&located)?;
        apply(&mut contents, metadata, Manner::Replace)?;
        self.write(
            &located,
            &contents,
            Lifecycle::Draft,
            OnRenderFailure::Refuse,
        )
    }

    /// Replaces all files of a draft. `version` is the commit that they were made from. Comments that a program has lost,
    /// which wrote everything anew, are brought back.
    pub fn push(
        &self,
        name: &str,
        contents: &Contents,
        version: &str,
        on_failure: OnRenderFailure,
    ) -> Result<Change, ChangeError> {
        if version.is_empty() {
            return Err(ChangeError::NoVersion);
        }
        let located = self.find(name)?;
        if located.revision.commit.as_str() != version {
            return Err(ChangeError::Conflict(name.to_owned()));
        }
        check_draft(&located)?;
        let contents = heal(&read(&located)?, contents);
        self.write(&located, &contents, Lifecycle::Draft, on_failure)
    }

    /// Proposes a draft for approval. It is rendered once more.
    pub fn propose(&self, name: &str) -> Result<Change, ChangeError> {
        let located = self.find(name)?;
        match located.revision.lifecycle {
            Lifecycle::Draft => {}
            Lifecycle::Proposed => return Err(ChangeError::AlreadyProposed(name.to_owned())),
            lifecycle => return Err(ChangeError::CannotPropose(lifecycle)),
        }
        if !is_ready(&located.revision) {
            return Err(ChangeError::NotReady);
        }
        let contents = read(&located)?;
        self.write(
            &located,
            &contents,
            Lifecycle::Proposed,
            OnRenderFailure::Refuse,
        )
    }

    /// Makes a draft of what was proposed for approval, or keeps what was proposed for deletion. Where it stood before is
    /// given back.
    pub fn reject(&self, name: &str) -> Result<Lifecycle, ChangeError> {
        let located = self.find(name)?;
        let lifecycle = located.revision.lifecycle;
        let changes = match lifecycle {
            Lifecycle::Proposed => {
                self.moves(&located, located.revision.commit.clone(), Lifecycle::Draft)?
            }
            Lifecycle::DeletionProposed => {
                vec![super::delete::withdrawal(&located).map_err(CommitError::from)?]
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

    /// Renders contents, and makes them the revision.
    fn write(
        &self,
        located: &Located,
        contents: &Contents,
        lifecycle: Lifecycle,
        on_failure: OnRenderFailure,
    ) -> Result<Change, ChangeError> {
        let name = &located.revision.name;
        let repository = &located.repository;
        let rendered = self.rendered(contents, name, repository)?;
        let is_failure = !rendered.status.error.is_empty();
        if is_failure && !is_pushed_anyway(contents, on_failure) {
            return Err(ChangeError::Render(Box::new(RenderFailure {
                status: rendered.status,
                is_pushed: false,
            })));
        }
        let parent = Some(&located.revision.commit);
        let written = self
            .draft_commit(repository, name, parent, &rendered.contents, &Task::Render)
            .map_err(ChangeError::from)
            .and_then(|commit| {
                let changes = self.moves(located, commit.clone(), lifecycle)?;
                self.publish(located, &changes)?;
                Ok(commit)
            });
        match (written, is_failure) {
            (Ok(commit), false) => Ok(Change {
                commit,
                render_status: told(rendered.status),
            }),
            (Ok(_), true) => Err(ChangeError::Render(Box::new(RenderFailure {
                status: rendered.status,
                is_pushed: true,
            }))),
            (Err(ChangeError::Commit(commit)), true) => Err(ChangeError::CommitAfterRender {
                commit,
                render: rendered.status.error,
            }),
            (Err(error), _) => Err(error),
        }
    }

    /// The changes of refs that make a commit the revision, as a draft or as a proposal.
    fn moves(
        &self,
        located: &Located,
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

    /// A draft that somebody else has changed is not changed again: their work would be lost.
    fn publish(&self, located: &Located, changes: &[RefChange]) -> Result<(), ChangeError> {
        let published = located.repository.store.publish(changes, self.atomicity);
        published.map_err(|error| match CommitError::from(error) {
            error if super::is_stale(&error) => {
                ChangeError::Conflict(located.revision.name.to_string())
            }
            error => ChangeError::Commit(error),
        })
    }
}

fn check_draft(located: &Located) -> Result<(), ChangeError> {
    match located.revision.lifecycle {
        Lifecycle::Draft => Ok(()),
        lifecycle => Err(ChangeError::NotDraft(lifecycle)),
    }
}

fn read(located: &Located) -> Result<Contents, AccessError> {
    Ok(located.repository.contents(&located.revision)?)
}

/// The word in the Kptfile is `true` and nothing else.
fn is_pushed_anyway(contents: &Contents, on_failure: OnRenderFailure) -> bool {
    let kptfile = read_kptfile(contents.bytes(FILE_NAME).unwrap_or_default());
    let annotation = kptfile.metadata.annotations.get(PUSH_ON_RENDER_FAILURE);
    on_failure == OnRenderFailure::Push || annotation.is_some_and(|value| value == "true")
}
