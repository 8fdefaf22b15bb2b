//! Whether the upstream of a package has something newer than its lock.
//!
//! Two things count: the version of the Kptfile is another commit or digest than the locked one, and, if that version is a tag
//! such as `v1.2`, there is a tag with a higher version. A version that the caller names is only compared with the lock.

use kiln_krm::kptfile::{Git, Kptfile};

use super::super::sources::{FetchError, PkgSources};
use super::UpdateError;
use crate::image::ImageLock;

/// What an update would bring.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewerVersion {
    /// The locked commit or digest.
    pub locked: String,
    /// The version that was looked up.
    pub version: String,
    /// The commit or digest of that version.
    pub found: String,
    /// Tags with higher versions, the lowest first.
    pub higher: Vec<String>,
}

/// Looks up the upstream of a package, at a version or at the one in its Kptfile; `None` if the package is up to date.
pub fn newer_version(
    sources: &mut PkgSources<'_>,
    kptfile: &Kptfile,
    version: Option<&str>,
) -> Result<Option<NewerVersion>, UpdateError> {
    let git = kptfile
        .upstream
        .as_ref()
        .and_then(|upstream| upstream.git.clone());
    let lock = kptfile.upstream_lock.as_ref();
    let newer = match (git, lock.and_then(ImageLock::of)) {
        (Some(git), _) => {
            let locked = lock.and_then(|lock| lock.git.as_ref());
            let locked = locked.map(|lock| lock.commit.clone()).unwrap_or_default();
            in_git(sources, git, locked, version)?
        }
        (None, Some(lock)) => in_registry(sources, lock, version)?,
        (None, None) => return Err(UpdateError::NoUpstream),
    };
    let is_newer = newer.locked != newer.found || !newer.higher.is_empty();
    Ok(is_newer.then_some(newer))
}

fn in_git(
    sources: &mut PkgSources<'_>,
    git: Git,
    locked: String,
    version: Option<&str>,
) -> Result<NewerVersion, FetchError> {
    let git = Git {
        git_ref: version.map_or(git.git_ref, str::to_owned),
        ..git
    };
    let found = sources.fetch_git(&git)?.lock.git.unwrap_or_default();
    let higher = match version {
        Some(_) => Vec::new(),
        None => sources.newer_tags(&git, &found.git_ref)?,
    };
    Ok(NewerVersion {
        locked,
        version: git.git_ref,
        found: found.commit,
        higher,
    })
}

fn in_registry(
    sources: &mut PkgSources<'_>,
    lock: ImageLock,
    version: Option<&str>,
) -> Result<NewerVersion, FetchError> {
    let image = lock.image.clone();
    let image_error = |error| FetchError::Image {
        image: image.clone(),
        error,
    };
    let images = (sources.images)().map_err(image_error)?;
    let (target, higher) = match version {
        Some(version) => (lock.other(version).map_err(image_error)?, Vec::new()),
        None => {
            let updates = lock.updates(&*images).map_err(image_error)?;
            (lock.image.clone(), updates.newer)
        }
    };
    Ok(NewerVersion {
        found: images.digest(&target).map_err(image_error)?,
        version: target,
        higher,
        locked: lock.digest,
    })
}
