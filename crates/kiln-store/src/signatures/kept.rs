//! Signatures in the store.
//!
//! Signatures are blobs like all others. A file lists those of one digest in one repository. The list needs no protection: a
//! signature is verified again each time it is used.

use std::collections::BTreeSet;
use std::path::PathBuf;

use kiln_oci::{Descriptor, Digest, SignatureBlob};
use serde::{Deserialize, Serialize};

use crate::cancel::CancelFlag;
use crate::error::StoreError;
use crate::list::remove_file;
use crate::references::entries;
use crate::store::Store;

/// The signatures of a digest in a repository.
#[derive(Serialize, Deserialize)]
struct KeptSignatures {
    repository: String,
    digest: Digest,
    signatures: Vec<Descriptor>,
}

impl Store {
    fn kept_path(&self, repository: &str, digest: &Digest) -> PathBuf {
        let key = Digest::of(format!("{repository}\n{digest}").as_bytes());
        self.signatures_path().join(format!("{}.json", key.hex()))
    }

    /// The signatures of a digest that the store has. Those that are damaged are left out.
    pub(super) fn kept_signatures(
        &self,
        repository: &str,
        digest: &Digest,
    ) -> Result<Vec<SignatureBlob>, StoreError> {
        let path = self.kept_path(repository, digest);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(StoreError::io("read", &path)(error)),
        };
        let kept: Option<KeptSignatures> = serde_json::from_slice(&bytes).ok();
        let kept =
            kept.filter(|kept| (kept.repository.as_str(), &kept.digest) == (repository, digest));
        let mut blobs = Vec::new();
        for descriptor in kept.map(|kept| kept.signatures).unwrap_or_default() {
            if let Some(bytes) = self.read_blob(&descriptor.digest)? {
                let bytes = bytes.into();
                blobs.push(SignatureBlob { descriptor, bytes });
            }
        }
        Ok(blobs)
    }

    /// Keeps the signatures of an image or index that the store has.
    pub(super) fn keep_signatures(
        &self,
        repository: &str,
        digest: &Digest,
        blobs: &[SignatureBlob],
    ) -> Result<(), StoreError> {
        if blobs.is_empty() || !self.blob_path(digest).exists() {
            return Ok(());
        }
        let _blob_lock = self.lock_blobs(&CancelFlag::default())?;
        let work = self.work_directory()?;
        for blob in blobs {
            self.write_blob(&work, &blob.descriptor.digest, &blob.bytes)?;
        }
        let path = self.kept_path(repository, digest);
        let kept = KeptSignatures {
            repository: repository.to_owned(),
            digest: digest.clone(),
            signatures: blobs.iter().map(|blob| blob.descriptor.clone()).collect(),
        };
        let bytes = serde_json::to_vec(&kept).map_err(|source| StoreError::Damaged {
            path: path.clone(),
            source,
        })?;
        let new = work.path().join("signatures");
        std::fs::write(&new, bytes).map_err(StoreError::io("write", &new))?;
        std::fs::rename(&new, &path).map_err(StoreError::io("write", &path))
    }

    /// Adds the signatures of needed digests to what is needed, and removes the lists of other digests.
    pub(crate) fn add_signatures(&self, needed: &mut BTreeSet<Digest>) -> Result<(), StoreError> {
        let mut signatures = Vec::new();
        for path in entries(&self.signatures_path())? {
            let bytes = std::fs::read(&path).unwrap_or_default();
            match serde_json::from_slice::<KeptSignatures>(&bytes) {
                Ok(kept) if needed.contains(&kept.digest) => signatures.extend(kept.signatures),
                _ => remove_file(&path)?,
            }
        }
        needed.extend(signatures.into_iter().map(|signature| signature.digest));
        Ok(())
    }
}
