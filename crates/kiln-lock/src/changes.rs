//! What differs between two lock files.

use std::collections::BTreeSet;

use crate::{FunctionLock, LockKey, LockedFunction};

/// An entry that is in one of two files only, or has other content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockChange {
    pub key: LockKey,
    pub before: Option<LockedFunction>,
    pub after: Option<LockedFunction>,
}

impl FunctionLock {
    /// The entries that differ, sorted.
    pub fn changes_to(&self, new: &FunctionLock) -> Vec<LockChange> {
        let keys: BTreeSet<&LockKey> = self.functions.keys().chain(new.functions.keys()).collect();
        let changes = keys.into_iter().map(|key| LockChange {
            key: key.clone(),
            before: self.functions.get(key).cloned(),
            after: new.functions.get(key).cloned(),
        });
        changes
            .filter(|change| change.before != change.after)
            .collect()
    }
}

impl LockChange {
    /// The change in one line: what the entry meant and what it means.
    pub fn describe(&self) -> String {
        let key = &self.key;
        match (&self.before, &self.after) {
            (None, Some(after)) => format!("{key}: added {}", after.describe()),
            (Some(before), None) => format!("{key}: removed {}", before.describe()),
            (Some(before), Some(after)) => {
                format!("{key}: {} → {}", before.describe(), after.describe())
            }
            (None, None) => key.to_string(),
        }
    }
}

impl LockedFunction {
    /// Everything that the entry holds, in a few words.
    pub fn describe(&self) -> String {
        let mut text = self.resolved.clone();
        if let Some(digest) = self.short_digest() {
            text.push_str(&format!("@{digest}"));
        }
        if let Some(native) = &self.native {
            text.push_str(&format!(" (built in: {native})"));
        }
        text
    }

    /// The digest by its first 12 digits, unless the name has it already.
    fn short_digest(&self) -> Option<&str> {
        let digest = self.digest.as_deref()?;
        let is_named = self.resolved.ends_with(digest);
        let short = digest.get(.."sha256:".len() + 12).unwrap_or(digest);
        (!is_named).then_some(short)
    }
}
