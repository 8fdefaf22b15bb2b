//! Packages that lost all their resources, or their Kptfile, to one function.
//!
//! A function may remove any resource, so this is not a failure. A broken function does so too, so the user is warned.
//! Resources that the function adds do not count. Kptfiles are counted separately: they describe the package, and a
//! directory without one is no longer a package.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use kiln_krm::Resource;
use kiln_krm::annotations::{PACKAGE_PATH, PATH};
use kiln_krm::kptfile::FILE_NAME;
use kiln_krm::paths;

use crate::error::paths_relative;

/// A function that removed all resources of a package, or its Kptfile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Emptied {
    /// The image or command line.
    pub function: String,
    /// The name of the root's directory, then the path of the package in it.
    pub package: String,
    /// What the function removed.
    pub lost: Lost,
}

/// What a function removed from a package.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lost {
    /// All resources, with their number.
    Resources(usize),
    Kptfile,
}

/// The resources of packages before a function runs, by the package's absolute path.
pub struct Inventory(BTreeMap<String, Held>);

/// The resources of one package.
#[derive(Default)]
struct Held {
    resources: usize,
    kptfiles: usize,
    /// Whether one of them comes from no file, so that it cannot be recognised in the output.
    has_new: bool,
    /// Hashes of some types and names, for functions that return resources without their ids.
    known: Vec<u64>,
}

/// How many resources of a package are recorded in `known`. A function that removes all removes these.
const MOST_KNOWN: usize = 64;

impl Inventory {
    /// Takes the inventory before a function runs.
    pub fn of(resources: &[Resource]) -> Inventory {
        let mut packages: BTreeMap<String, Held> = BTreeMap::new();
        for resource in resources {
            let package = resource.annotation(PACKAGE_PATH).unwrap_or_default();
            let held = match packages.get_mut(package) {
                Some(held) => held,
                None => packages.entry(package.to_owned()).or_default(),
            };
            if resource.kind() == FILE_NAME {
                held.kptfiles += 1;
                continue;
            }
            held.resources += 1;
            held.has_new |= resource.origin().is_none();
            if held.known.len() < MOST_KNOWN {
                held.known.push(identity(resource));
            }
        }
        Inventory(packages)
    }

    /// What a function removed from all packages taken as one.
    pub fn lost(self, after: &[Resource]) -> Vec<Lost> {
        let (mut resources, mut kptfiles) = (0, false);
        let held: usize = self.0.values().map(|held| held.resources).sum();
        for (_, lost) in self.gone(after) {
            match lost {
                Lost::Resources(count) => resources += count,
                Lost::Kptfile => kptfiles = true,
            }
        }
        let all = (held > 0 && resources == held).then_some(Lost::Resources(held));
        let kptfile = kptfiles.then_some(Lost::Kptfile);
        all.into_iter().chain(kptfile).collect()
    }

    /// What a function removed from each package.
    pub(crate) fn emptied(self, after: &[Resource], function: &str, root: &str) -> Vec<Emptied> {
        let gone = self.gone(after).into_iter();
        gone.map(|(package, lost)| Emptied {
            function: function.to_owned(),
            package: shown(root, &package),
            lost,
        })
        .collect()
    }

    fn gone(self, after: &[Resource]) -> Vec<(String, Lost)> {
        let Inventory(mut packages) = self;
        for resource in after {
            let package = resource.annotation(PACKAGE_PATH).unwrap_or_default();
            let Some(held) = packages.get_mut(package) else {
                continue;
            };
            if resource.kind() == FILE_NAME {
                // In another file it does not describe the package.
                let path = resource.annotation(PATH).unwrap_or(FILE_NAME);
                if paths::base(path) == FILE_NAME {
                    held.kptfiles = 0;
                }
            } else if held.resources > 0
                && (held.has_new
                    || resource.origin().is_some()
                    || held.known.contains(&identity(resource)))
            {
                held.resources = 0;
            }
        }
        let mut gone = Vec::new();
        for (package, held) in packages {
            if held.resources > 0 {
                gone.push((package.clone(), Lost::Resources(held.resources)));
            }
            if held.kptfiles > 0 {
                gone.push((package, Lost::Kptfile));
            }
        }
        gone
    }
}

fn identity(resource: &Resource) -> u64 {
    let meta = resource.meta();
    let mut hasher = DefaultHasher::new();
    (meta.api_version, meta.kind, meta.namespace, meta.name).hash(&mut hasher);
    hasher.finish()
}

fn shown(root: &str, package: &str) -> String {
    let relative = paths_relative(root, package).unwrap_or_default();
    paths::join(&[paths::base(root), &relative])
}
