//! Compares the store with its digests and records.

use std::collections::BTreeSet;
use std::path::Path;

use kiln_go::error_chain;
use kiln_oci::Digest;

use crate::error::StoreError;
use crate::image::{StoredImage, names};
use crate::list::remove_file;
use crate::record::{FileRecord, hash_all};
use crate::store::Store;

/// What [`Store::verify`] found.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct VerifyReport {
    pub images: usize,
    pub blobs: usize,
    /// How much was read, in bytes.
    pub bytes: u64,
    pub damages: Vec<Damage>,
}

/// A difference between the store and its digests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Damage {
    /// A file of an image differs from the record, or is missing, or should not be there.
    Image {
        manifest_digest: Digest,
        problem: String,
    },
    /// A blob has other content than its name.
    Blob { digest: Digest },
}

/// What [`Store::remove_damaged`] removed.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RemovedDamages {
    /// The manifest digests of removed images.
    pub images: Vec<Digest>,
    pub blobs: Vec<Digest>,
    /// Damaged images that stay because another process uses them.
    pub in_use: BTreeSet<Digest>,
}

/// How many differences of one image are reported.
const MAX_REPORTED: usize = 10;

impl Store {
    /// Hashes all files and blobs again. Images and blobs that other processes remove meanwhile are left out.
    pub fn verify(&self) -> Result<VerifyReport, StoreError> {
        let mut report = VerifyReport::default();
        for (digest, directory) in self.image_directories()? {
            let problems = match StoredImage::open(self, &digest) {
                Ok(Some(image)) => {
                    report.images += 1;
                    report.bytes += image.meta().sizes.unpacked;
                    check_image(&image, &directory)
                }
                // Another process removed it, at once.
                Ok(None) if !directory.exists() => continue,
                Ok(None) => {
                    report.images += 1;
                    vec!["it is incomplete".to_owned()]
                }
                Err(error) => {
                    report.images += 1;
                    vec![error_chain(&error)]
                }
            };
            let damages = problems.into_iter().map(|problem| Damage::Image {
                manifest_digest: digest.clone(),
                problem,
            });
            report.damages.extend(damages);
        }
        self.verify_blobs(&mut report)?;
        Ok(report)
    }

    fn verify_blobs(&self, report: &mut VerifyReport) -> Result<(), StoreError> {
        for (digest, size) in self.blob_sizes()? {
            let blob = match self.open_blob(&digest) {
                Ok(blob) => blob,
                Err(StoreError::NotFound(_)) => continue,
                Err(error) => return Err(error),
            };
            let path = self.blob_path(&digest);
            let hasher = hash_all(blob, digest.hasher()).map_err(StoreError::io("read", &path))?;
            report.blobs += 1;
            report.bytes += size;
            if hasher.finish() != digest {
                report.damages.push(Damage::Blob { digest });
            }
        }
        Ok(())
    }

    /// Removes what [`Store::verify`] found damaged, so that it is pulled again. Images in use stay.
    pub fn remove_damaged(&self, damages: &[Damage]) -> Result<RemovedDamages, StoreError> {
        let mut removed = RemovedDamages::default();
        for damage in damages {
            match damage {
                Damage::Image {
                    manifest_digest, ..
                } => match self.remove(manifest_digest) {
                    Ok(()) => removed.images.push(manifest_digest.clone()),
                    // For another of its damages, or by another process.
                    Err(StoreError::NotFound(_)) => {}
                    Err(StoreError::InUse(digest)) => {
                        removed.in_use.insert(digest);
                    }
                    Err(error) => return Err(error),
                },
                Damage::Blob { digest } => {
                    remove_file(&self.blob_path(digest))?;
                    removed.blobs.push(digest.clone());
                }
            }
        }
        Ok(removed)
    }
}

/// The differences between an image and its record.
fn check_image(image: &StoredImage, directory: &Path) -> Vec<String> {
    let path = directory.join(names::RECORD);
    let expected = match std::fs::read_to_string(&path) {
        Ok(text) if Digest::of(text.as_bytes()) == image.meta().record_digest => text,
        Ok(_) => return vec!["the record of its files is damaged".to_owned()],
        Err(error) => return vec![error_chain(&StoreError::io("read", &path)(error))],
    };
    match FileRecord::rehash(image.root()) {
        Ok(actual) => differences(&expected, &actual.text),
        Err(error) => vec![error_chain(&StoreError::io("read", image.root_path())(
            error,
        ))],
    }
}

/// The entries that two records differ in.
fn differences(expected: &str, actual: &str) -> Vec<String> {
    let expected: BTreeSet<&str> = expected.lines().collect();
    let actual: BTreeSet<&str> = actual.lines().collect();
    let path = |line: &&str| {
        let mut words = line.split(' ');
        let path = match words.next() {
            Some("l") => words.next(),
            _ => words.next_back(),
        };
        path.unwrap_or_default().to_owned()
    };
    let missing: BTreeSet<String> = expected.difference(&actual).map(path).collect();
    let unexpected: BTreeSet<String> = actual.difference(&expected).map(path).collect();
    let changed = missing.intersection(&unexpected);
    let lines = changed
        .map(|path| format!("{path} was changed"))
        .chain(
            missing
                .difference(&unexpected)
                .map(|path| format!("{path} is missing")),
        )
        .chain(
            unexpected
                .difference(&missing)
                .map(|path| format!("{path} does not belong to the image")),
        );
    lines.take(MAX_REPORTED).collect()
}
