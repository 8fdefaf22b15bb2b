//! Whether the upstreams of a package and of its remote sub-packages have something newer than their locks.
//!
//! Two things count: the version of the Kptfile is another commit or digest than the locked one, and, if that version is a tag
//! such as `v1.2`, there is a tag with a higher version. A version that the caller names is only compared with the lock.

use kiln_krm::kptfile::{Git, Kptfile};

use super::super::kptfile::read;
use super::super::sources::{FetchError, PkgSources};
use super::super::subpackages::updated_subpackages;
use super::{UpdateError, UpdateRequest, follows, root_upstream};
use crate::contents::Contents;
use crate::image::ImageLock;
use crate::merge::join_path;

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

/// Looks up the upstreams of a package and of the remote sub-packages that an update would change too, each at the version that the
/// update would take. Returns those that are not up to date, by their directories in the package.
pub fn newer_versions(
    sources: &mut PkgSources<'_>,
    local: &Contents,
    request: &UpdateRequest,
) -> Result<Vec<(String, NewerVersion)>, UpdateError> {
    let shown = |directory: &str| join_path(&request.shown, directory);
    let root = read(local, "", &shown(""))?;
    let root_git = root_upstream(&root, sources.rules)?;
    let mut newer = Vec::new();
    // The directories of packages to look at, the next one last.
    let mut pending = vec![String::new()];
    while let Some(directory) = pending.pop() {
        let kptfile = read(local, &directory, &shown(&directory))?;
        let follows_root = match (&kptfile.upstream, &root_git) {
            (Some(upstream), Some(root)) => follows(upstream, root, sources.rules),
            _ => false,
        };
        let version = request.version.as_deref();
        let version = version.filter(|_| directory.is_empty() || follows_root);
        let mut found = newer_version(sources, &kptfile, version)?;
        if follows_root && !directory.is_empty() {
            // It is updated with the package, for which they are listed.
            found.higher.clear();
        }
        let inner = updated_subpackages(local, &directory, sources.rules);
        pending.extend(inner.iter().rev().map(|one| join_path(&directory, one)));
        if found.locked != found.found || !found.higher.is_empty() {
            newer.push((directory, found));
        }
    }
    Ok(newer)
}

/// Looks up the upstream of one package, at a version or at the one in its Kptfile.
fn newer_version(
    sources: &mut PkgSources<'_>,
    kptfile: &Kptfile,
    version: Option<&str>,
) -> Result<NewerVersion, UpdateError> {
    let git = kptfile
        .upstream
        .as_ref()
        .and_then(|upstream| upstream.git.clone());
    let lock = kptfile.upstream_lock.as_ref();
    match (git, lock.and_then(ImageLock::of)) {
        (Some(git), _) => {
            let locked = lock.and_then(|lock| lock.git.as_ref());
            let locked = locked.map(|lock| lock.commit.clone()).unwrap_or_default();
            Ok(in_git(sources, git, locked, version)?)
        }
        (None, Some(lock)) => Ok(in_registry(sources, lock, version)?),
        (None, None) => Err(UpdateError::NoUpstream),
    }
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
