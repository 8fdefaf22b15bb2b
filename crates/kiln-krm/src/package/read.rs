//! Reading a whole package in sequence.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::files::{FileError, FileSource};
use super::walk::{ListOptions, list_package_files};
use crate::origin::SourceFile;
use crate::read::{FileOptions, ReadError, read_file};
use crate::resource::Resource;
use crate::secrets::SecretValues;

/// Why a package cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PackageError {
    /// A directory or file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file does not contain resources.
    #[error("{path}: {error}")]
    Read { path: String, error: Box<ReadError> },
}

/// The resources of a package, in the order of its files.
pub fn read_package(
    source: &dyn FileSource,
    list: &ListOptions,
    options: &FileOptions<'_>,
) -> Result<Vec<Resource>, PackageError> {
    let mut resources = Vec::new();
    for file in list_package_files(source, list)? {
        let path = file.path;
        let bytes = source.read(&path)?;
        match read_file(&path, bytes, options) {
            Ok(found) => resources.extend(found),
            Err(error) => {
                let error = Box::new(error);
                return Err(PackageError::Read { path, error });
            }
        }
    }
    Ok(resources)
}

/// The files that a package's resources were read from. Files without resources were never part of it.
#[derive(Clone, Debug, Default)]
pub struct ReadSet {
    files: BTreeMap<String, Arc<SourceFile>>,
}

impl ReadSet {
    /// The files of resources as they were read, before any function changed them.
    pub fn of(resources: &[Resource]) -> ReadSet {
        let mut set = ReadSet::default();
        set.add(resources);
        set
    }

    /// Adds the files of further resources.
    pub fn add(&mut self, resources: &[Resource]) {
        for origin in resources.iter().filter_map(Resource::origin) {
            let file = origin.file();
            if !self.files.contains_key(file.path()) {
                self.files.insert(file.path().to_owned(), file.clone());
            }
        }
    }

    /// Adds the files of another set, unless they are known already.
    pub fn merge(&mut self, other: ReadSet) {
        for (path, file) in other.files {
            self.files.entry(path).or_insert(file);
        }
    }

    pub fn get(&self, path: &str) -> Option<&Arc<SourceFile>> {
        self.files.get(path)
    }

    /// The values of the Secrets in the files.
    pub fn secrets(&self) -> SecretValues {
        let mut secrets = SecretValues::default();
        for file in self.files.values() {
            secrets.add_file(file.bytes());
        }
        secrets
    }

    /// All paths in order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }
}
