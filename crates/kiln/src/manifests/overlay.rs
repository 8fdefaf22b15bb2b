//! A package with some of its files replaced in memory.

use std::collections::BTreeMap;

use kiln_krm::package::{Entry, FileError, FileSource};

/// Files that exist in `base`, some with another content.
pub(crate) struct OverlayFiles<'a> {
    pub(crate) base: &'a dyn FileSource,
    /// New contents by path.
    pub(crate) replaced: BTreeMap<String, Vec<u8>>,
}

impl FileSource for OverlayFiles<'_> {
    fn list(&self, dir: &str) -> Result<Vec<Entry>, FileError> {
        self.base.list(dir)
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, FileError> {
        match self.replaced.get(path) {
            Some(content) => Ok(content.clone()),
            None => self.base.read(path),
        }
    }
}
