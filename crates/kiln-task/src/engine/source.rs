//! Runs the first task of a revision, which produces its contents.

use std::path::Path;
use std::sync::Arc;

use kiln_go::quote;

use super::error::AccessError;
use super::upgrade::UpgradeError;
use super::upstream::is_same_address;
use super::{Engine, LocatedRevision};
use crate::contents::{Contents, ContentsError};
use crate::git::{GitError, ObjectId, ReadPackageError, RefName, RepositoryLocation};
use crate::image::{ImageError, PackageImage, image_locks};
use crate::init::init;
use crate::merge::Conflict;
use crate::metadata::{KptfileChangeError, set_origin};
use crate::names::PackageName;
use crate::repository::{Repository, RepositoryConfig, RepositoryError, git_locks};
use crate::task::{CloneTask, EditTask, GitUpstream, Task};

/// The result of a task.
pub(super) struct TaskOutcome {
    pub(super) contents: Contents,
    pub(super) conflicts: Vec<Conflict>,
}

impl From<Contents> for TaskOutcome {
    fn from(contents: Contents) -> TaskOutcome {
        TaskOutcome {
            contents,
            conflicts: Vec::new(),
        }
    }
}

/// Why a task failed.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    #[error("task of type {} not supported", quote(.0))]
    NotSupported(String),
    #[error("failed to initialize pkg {}", quote(name))]
    Init {
        name: String,
        #[source]
        error: ContentsError,
    },
    #[error("invalid clone source (neither of git, oci, nor upstream were specified)")]
    NoCloneSource,
    #[error("upstreamRef.name is required")]
    NoName,
    #[error("cannot read a package from image {image}")]
    Image {
        image: String,
        #[source]
        error: ImageError,
    },
    #[error("failed to fetch package revision {}", quote(name))]
    Fetch {
        name: String,
        #[source]
        error: Box<AccessError>,
    },
    #[error("{role} revision may not be the placeholder package revision {name}")]
    Placeholder { role: &'static str, name: String },
    #[error("source revision must be from same package {repository}/{package}")]
    OtherPackage { repository: String, package: String },
    #[error("source revision must be published")]
    NotPublished,
    #[error("cannot clone Git repository: {address}")]
    Upstream {
        address: String,
        #[source]
        error: OpenUpstreamError,
    },
    /// The name and the upstream cannot be set in the Kptfile.
    #[error("package {} cannot be cloned", quote(package))]
    Kptfile {
        package: String,
        #[source]
        error: KptfileChangeError,
    },
    #[error("package {} is missing Kptfile", quote(.0))]
    NoKptfile(String),
    #[error(transparent)]
    Upgrade(#[from] UpgradeError),
}

impl TaskError {
    pub(super) fn other_package(package: &PackageName) -> TaskError {
        TaskError::OtherPackage {
            repository: package.repository.clone(),
            package: package.path.clone(),
        }
    }
}

/// Why a package cannot be read from an address.
#[derive(Debug, thiserror::Error)]
pub enum OpenUpstreamError {
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("cannot find git reference (tried [{}])", .0.join(" "))]
    NoReference(Vec<String>),
    #[error("cannot find package {directory}@{reference}")]
    NoPackage {
        directory: String,
        reference: String,
    },
    #[error(transparent)]
    Read(#[from] ReadPackageError),
}

impl Engine<'_> {
    /// Runs a task.
    pub(super) fn source(
        &self,
        package: &PackageName,
        task: &Task,
    ) -> Result<TaskOutcome, TaskError> {
        match task {
            Task::Init(task) => {
                let name = package.base();
                let made = init(name, task).map_err(|error| TaskError::Init {
                    name: name.to_owned(),
                    error,
                })?;
                Ok(made.into())
            }
            Task::Clone(task) => Ok(self.cloned(package, task)?.into()),
            Task::Edit(task) => Ok(self.copied(package, task)?.into()),
            Task::Upgrade(task) => self.upgraded(package, task),
            task => Err(TaskError::NotSupported(task.kind().to_owned())),
        }
    }

    /// Reads a revision that a task names.
    pub(super) fn fetch(
        &self,
        name: &str,
        role: &'static str,
    ) -> Result<(LocatedRevision, Contents), TaskError> {
        let fetch_error = |error: AccessError| TaskError::Fetch {
            name: name.to_owned(),
            error: Box::new(error),
        };
        let located = self.find(name).map_err(fetch_error)?;
        if located.revision.is_placeholder() {
            return Err(TaskError::Placeholder {
                role,
                name: format!("{}/{name}", located.repository.config.name),
            });
        }
        let contents = located.repository.contents(&located.revision);
        let contents = contents.map_err(|error| fetch_error(error.into()))?;
        Ok((located, contents))
    }

    fn cloned(&self, package: &PackageName, task: &CloneTask) -> Result<Contents, TaskError> {
        let upstream = &task.upstream;
        let (mut contents, locks) = if let Some(revision) = &upstream.revision {
            if revision.name.is_empty() {
                return Err(TaskError::NoName);
            }
            let (located, contents) = self.fetch(&revision.name, "upstream")?;
            (contents, located.repository.locks(&located.revision))
        } else if let Some(git) = &upstream.git {
            let read = self.read_upstream(git);
            let (contents, address, reference, commit) =
                read.map_err(|error| TaskError::Upstream {
                    address: crate::git::without_credentials(&git.repo),
                    error,
                })?;
            let directory = git.directory.trim_matches('/');
            (
                contents,
                git_locks(&address, directory, &reference, &commit),
            )
        } else if let Some(oci) = &upstream.oci {
            let read = self.read_image(&oci.image)?;
            (read.contents, image_locks(&oci.image, &read.digest))
        } else {
            return Err(TaskError::NoCloneSource);
        };
        let (upstream, lock) = locks;
        let changed = set_origin(&mut contents, Some(package.base()), &upstream, &lock);
        changed.map_err(|error| match error {
            KptfileChangeError::Missing => TaskError::NoKptfile(package.base().to_owned()),
            error => TaskError::Kptfile {
                package: package.base().to_owned(),
                error,
            },
        })?;
        Ok(contents)
    }

    pub(super) fn read_image(&self, image: &str) -> Result<PackageImage, TaskError> {
        let images = self.repositories.images();
        let read = images.and_then(|images| images.read(image));
        read.map_err(|error| TaskError::Image {
            image: image.to_owned(),
            error,
        })
    }

    fn copied(&self, package: &PackageName, task: &EditTask) -> Result<Contents, TaskError> {
        let name = task.source.as_ref().map(|source| source.name.as_str());
        let name = name
            .filter(|name| !name.is_empty())
            .ok_or(TaskError::NoName)?;
        let (located, contents) = self.fetch(name, "source")?;
        if located.revision.name.package != *package {
            return Err(TaskError::other_package(package));
        }
        match located.revision.lifecycle.is_published() {
            true => Ok(contents),
            false => Err(TaskError::NotPublished),
        }
    }

    /// Reads a package from an address: its files, the address, the ref and the commit.
    fn read_upstream(
        &self,
        git: &GitUpstream,
    ) -> Result<(Contents, String, String, ObjectId), OpenUpstreamError> {
        let repository = self.open_upstream(&git.repo)?;
        repository.store.refresh()?;
        let directory = git.directory.trim_matches('/');
        let reference = match git.git_ref.as_str() {
            "" => "main",
            reference => reference,
        };
        let commit = resolve(&repository, directory, reference)?;
        let contents = repository.store.read_package(&commit, directory)?;
        let contents = contents.ok_or_else(|| OpenUpstreamError::NoPackage {
            directory: directory.to_owned(),
            reference: reference.to_owned(),
        })?;
        let address = repository.store.address().to_owned();
        Ok((contents, address, reference.to_owned(), commit))
    }

    pub(super) fn read_locked(
        &self,
        address: &str,
        directory: &str,
        commit: &ObjectId,
    ) -> Result<Contents, OpenUpstreamError> {
        let repository = self.open_upstream(address)?;
        repository.store.refresh()?;
        let contents = repository.store.read_package(commit, directory)?;
        contents.ok_or_else(|| OpenUpstreamError::NoPackage {
            directory: directory.to_owned(),
            reference: commit.to_string(),
        })
    }

    /// The registered repository at an address, or one that is opened for this task only.
    fn open_upstream(&self, address: &str) -> Result<Arc<Repository>, RepositoryError> {
        let location = match address.strip_prefix("file://") {
            None if Path::new(address).is_dir() => RepositoryLocation::Path(address.into()),
            _ => RepositoryLocation::Address(address.to_owned()),
        };
        let mut configs = self.repositories.configs();
        let is_same = |config: &&RepositoryConfig| match (&config.location, &location) {
            (RepositoryLocation::Address(known), RepositoryLocation::Address(wanted)) => {
                is_same_address(known, wanted)
            }
            (known, wanted) => known == wanted,
        };
        if let Some(known) = configs.find(is_same) {
            return self.repositories.get(&known.name);
        }
        let config = RepositoryConfig::new("upstream", location);
        let options = self.repositories.git_options();
        Ok(Arc::new(Repository::open(config, options)?))
    }
}

/// Resolves a ref: a tag or branch of the package, a tag or branch of the repository, or a commit.
fn resolve(
    repository: &Repository,
    directory: &str,
    reference: &str,
) -> Result<ObjectId, OpenUpstreamError> {
    let refs = repository.store.refs()?;
    let mut names = vec![reference.to_owned()];
    if !directory.is_empty() {
        names.insert(0, format!("{directory}/{reference}"));
    }
    let mut tried = Vec::new();
    for name in names {
        for found in [RefName::tag(&name), RefName::branch(&name)]
            .into_iter()
            .flatten()
        {
            if let Some(id) = refs.get(&found) {
                let commit = repository.store.commit_of(id.as_str())?;
                return commit.ok_or(OpenUpstreamError::NoReference(vec![name]));
            }
            tried.push(found.as_str().to_owned());
        }
    }
    let is_hex = reference.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex && reference.len() >= 4 {
        tried.push(reference.to_owned());
        if let Some(commit) = repository.store.commit_of(reference)? {
            return Ok(commit);
        }
    }
    Err(OpenUpstreamError::NoReference(tried))
}
