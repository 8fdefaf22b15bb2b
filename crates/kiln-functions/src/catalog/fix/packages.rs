//! Assigns files to packages.

use std::collections::{BTreeSet, HashMap};

use kiln_krm::Resource;
use kiln_krm::kptfile::FILE_NAME;
use kiln_krm::paths::{base, directory, join};

use super::path;
use crate::budget::is_stopped;

/// The packages of all files except Kptfiles.
pub(super) struct Packages {
    by_file: HashMap<String, String>,
}

impl Packages {
    /// A file belongs to the nearest directory above it that contains a Kptfile.
    pub(super) fn of(items: &[Resource]) -> Packages {
        let (kptfiles, files): (BTreeSet<&str>, BTreeSet<&str>) = {
            let all = items.iter().map(path);
            all.partition(|path| base(path) == FILE_NAME)
        };
        let mut by_file = HashMap::new();
        for file in files {
            let mut dir = directory(file);
            let package = loop {
                if is_stopped() {
                    break None;
                }
                if kptfiles.contains(join(&[&dir, FILE_NAME]).as_str()) {
                    break Some(dir);
                }
                let above = directory(&dir);
                if dir == "." || above == dir {
                    break None;
                }
                dir = above;
            };
            if let Some(package) = package {
                by_file.insert(file.to_owned(), package);
            }
        }
        Packages { by_file }
    }

    pub(super) fn of_file(&self, file: &str) -> Option<&str> {
        self.by_file.get(file).map(String::as_str)
    }
}
