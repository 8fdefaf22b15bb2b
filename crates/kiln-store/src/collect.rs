//! Garbage collection: by age, by size, least recently used first.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use kiln_oci::{Digest, Manifest};

use crate::error::StoreError;
use crate::image::{names, read_meta};
use crate::list::{last_used, remove_file};
use crate::lock::{FileLock, LockMode};
use crate::references::entries;
use crate::store::{Store, parse_image_directory_name};

/// What a store may keep.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CollectLimits {
    /// The size of all files of the store, in bytes.
    pub size: u64,
    /// How long images are kept without being used.
    pub age: Duration,
}

impl Default for CollectLimits {
    fn default() -> CollectLimits {
        CollectLimits {
            size: 10_000_000_000,
            age: Duration::from_secs(30 * 24 * 3600),
        }
    }
}

/// What a collection removed.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Collected {
    /// The manifest digests of removed images.
    pub images: Vec<Digest>,
    /// How many images stay because they are in use.
    pub in_use: usize,
    /// How many blobs were removed. `None` if another process was adding an image: then blobs stay.
    pub blobs: Option<usize>,
    /// In bytes.
    pub freed: u64,
}

/// How long incomplete downloads are kept.
const PARTIAL_AGE: Duration = Duration::from_secs(24 * 3600);

impl Store {
    /// Removes images that exceed the limits and are not in use, and blobs of no image.
    pub fn collect(&self, limits: &CollectLimits) -> Result<Collected, StoreError> {
        self.remove_abandoned_work()?;
        self.remove_free_locks()?;
        let mut collected = Collected::default();
        self.remove_old_rules(limits)?;
        self.remove_verdicts(limits.age)?;
        self.remove_images(limits, &mut collected)?;
        // Without this lock another process may be about to use a blob.
        let path = self.lock_path();
        let lock = FileLock::try_acquire(&path, LockMode::Exclusive);
        if let Some(_lock) = lock.map_err(StoreError::io("lock", &path))? {
            self.remove_blobs(&mut collected)?;
        }
        Ok(collected)
    }

