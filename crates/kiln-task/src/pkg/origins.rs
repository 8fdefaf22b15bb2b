//! Where the packages of one tree come from, to find one that includes itself.

use std::collections::BTreeMap;

use kiln_krm::kptfile::Locator;

use super::subpackages::outer_directories;

/// Repository, directory and commit of packages, by their directories.
#[derive(Default)]
pub(super) struct Origins {
    by_directory: BTreeMap<String, [String; 3]>,
}

impl Origins {
    /// Adds the package in a directory. Returns how many of the packages around it come from the same directory and commit.
    pub(super) fn add(&mut self, directory: &str, lock: &Locator) -> usize {
        let Some(git) = &lock.git else {
            return 0;
        };
        let inner = git.directory.trim_matches('/').to_owned();
        let origin = [git.repo.clone(), inner, git.commit.clone()];
        let outer = outer_directories(directory)
            .chain((!directory.is_empty()).then_some(""))
            .filter(|one| self.by_directory.get(*one) == Some(&origin))
            .count();
        self.by_directory.insert(directory.to_owned(), origin);
        outer
    }
}
