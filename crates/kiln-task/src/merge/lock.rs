//! `kiln.lock` in merges: entries that the upstream changed are dropped, and resolved again by the next render.
//!
//! Texts are not merged, because half of one entry and half of another would name a function that neither side ran.

use kiln_lock::FunctionLock;
pub(super) use kiln_lock::LOCK_FILE;

use super::packages::bytes;
use crate::contents::PackageFile;

/// The lock file after a merge. A side that cannot be read is not merged: the new upstream's file is taken.
pub(super) fn merge_lock(
    local: Option<&PackageFile>,
    origin: Option<&PackageFile>,
    updated: Option<&PackageFile>,
) -> Option<PackageFile> {
    if origin == updated {
        return local.cloned();
    }
    let Some(own) = local.filter(|_| local != origin) else {
        return updated.cloned();
    };
    let read = |file: Option<&PackageFile>| match file {
        None => Some(FunctionLock::default()),
        Some(file) => FunctionLock::parse(LOCK_FILE, bytes(Some(file))?).ok(),
    };
    let (Some(lock), Some(origin), Some(new)) = (read(local), read(origin), read(updated)) else {
        return updated.cloned();
    };
    let merged = lock.merge_upstream(&origin, &new);
    Some(match merged == lock {
        true => own.clone(),
        false => PackageFile {
            bytes: merged.to_text().into_bytes().into(),
            mode: own.mode,
        },
    })
}
