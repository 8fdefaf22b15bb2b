//! Lists and removes images.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use kiln_oci::{Digest, ImageReference};

use crate::error::StoreError;
use crate::image::{names, read_meta};
use crate::lock::{FileLock, LockMode};
use crate::meta::ImageMeta;
use crate::references::{ResolvedReference, entries};
use crate::store::{Store, parse_image_directory_name};

/// An image in the store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredImageInfo {
    pub meta: ImageMeta,
    /// The references that resolve to the image, sorted.
    pub references: Vec<String>,
    /// The digests of indexes that contain the image, as far as references resolved to them.
    pub index_digests: Vec<Digest>,
    /// To the hour.
    pub last_used: SystemTime,
}

/// What was removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Removed {
    /// A reference to an image that has others.
    Reference(String),
    /// An image, by the digest of its manifest.
    Image(Digest),
}

impl Store {
    /// All images, sorted by the digests of their manifests.
    pub fn list(&self) -> Result<Vec<StoredImageInfo>, StoreError> {
        let resolved = self.resolved_references()?;
        let mut images = Vec::new();
        for (digest, directory) in self.image_directories()? {
            // Another process may have removed it since.
            let Ok(meta) = read_meta(&directory) else {
                continue;
            };
            let of_image = |resolved: &&ResolvedReference| resolved.manifest_digest == digest;
            let resolved: Vec<_> = resolved.values().filter(of_image).collect();
            let mut references: Vec<String> = resolved
                .iter()
                .map(|resolved| resolved.reference.clone())
                .collect();
            references.sort();
            references.dedup();
            let indexes = resolved.iter().map(|resolved| resolved.digest.clone());
            let mut index_digests: Vec<Digest> = indexes.filter(|index| *index != digest).collect();
            index_digests.sort();
            index_digests.dedup();
            images.push(StoredImageInfo {
                meta,
                references,
                index_digests,
                last_used: last_used(&directory),
            });
        }
        Ok(images)
    }

    /// Removes an image and the references that resolve to it. Its blobs remain until the next collection.
    pub fn remove(&self, manifest_digest: &Digest) -> Result<(), StoreError> {
        let directory = self.image_directory(manifest_digest);
        let use_path = directory.join(names::USE);
        // An incomplete image may lack the file. The lock excludes other processes that remove it too.
        let lock = match FileLock::try_acquire(&use_path, LockMode::Exclusive) {
            Ok(Some(lock)) => lock,
            Ok(None) => return Err(StoreError::InUse(manifest_digest.clone())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(StoreError::NotFound(manifest_digest.to_string()));
            }
            Err(error) => return Err(StoreError::io("lock", &use_path)(error)),
        };
        let work = self.work_directory()?;
        let moved = work.path().join(names::ROOT);
        std::fs::rename(&directory, &moved).map_err(StoreError::io("remove", &directory))?;
        drop(lock);
        for (path, resolved) in self.resolved_references()? {
            // Another process may have pulled the image again since.
            if resolved.manifest_digest == *manifest_digest && !directory.exists() {
                remove_file(&path)?;
            }
        }
        Ok(())
    }

    /// Removes a reference on all platforms, and the images that no other reference resolves to.
    pub fn remove_reference(&self, reference: &ImageReference) -> Result<Vec<Removed>, StoreError> {
        let name = reference.to_string();
        let mut removed = Vec::new();
        let resolved = self.resolved_references()?;
        for (path, own) in resolved.iter().filter(|(_, own)| own.reference == name) {
            let is_other = |other: &&ResolvedReference| {
                other.manifest_digest == own.manifest_digest && other.reference != name
            };
            if resolved.values().find(is_other).is_some() {
                remove_file(path)?;
                removed.push(Removed::Reference(name.clone()));
            } else if !removed.contains(&Removed::Image(own.manifest_digest.clone())) {
                self.remove(&own.manifest_digest)?;
                removed.push(Removed::Image(own.manifest_digest.clone()));
            }
        }
        if removed.is_empty() {
            // A digest may name an image that was pulled by a tag.
            let digest = reference.digest().cloned();
            let digest = digest.ok_or(StoreError::NotFound(name))?;
            self.remove(&digest)?;
            removed.push(Removed::Image(digest));
        }
        Ok(removed)
    }

    /// The directories of images that were unpacked by the present rules.
    pub(crate) fn image_directories(&self) -> Result<Vec<(Digest, PathBuf)>, StoreError> {
        let mut found = Vec::new();
        for path in entries(&self.roots_path())? {
            let name = path.file_name().and_then(|name| name.to_str());
            if let Some(digest) = name.and_then(parse_image_directory_name) {
                found.push((digest, path));
            }
        }
        Ok(found)
    }
}

/// When an image was last used.
pub(crate) fn last_used(directory: &Path) -> SystemTime {
    let metadata = std::fs::metadata(directory.join(names::USE));
    let modified = metadata.and_then(|metadata| metadata.modified());
    modified.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Removes a file that may have been removed already.
pub(crate) fn remove_file(path: &Path) -> Result<(), StoreError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(StoreError::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}
