//! Upgrades a package to another revision of its upstream.

use kiln_go::quote;
use kiln_krm::kptfile::{FILE_NAME, Locator, Upstream};

use super::Engine;
use super::source::{OpenUpstreamError, TaskError, TaskOutcome};
use crate::contents::Contents;
use crate::git::{ObjectId, Revision, read_kptfile};
use crate::image::{ImageLock, SCHEME, image_locks};
use crate::merge::{MergeError, Versions, merge};
use crate::metadata::{KptfileChangeError, set_origin};
use crate::names::PackageName;
use crate::task::UpgradeTask;

#[derive(Debug, thiserror::Error)]
pub enum UpgradeError {
    /// The old upstream revision cannot be read.
    #[error(
        "error fetching the resources for package {} with ref {{Name:{name}}}",
        quote(package)
    )]
    Old {
        package: String,
        name: String,
        #[source]
        error: Box<TaskError>,
    },
    #[error("upstream source not found for package revision {}: it has no upstreamLock", quote(.0))]
    NoLock(String),
    /// The upstream that the Kptfile names cannot be read.
    #[error(
        "error fetching the resources for package {} from its upstreamLock",
        quote(package)
    )]
    Lock {
        package: String,
        #[source]
        error: OpenUpstreamError,
    },
    /// The new upstream revision cannot be read.
    #[error("error fetching revision for target upstream {}", quote(name))]
    New {
        name: String,
        #[source]
        error: Box<TaskError>,
    },
    /// The package itself cannot be read.
    #[error("error fetching revision {} to be upgraded", quote(name))]
    Local {
        name: String,
        #[source]
        error: Box<TaskError>,
    },
    #[error("all source PackageRevisions of upgrade task must be published, {} is not", quote(.0))]
    NotPublished(String),
    #[error(
        "error updating the package {} to revision {}",
        quote(package),
        quote(name)
    )]
    Merge {
        package: String,
        name: String,
        #[source]
        error: MergeError,
    },
    /// The upstream cannot be set in the Kptfile.
    #[error("failed to apply upstream lock to package {}", quote(package))]
    Kptfile {
        package: String,
        #[source]
        error: KptfileChangeError,
    },
}

/// The new upstream of a package.
struct NewUpstream {
    contents: Contents,
    locks: (Upstream, Locator),
}

impl Engine<'_> {
    pub(super) fn upgraded(
        &self,
        package: &PackageName,
        task: &UpgradeTask,
    ) -> Result<TaskOutcome, TaskError> {
        let (new_name, local_name) = (&task.new_upstream.name, &task.local.name);
        let new = self.target(new_name)?;
        let (own, local) =
            self.fetch(local_name, "source")
                .map_err(|error| UpgradeError::Local {
                    name: local_name.clone(),
                    error: Box::new(error),
                })?;
        if own.revision.name.package != *package {
            return Err(TaskError::other_package(package));
        }
        check_published(&own.revision)?;
        let origin = self.origin(package, task, &local)?;
        let versions = Versions {
            origin: &origin,
            updated: &new.contents,
            local: &local,
        };
        let merged = merge(versions, task.strategy.unwrap_or_default());
        let mut merged = merged.map_err(|error| UpgradeError::Merge {
            package: package.path.clone(),
            name: new_name.clone(),
            error,
        })?;
        let (upstream, lock) = &new.locks;
        let set = set_origin(&mut merged.contents, None, upstream, lock);
        set.map_err(|error| UpgradeError::Kptfile {
            package: package.path.clone(),
            error,
        })?;
        Ok(TaskOutcome {
            contents: merged.contents,
            conflicts: merged.conflicts,
        })
    }

    /// Reads the new upstream: a published revision or an image.
    fn target(&self, name: &str) -> Result<NewUpstream, UpgradeError> {
        let new_error = |error| UpgradeError::New {
            name: name.to_owned(),
            error: Box::new(error),
        };
        if name.starts_with(SCHEME) {
            let read = self.read_image(name).map_err(new_error)?;
            return Ok(NewUpstream {
                contents: read.contents,
                locks: image_locks(name, &read.digest),
            });
        }
        let (new, contents) = self.fetch(name, "target upstream").map_err(new_error)?;
        check_published(&new.revision)?;
        Ok(NewUpstream {
            contents,
            locks: new.repository.locks(&new.revision),
        })
    }

    /// Reads the old upstream: the revision or image that the task names, else the one that the Kptfile names.
    fn origin(
        &self,
        package: &PackageName,
        task: &UpgradeTask,
        local: &Contents,
    ) -> Result<Contents, UpgradeError> {
        let old_error = |name: &str, error| UpgradeError::Old {
            package: package.path.clone(),
            name: name.to_owned(),
            error: Box::new(error),
        };
        let image = |name: &str| match self.read_image(name) {
            Ok(read) => Ok(read.contents),
            Err(error) => Err(old_error(name, error)),
        };
        let name = &task.old_upstream.name;
        if name.starts_with(SCHEME) {
            return image(name);
        }
        if !name.is_empty() {
            let fetched = self.fetch(name, "old upstream");
            let (old, contents) = fetched.map_err(|error| old_error(name, error))?;
            check_published(&old.revision)?;
            return Ok(contents);
        }
        let kptfile = read_kptfile(local.bytes(FILE_NAME).unwrap_or_default());
        if let Some(lock) = kptfile.upstream_lock.as_ref().and_then(ImageLock::of) {
            let exact = lock.exact().map_err(|error| TaskError::Image {
                image: lock.image.clone(),
                error,
            });
            return image(&exact.map_err(|error| old_error(&lock.image, error))?);
        }
        let lock = kptfile.upstream_lock.and_then(|lock| lock.git);
        let commit = lock.as_ref().and_then(|lock| ObjectId::new(&lock.commit));
        let (Some(lock), Some(commit)) = (lock, commit) else {
            return Err(UpgradeError::NoLock(task.local.name.clone()));
        };
        let read = self.read_locked(&lock.repo, lock.directory.trim_matches('/'), &commit);
        read.map_err(|error| UpgradeError::Lock {
            package: package.path.clone(),
            error,
        })
    }
}

fn check_published(revision: &Revision) -> Result<(), UpgradeError> {
    match revision.lifecycle.is_published() {
        true => Ok(()),
        false => Err(UpgradeError::NotPublished(revision.name.to_string())),
    }
}
