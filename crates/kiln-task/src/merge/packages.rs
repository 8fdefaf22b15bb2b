//! The packages on three sides, and their files.

use std::collections::{BTreeMap, BTreeSet};

use kiln_krm::kptfile::FILE_NAME;

use super::Versions;
use crate::contents::{Contents, FileMode, PackageFile, PackagePath};

/// The packages by directory, parents first, each with its files on any side.
pub(super) fn packages(sides: Versions<'_>) -> BTreeMap<String, Vec<PackagePath>> {
    let paths: BTreeSet<&PackagePath> = [sides.origin, sides.updated, sides.local]
        .into_iter()
        .flat_map(Contents::paths)
        .collect();
    let mut packages: BTreeMap<String, Vec<PackagePath>> = BTreeMap::new();
    packages.insert(String::new(), Vec::new());
    for path in &paths {
        if path.name() == FILE_NAME {
            packages.insert(path.directory().to_owned(), Vec::new());
        }
    }
    for path in paths {
        let mut directory = path.directory();
        loop {
            if let Some(files) = packages.get_mut(directory) {
                files.push(path.clone());
                break;
            }
            directory = directory.rsplit_once('/').map_or("", |(parent, _)| parent);
        }
    }
    packages
}

pub(super) fn has_any(contents: &Contents, files: &[PackagePath]) -> bool {
    files
        .iter()
        .any(|path| contents.get(path.as_str()).is_some())
}

pub(super) fn kptfile_path(directory: &str) -> String {
    join_path(directory, FILE_NAME)
}

/// The path of a name in a directory, which may be empty.
pub(crate) fn join_path(directory: &str, name: &str) -> String {
    match (directory, name) {
        ("", name) => name.to_owned(),
        (directory, "") => directory.to_owned(),
        (directory, name) => format!("{directory}/{name}"),
    }
}

/// The bytes of a file, unless it is a symbolic link.
pub(super) fn bytes(file: Option<&PackageFile>) -> Option<&[u8]> {
    let file = file.filter(|file| file.mode != FileMode::Symlink)?;
    Some(&file.bytes)
}

/// Changes of files. They are applied together, so that a file can replace a directory.
#[derive(Default)]
pub(super) struct Changes(Vec<(PackagePath, Option<PackageFile>)>);

impl Changes {
    /// Sets a file; `None` removes it.
    pub(super) fn set(&mut self, path: &PackagePath, file: Option<PackageFile>) {
        self.0.push((path.clone(), file));
    }

    pub(super) fn apply(
        self,
        contents: &mut Contents,
    ) -> Result<(), crate::contents::ContentsError> {
        for (path, file) in &self.0 {
            if file.is_none() {
                contents.remove(path.as_str());
            }
        }
        for (path, file) in self.0 {
            if let Some(file) = file {
                contents.insert(path, file)?;
            }
        }
        Ok(())
    }
}
