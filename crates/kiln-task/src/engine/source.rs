//! The first task of a revision: where its contents come from.

use std::path::Path;
use std::sync::Arc;

use kiln_krm::gotext::quote;

use super::error::AccessError;
use super::upgrade::UpgradeError;
use super::upstream::is_same_address;
use super::{Engine, Located};
use crate::contents::{Contents, ContentsError};
use crate::git::{GitError, Location, ObjectId, ReadPackageError, RefName};
use crate::image::{ImageError, PackageImage, image_locks};
use crate::init::init;
use crate::merge::Conflict;
use crate::metadata::{KptfileChangeError, set_origin};
use crate::names::PackageName;
use crate::repository::{Repository, RepositoryConfig, RepositoryError, git_locks};
use crate::task::{CloneTask, EditTask, GitUpstream, Task};

/// What a task made.
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

/// Why a task cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// No revision begins with it.
    #[error("task of type {} not supported", quote(.0))]
    NotSupported(String),
    /// A new package cannot be made.
    #[error("failed to initialize pkg {}", quote(name))]
    Init {
        /// The package.
        name: String,
        /// Why.
        #[source]
        error: ContentsError,
    },
    /// It is not said what to clone.
    #[error("invalid clone source (neither of git, oci, nor upstream were specified)")]
    NoCloneSource,
    /// The revision to start from is not named.
    #[error("upstreamRef.name is required")]
    NoName,
    /// The image cannot be had, or is no package.
    #[error("cannot get a package from image {image}")]
    Image {
        /// The image.
        image: String,
        /// Why.
        #[source]
        error: ImageError,
    },
    /// The revision to start from cannot be had.
    #[error("failed to fetch package revision {}", quote(name))]
    Fetch {
        /// The revision.
        name: String,
        /// Why.
        #[source]
        error: Box<AccessError>,
    },
    /// What is on a branch is no revision to start from.
    #[error("{role} revision may not be the placeholder package revision {name}")]
    Placeholder {
        /// What it was to be.
        role: &'static str,
        /// The repository and the revision.
        name: String,
    },
    /// A copy is made inside of a package only.
    #[error("source revision must be from same package {repository}/{package}")]
    OtherPackage {
        /// The repository.
        repository: String,
        /// The package.
        package: String,
    },
    /// A copy is made of what has been published.
    #[error("source revision must be published")]
    NotPublished,
    /// The address that was given cannot be used.
    #[error("cannot clone Git repository: {address}")]
    Upstream {
        /// The address.
        address: String,
        /// Why.
        #[source]
        error: OpenUpstreamError,
    },
    /// The Kptfile cannot be given a new name and origin.
    #[error("package {} cannot be cloned", quote(package))]
    Kptfile {
        /// The package.
        package: String,
        /// Why.
        #[source]
        error: KptfileChangeError,
    },
    /// There is no Kptfile.
    #[error("package {} is missing Kptfile", quote(.0))]
    NoKptfile(String),
    /// The package cannot be upgraded.
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

/// Why a package cannot be had from an address.
#[derive(Debug, thiserror::Error)]
pub enum OpenUpstreamError {
    /// The repository cannot be opened.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// There is no such ref.
    #[error("cannot find git reference (tried [{}])", .0.join(" "))]
    NoReference(Vec<String>),
    /// There is no such directory.
    #[error("cannot find package {directory}@{reference}")]
    NoPackage {
        /// The directory.
        directory: String,
        /// The ref.
        reference: String,
    },
    /// The package cannot be read.
    #[error(transparent)]
    Read(#[from] ReadPackageError),
}

impl Engine<'_> {
    /// The contents that a task makes, before anything else is done to them.
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

    /// A revision that a task names, and its files.
    pub(super) fn fetch(
        &self,
        name: &str,
        role: &'static str,
    ) -> Result<(Located, Contents), TaskError> {
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

    /// The package in an image.
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

    /// A package at an address: its files, the address, the ref and the commit.
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

    /// The package at an exact place.
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

    /// A registered repository at that address, or one that is opened for this alone.
    fn open_upstream(&self, address: &str) -> Result<Arc<Repository>, RepositoryError> {
        let location = match address.strip_prefix("file://") {
            None if Path::new(address).is_dir() => Location::Path(address.into()),
            _ => Location::Address(address.to_owned()),
        };
        let mut configs = self.repositories.configs();
        let is_same = |config: &&RepositoryConfig| match (&config.location, &location) {
            (Location::Address(known), Location::Address(asked)) => is_same_address(known, asked),
            (known, asked) => known == asked,
        };
        if let Some(known) = configs.find(is_same) {
            return self.repositories.get(&known.name);
        }
        let config = RepositoryConfig::new("upstream", location);
        let options = self.repositories.git_options();
        Ok(Arc::new(Repository::open(config, options)?))
    }
}

/// The commit that a ref means: one of the package itself, or one of the whole repository; a tag, a branch or a commit.
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
