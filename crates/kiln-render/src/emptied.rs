//! Packages that lost all their resources to one function.
//!
//! A function may remove whatever it gets, so this is not a failure. It is also what a function does that is broken, so
//! the user is to see it. Kptfiles do not count: they describe the package.

use std::collections::BTreeMap;

use kiln_krm::Resource;
use kiln_krm::annotations::PACKAGE_PATH;
use kiln_krm::kptfile::FILE_NAME;
use kiln_krm::paths;

use crate::error::paths_relative;

/// A function that removed all resources of a package.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Emptied {
    /// The image or command line.
    pub function: String,
    /// The package: the name of the root's directory, and the path from there.
    pub package: String,
    /// How many resources the package had.
    pub resources: usize,
}

/// How many resources each package has, by its absolute path.
pub(crate) struct Inventory(BTreeMap<String, usize>);

impl Inventory {
    pub(crate) fn of(resources: &[Resource]) -> Inventory {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let counted = resources
            .iter()
            .filter(|resource| resource.kind() != FILE_NAME);
        for resource in counted {
            let package = resource.annotation(PACKAGE_PATH).unwrap_or_default();
            match counts.get_mut(package) {
                Some(count) => *count += 1,
                None => {
                    counts.insert(package.to_owned(), 1);
                }
            }
        }
        Inventory(counts)
    }

    /// The packages of which nothing is left after a function.
    pub(crate) fn emptied(self, after: &[Resource], function: &str, root: &str) -> Vec<Emptied> {
        let Inventory(left) = Inventory::of(after);
        let gone = self.0.into_iter();
        let gone = gone.filter(|(package, _)| !left.contains_key(package));
        gone.map(|(package, resources)| Emptied {
            function: function.to_owned(),
            package: shown(root, &package),
            resources,
        })
        .collect()
    }
}

fn shown(root: &str, package: &str) -> String {
    let relative = paths_relative(root, package).unwrap_or_default();
    paths::join(&[paths::base(root), &relative])
}