    /// Removes images by age, then by size, least recently used first.
    fn remove_images(
        &self,
        limits: &CollectLimits,
        collected: &mut Collected,
    ) -> Result<(), StoreError> {
        let mut images = self.candidates()?;
        let blobs = self.blob_sizes()?;
        let mut size = SizeCount::new(&images, &blobs);
        images.sort_by_key(|image| image.last_used);
        let now = SystemTime::now();
        for image in images {
            let age = now.duration_since(image.last_used).unwrap_or_default();
            if !image.is_damaged && age <= limits.age && size.total <= limits.size {
                continue;
            }
            match self.remove(&image.digest) {
                Ok(()) => {
                    collected.freed += image.unpacked;
                    size.remove(&image, &blobs);
                    collected.images.push(image.digest);
                }
                Err(StoreError::InUse(_)) => collected.in_use += 1,
                // Another process removed it.
                Err(StoreError::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// All images, with the blobs that they need.
    fn candidates(&self) -> Result<Vec<Candidate>, StoreError> {
        let mut candidates = Vec::new();
        for (digest, directory) in self.image_directories()? {
            let meta = read_meta(&directory);
            candidates.push(Candidate {
                blobs: self.blobs_of(&digest)?,
                digest,
                last_used: last_used(&directory),
                is_damaged: meta.is_err() || !directory.join(names::USE).exists(),
                unpacked: meta.map_or(0, |meta| meta.sizes.unpacked),
            });
        }
        Ok(candidates)
    }

    /// The blobs of an image: manifest, config and layers.
    pub(crate) fn blobs_of(
        &self,
        manifest_digest: &Digest,
    ) -> Result<BTreeSet<Digest>, StoreError> {
        let mut blobs = BTreeSet::from([manifest_digest.clone()]);
        if let Some(stored) = self.manifest(manifest_digest)?
            && let Manifest::Image(image) = stored.manifest
        {
            blobs.insert(image.config.digest);
            blobs.extend(image.layers.into_iter().map(|layer| layer.digest));
        }
        Ok(blobs)
    }

    /// The sizes of all blobs.
    pub(crate) fn blob_sizes(&self) -> Result<BTreeMap<Digest, u64>, StoreError> {
        let mut sizes = BTreeMap::new();
        for directory in entries(&self.blobs_path())? {
            let algorithm = directory.file_name().and_then(|name| name.to_str());
            let algorithm = algorithm.unwrap_or_default().to_owned();
            for path in entries(&directory)? {
                let hex = path.file_name().and_then(|name| name.to_str());
                let digest = format!("{algorithm}:{}", hex.unwrap_or_default()).parse();
                if let (Ok(digest), Ok(metadata)) = (digest, path.metadata()) {
                    sizes.insert(digest, metadata.len());
                }
            }
        }
        Ok(sizes)
    }

    /// Removes the blobs and references of images that are not in the store. No other process adds an image meanwhile.
    fn remove_blobs(&self, collected: &mut Collected) -> Result<(), StoreError> {
        let mut needed = BTreeSet::new();
        for (digest, _) in self.image_directories()? {
            needed.extend(self.blobs_of(&digest)?);
        }
        for (path, resolved) in self.resolved_references()? {
            if !self.image_directory(&resolved.manifest_digest).exists() {
                remove_file(&path)?;
                continue;
            }
            self.add_indexes(&resolved.digest, &mut needed)?;
        }
        self.add_signatures(&mut needed)?;
        let mut removed = 0;
        for (digest, size) in self.blob_sizes()? {
            if !needed.contains(&digest) {
                remove_file(&self.blob_path(&digest))?;
                removed += 1;
                collected.freed += size;
            }
        }
        collected.blobs = Some(removed);
        for path in entries(&self.partial_path())? {
            let metadata = path.metadata();
            let modified = metadata.and_then(|metadata| metadata.modified());
            let age = modified.map(|modified| modified.elapsed().unwrap_or_default());
            if age.is_ok_and(|age| age > PARTIAL_AGE) {
                remove_file(&path)?;
            }
        }
        Ok(())
    }

    /// Adds an index and the indexes in it, which lead from a reference to an image.
    fn add_indexes(
        &self,
        digest: &Digest,
        needed: &mut BTreeSet<Digest>,
    ) -> Result<(), StoreError> {
        let mut pending = vec![digest.clone()];
        while let Some(digest) = pending.pop() {
            if let Some(stored) = self.manifest(&digest)?
                && let Manifest::Index(index) = stored.manifest
                && needed.insert(digest)
            {
                pending.extend(index.manifests.into_iter().map(|entry| entry.digest));
            }
        }
        Ok(())
    }

    /// Removes images that were unpacked by the rules of other versions, if they were not used for as long as images are kept.
    fn remove_old_rules(&self, limits: &CollectLimits) -> Result<(), StoreError> {
        for path in entries(&self.roots_path())? {
            let name = path.file_name().and_then(|name| name.to_str());
            let is_current = name.and_then(parse_image_directory_name).is_some();
            let age = last_used(&path).elapsed().unwrap_or_default();
            if is_current || age <= limits.age {
                continue;
            }
            let lock = FileLock::try_acquire_existing(&path.join(names::USE));
            if let Ok(Some(_lock)) = lock {
                let work = self.work_directory()?;
                std::fs::rename(&path, work.path().join(names::ROOT))
                    .map_err(StoreError::io("remove", &path))?;
            }
        }
        Ok(())
    }

    /// Removes lock files that no process holds.
    fn remove_free_locks(&self) -> Result<(), StoreError> {
        for path in entries(&self.locks_path())? {
            if let Ok(Some(_lock)) = FileLock::try_acquire_existing(&path) {
                remove_file(&path)?;
            }
        }
        Ok(())
    }
}

/// An image that may be removed.
struct Candidate {
    digest: Digest,
    last_used: SystemTime,
    /// An image cannot be used without its lock and `meta.json`, which exist before it is visible.
    is_damaged: bool,
    unpacked: u64,
    blobs: BTreeSet<Digest>,
}

/// The size of a store while images are removed. A blob counts as long as an image needs it.
struct SizeCount {
    total: u64,
    users: BTreeMap<Digest, usize>,
}

impl SizeCount {
    fn new(images: &[Candidate], blobs: &BTreeMap<Digest, u64>) -> SizeCount {
        let mut users: BTreeMap<Digest, usize> = BTreeMap::new();
        let mut total = 0;
        for image in images {
            total += image.unpacked;
            for blob in &image.blobs {
                *users.entry(blob.clone()).or_default() += 1;
            }
        }
        let used = users.keys().filter_map(|digest| blobs.get(digest));
        total += used.sum::<u64>();
        SizeCount { total, users }
    }

    fn remove(&mut self, image: &Candidate, blobs: &BTreeMap<Digest, u64>) {
        self.total = self.total.saturating_sub(image.unpacked);
        for blob in &image.blobs {
            let Some(users) = self.users.get_mut(blob) else {
                continue;
            };
            *users -= 1;
            if *users == 0 {
                let size = blobs.get(blob).copied().unwrap_or(0);
                self.total = self.total.saturating_sub(size);
            }
        }
    }
}
