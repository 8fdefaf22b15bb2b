//! Verdicts in the store: which key is known to have signed a digest, so that the registry is not asked again.
//!
//! A verdict is for one repository, digest and key, and for one check of the repository in the signature; another key has no
//! verdict. Only this user can write to the store, which is
//! checked when it is opened.

use std::path::PathBuf;

use kiln_oci::Digest;
use kiln_signature::PublicKey;

use super::RepositoryCheck;
use crate::error::StoreError;
use crate::list::remove_file;
use crate::references::entries;
use crate::store::Store;

/// What a verdict is about.
#[derive(Clone)]
pub(super) struct SignatureVerdict {
    repository: String,
    digest: Digest,
    key: Digest,
    check: RepositoryCheck,
}

impl SignatureVerdict {
    pub(super) fn new(
        repository: &str,
        digest: &Digest,
        key: &PublicKey,
        check: RepositoryCheck,
    ) -> SignatureVerdict {
        SignatureVerdict {
            repository: repository.to_owned(),
            digest: digest.clone(),
            key: Digest::of(key.as_der()),
            check,
        }
    }

    fn text(&self) -> String {
        let SignatureVerdict {
            repository,
            digest,
            key,
            check,
        } = self;
        let check = match check {
            RepositoryCheck::Same => "",
            RepositoryCheck::Any => "any repository\n",
        };
        format!("{repository}\n{digest}\n{key}\n{check}")
    }
}

impl Store {
    fn verdict_path(&self, verdict: &SignatureVerdict) -> PathBuf {
        let name = Digest::of(verdict.text().as_bytes());
        self.verdicts_path().join(name.hex())
    }

    /// Whether the key is known to have signed the digest.
    pub(super) fn has_verdict(&self, verdict: &SignatureVerdict) -> bool {
        let kept = std::fs::read(self.verdict_path(verdict));
        kept.is_ok_and(|kept| kept == verdict.text().as_bytes())
    }

    pub(super) fn keep_verdict(&self, verdict: &SignatureVerdict) -> Result<(), StoreError> {
        let path = self.verdict_path(verdict);
        let work = self.work_directory()?;
        let new = work.path().join("verdict");
        std::fs::write(&new, verdict.text()).map_err(StoreError::io("write", &new))?;
        std::fs::rename(&new, &path).map_err(StoreError::io("write", &path))
    }

    /// Removes verdicts that are older than `age`.
    pub(crate) fn remove_verdicts(&self, age: std::time::Duration) -> Result<(), StoreError> {
        for path in entries(&self.verdicts_path())? {
            let written = std::fs::metadata(&path).and_then(|metadata| metadata.modified());
            let is_old = written.is_ok_and(|at| at.elapsed().unwrap_or_default() > age);
            if is_old {
                remove_file(&path)?;
            }
        }
        Ok(())
    }
}
