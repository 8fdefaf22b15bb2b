//! Which image a reference resolved to, for each platform.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use kiln_oci::{Digest, ImageReference, Platform};
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::store::Store;
use crate::work::WorkDirectory;

/// The image that a reference resolved to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResolvedReference {
    pub(crate) reference: String,
    pub(crate) platform: Platform,
    /// The digest that the registry returned: of an index or of the image itself.
    pub(crate) digest: Digest,
    pub(crate) manifest_digest: Digest,
    /// When the registry returned it, in seconds since 1970.
    pub(crate) time: u64,
}

impl ResolvedReference {
    pub(crate) fn new(
        reference: &ImageReference,
        platform: &Platform,
        digest: &Digest,
        manifest_digest: &Digest,
    ) -> ResolvedReference {
        let time = SystemTime::now().duration_since(UNIX_EPOCH);
        ResolvedReference {
            reference: reference.to_string(),
            platform: platform.clone(),
            digest: digest.clone(),
            manifest_digest: manifest_digest.clone(),
            time: time.map_or(0, |time| time.as_secs()),
        }
    }
}

impl Store {
    fn reference_path(&self, reference: &str, platform: &Platform) -> PathBuf {
        let key = Digest::of(format!("{reference}\n{platform}").as_bytes());
        self.refs_path().join(format!("{}.json", key.hex()))
    }

    /// What a reference resolved to. `None` if it was never pulled.
    pub(crate) fn resolved(
        &self,
        reference: &ImageReference,
        platform: &Platform,
    ) -> Result<Option<ResolvedReference>, StoreError> {
        self.read_resolved(&reference.to_string(), platform)
    }

    fn read_resolved(
        &self,
        reference: &str,
        platform: &Platform,
    ) -> Result<Option<ResolvedReference>, StoreError> {
        let path = self.reference_path(reference, platform);
        match std::fs::read(&path) {
            Ok(bytes) => {
                let parsed: Option<ResolvedReference> = serde_json::from_slice(&bytes).ok();
                Ok(parsed.filter(|resolved| resolved.reference == reference))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::io("read", &path)(error)),
        }
    }

    /// The other platforms for which the store has an image of a tag.
    pub(crate) fn other_platforms(
        &self,
        reference: &ImageReference,
        platform: &Platform,
    ) -> Result<Vec<Platform>, StoreError> {
        let reference = reference.to_string();
        let resolved = self.resolved_references()?.into_values();
        let others = resolved.filter(|resolved| {
            resolved.reference == reference
                && resolved.platform != *platform
                && self.image_directory(&resolved.manifest_digest).exists()
        });
        Ok(others.map(|resolved| resolved.platform).collect())
    }

    /// Whether a reference resolved to the same image before.
    pub(crate) fn has_resolved(&self, new: &ResolvedReference) -> Result<bool, StoreError> {
        let old = self.read_resolved(&new.reference, &new.platform)?;
        Ok(old.is_some_and(|old| {
            (&old.digest, &old.manifest_digest) == (&new.digest, &new.manifest_digest)
        }))
    }

    pub(crate) fn write_resolved(
        &self,
        work: &WorkDirectory,
        resolved: &ResolvedReference,
    ) -> Result<(), StoreError> {
        let path = self.reference_path(&resolved.reference, &resolved.platform);
        let bytes = serde_json::to_vec(resolved).map_err(|source| StoreError::Damaged {
            path: path.clone(),
            source,
        })?;
        let new = work.path().join("reference");
        std::fs::write(&new, bytes).map_err(StoreError::io("write", &new))?;
        std::fs::rename(&new, &path).map_err(StoreError::io("write", &path))
    }

    /// All resolved references, by path. Files with other content are left out.
    pub(crate) fn resolved_references(
        &self,
    ) -> Result<BTreeMap<PathBuf, ResolvedReference>, StoreError> {
        let mut found = BTreeMap::new();
        for path in entries(&self.refs_path())? {
            let Ok(bytes) = std::fs::read(&path) else {
                continue;
            };
            if let Ok(resolved) = serde_json::from_slice(&bytes) {
                found.insert(path, resolved);
            }
        }
        Ok(found)
    }
}

/// The paths in a directory, sorted; none if it does not exist.
pub(crate) fn entries(directory: &std::path::Path) -> Result<Vec<PathBuf>, StoreError> {
    let listed = match std::fs::read_dir(directory) {
        Ok(listed) => listed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::io("list", directory)(error)),
    };
    let mut paths = Vec::new();
    for entry in listed {
        let entry = entry.map_err(StoreError::io("list", directory))?;
        paths.push(entry.path());
    }
    paths.sort();
    Ok(paths)
}
