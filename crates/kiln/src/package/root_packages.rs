//! The packages below a directory.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use kiln_krm::kptfile::FILE_NAME;

/// The directories with a Kptfile that are in no other package, sorted.
pub(crate) fn root_packages(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        if directory.join(FILE_NAME).is_file() {
            found.push(directory);
            continue;
        }
        let failed = || format!("cannot read {}", directory.display());
        for entry in fs::read_dir(&directory).with_context(failed)? {
            let entry = entry.with_context(failed)?;
            let is_directory = entry.file_type().with_context(failed)?.is_dir();
            if is_directory && entry.file_name() != ".git" {
                pending.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}
