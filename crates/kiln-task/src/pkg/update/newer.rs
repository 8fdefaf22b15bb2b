//! Whether the upstream of a package has something newer than its lock.

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
            let git_ref = version.map_or(git.git_ref.clone(), str::to_owned);
            let lock = lock.and_then(|lock| lock.git.as_ref());
            let found = sources.fetch_git(&Git {
                git_ref: git_ref.clone(),
                ..git
            })?;
            let found = found.lock.git.map(|lock| lock.commit).unwrap_or_default();
            NewerVersion {
                locked: lock.map(|lock| lock.commit.clone()).unwrap_or_default(),
                version: git_ref,
                found,
            }
        }
        (None, Some(lock)) => {
            let image_error = |error| FetchError::Image {
                image: lock.image.clone(),
                error,
            };
            let target = match version {
                Some(version) => lock.other(version).map_err(image_error)?,
                None => lock.image.clone(),
            };
            let images = (sources.images)().map_err(image_error)?;
            NewerVersion {
                locked: lock.digest.clone(),
                found: images.digest(&target).map_err(image_error)?,
                version: target,
            }
        }
        (None, None) => return Err(UpdateError::NoUpstream),
    };
    Ok((newer.locked != newer.found).then_some(newer))
}
