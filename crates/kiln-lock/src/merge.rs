//! Lock files when a package is updated from its upstream.

use std::collections::BTreeSet;

use crate::{FunctionLock, LockKey};

impl FunctionLock {
    /// The local file after the upstream changed its own from `origin` to `updated`.
    ///
    /// Entries are not merged: one that the upstream changed is left out, so that it is resolved again. Entries that the
    /// upstream did not touch stay.
    #[must_use]
    pub fn merge_upstream(&self, origin: &FunctionLock, updated: &FunctionLock) -> FunctionLock {
        let changed = origin.changes_to(updated).into_iter();
        let changed: BTreeSet<LockKey> = changed.map(|change| change.key).collect();
        let mut merged = self.clone();
        merged.functions.retain(|key, locked| {
            // Both sides may have made the same change.
            !changed.contains(key) || updated.functions.get(key) == Some(locked)
        });
        merged
    }
}
