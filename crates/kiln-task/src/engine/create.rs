//! Creates a revision: its task, the package context, the Kptfile, the functions, one commit.

use kiln_go::quote;

use super::error::{AccessError, CommitError, RenderFailure};
use super::source::TaskError;
use super::{ATTEMPTS, Engine, is_temporary, non_empty};
use crate::git::{ObjectId, RefChange, RepositorySnapshot, Revision, without_credentials};
use crate::lifecycle::Lifecycle;
use crate::merge::{Conflict, add_merge_keys};
use crate::metadata::{KptfileChangeError, MetadataUpdate, PackageMetadata, apply};
use crate::names::{InvalidName, RevisionName};
use crate::package_context::{PackageContext, PackageContextError, PackageContextStyle, generate};
use crate::render::RenderStatus;
use crate::repository::Repository;
use crate::task::{InitTask, Task};

/// The draft that [`Engine::create`] creates.
#[derive(Clone, Debug)]
pub struct NewRevision {
    pub name: RevisionName,
    /// The first task; `None` creates an empty package.
    pub task: Option<Task>,
    pub metadata: PackageMetadata,
}

/// A created revision.
#[derive(Clone, Debug)]
pub struct Created {
    pub name: RevisionName,
    pub commit: ObjectId,
    /// The status of rendering, if it is not empty.
    pub render_status: Option<RenderStatus>,
    pub conflicts: Vec<Conflict>,
}

/// Why a revision was not created. Nothing is left of it.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    #[error("failed to create packagerevision")]
    Name(#[from] InvalidName),
    #[error(
        "package revision workspaceNames must be unique; package revision with name {package} in repo {repository} with workspaceName {workspace} already exists"
    )]
    WorkspaceExists {
        package: String,
        repository: String,
        workspace: String,
    },
    /// The name of the branch is the workspace name of placeholders.
    #[error("workspace name {} is reserved: it names the package on the branch", quote(.0))]
    WorkspaceIsBranch(String),
    #[error(
        "`clone` cannot create a new revision for package {} that already exists in repo {}; make subsequent revisions using `copy`",
        quote(package),
        quote(repository)
    )]
    CloneExists { package: String, repository: String },
    #[error(
        "package {} already exists in repository {}",
        quote(package),
        quote(repository)
    )]
    Exists { package: String, repository: String },
    #[error(
        "package path {} conflicts with existing package {}: packages cannot be nested",
        quote(path),
        quote(existing)
    )]
    Nested { path: String, existing: String },
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error(transparent)]
    Context(#[from] PackageContextError),
    #[error("failed to apply metadata to Kptfile")]
    Metadata(#[from] KptfileChangeError),
    #[error(transparent)]
    Render(Box<RenderFailure>),
    #[error("failed to close package revision draft")]
    Commit(#[from] CommitError),
}

impl Engine<'_> {
    /// Creates a draft.
    pub fn create(&self, new: &NewRevision) -> Result<Created, CreateError> {
        let name = &new.name;
        let repository = self.repositories.get(&name.package.repository);
        let repository = repository.map_err(AccessError::from)?;
        let task = new.task.clone().unwrap_or_else(|| default_task(name));
        let mut snapshot = repository.snapshot().map_err(AccessError::from)?;
        check(&snapshot, name, &task)?;
        if name.workspace == repository.layout.branch.short() {
            return Err(CreateError::WorkspaceIsBranch(name.workspace.clone()));
        }
        let made = self.source(&name.package, &task)?;
        let mut contents = made.contents;
        if is_context_written(&repository, &task) {
            generate(&mut contents, &context(&repository, name))?;
        }
        if matches!(task, Task::Clone(_) | Task::Upgrade(_)) {
            add_merge_keys(&mut contents);
        }
        apply(&mut contents, &new.metadata, MetadataUpdate::Create)?;
        let rendered = self.rendered(&contents, name, &repository)?;
        if !rendered.status.error.is_empty() {
            return Err(CreateError::Render(Box::new(RenderFailure {
                status: rendered.status,
                is_pushed: false,
                failed: rendered.failed,
            })));
        }
        let task = without_secrets(task);
        let branch = super::lifecycle_branch(&repository, name, Lifecycle::Draft);
        let branch = branch.map_err(CommitError::from)?;
        for attempt in 1.. {
            let parent = snapshot.head.as_ref();
            let commit = self.draft_commit(&repository, name, parent, &rendered.contents, &task)?;
            let change = RefChange {
                name: branch.clone(),
                old: None,
                new: Some(commit.clone()),
            };
            let published = repository.store.publish(&[change], self.atomicity);
            match published.map_err(CommitError::from) {
                Ok(()) => {
                    return Ok(Created {
                        name: name.clone(),
                        commit,
                        render_status: non_empty(rendered.status),
                        conflicts: made.conflicts,
                    });
                }
                Err(error) if is_temporary(&error) && attempt < ATTEMPTS => {
                    // Another process may have created the same revision. The check reports that.
                    snapshot = repository.snapshot().map_err(AccessError::from)?;
                    check(&snapshot, name, &task)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(AccessError::NotFound(name.to_string()).into())
    }
}

fn default_task(name: &RevisionName) -> Task {
    let description = format!("{} description", name.package.path);
    Task::Init(InitTask {
        description,
        ..InitTask::default()
    })
}

/// The task for the commit message, which every reader of the repository can see.
fn without_secrets(mut task: Task) -> Task {
    if let Task::Clone(clone) = &mut task
        && let Some(git) = &mut clone.upstream.git
    {
        git.repo = without_credentials(&git.repo);
    }
    task
}

fn context<'a>(repository: &'a Repository, name: &'a RevisionName) -> PackageContext<'a> {
    PackageContext {
        path: &name.package.path,
        repository: &repository.config.name,
        namespace: &repository.config.namespace,
        deployment: repository.config.deployment,
        style: repository.config.package_context,
    }
}

/// Whether the package context is written. Porch writes it in clones only.
fn is_context_written(repository: &Repository, task: &Task) -> bool {
    repository.config.deployment
        && match repository.config.package_context {
            PackageContextStyle::Seed => true,
            PackageContextStyle::Porch => matches!(task, Task::Clone(_)),
        }
}

/// Checks that the new revision does not conflict with existing ones.
fn check(
    snapshot: &RepositorySnapshot,
    name: &RevisionName,
    task: &Task,
) -> Result<(), CreateError> {
    name.check()?;
    let package = &name.package;
    let (path, repository) = (package.path.clone(), package.repository.clone());
    let mut own = snapshot.of_package(package);
    if own.any(|revision| revision.name.workspace == name.workspace) {
        return Err(CreateError::WorkspaceExists {
            package: path,
            repository,
            workspace: name.workspace.clone(),
        });
    }
    let exists = snapshot.of_package(package).next().is_some();
    match task {
        Task::Clone(_) if exists => {
            return Err(CreateError::CloneExists {
                package: path,
                repository,
            });
        }
        Task::Init(_) if exists => {
            return Err(CreateError::Exists {
                package: path,
                repository,
            });
        }
        Task::Init(_) | Task::Clone(_) => {
            let is_nested = |revision: &&Revision| package.is_nested_with(&revision.name.package);
            if let Some(other) = snapshot.revisions.iter().find(is_nested) {
                return Err(CreateError::Nested {
                    path,
                    existing: other.name.package.path.clone(),
                });
            }
        }
        _ => {}
    }
    Ok(())
}
