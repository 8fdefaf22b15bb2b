//! Prints the resources, packages and other files of a directory as a tree.

use std::collections::{BTreeMap, BTreeSet};

use kiln_go::quote;
use kiln_krm::package::{
    EntryKind, FileError, FileSource, ListOptions, PACKAGE_FILE, PackageError, Subpackages,
    read_package,
};
use kiln_krm::read::FileOptions;
use kiln_krm::{Dialect, Resource};

use super::PkgRules;

/// The directory of the package itself in the index.
const TOP: &str = ".";

/// The tree of a directory. `name` is the name of the directory. Empty if there are no resources and the rules are kpt's.
pub fn package_tree(
    source: &dyn FileSource,
    name: &str,
    rules: PkgRules,
) -> Result<String, PackageError> {
    let mut list = ListOptions::new(Dialect::Current, Subpackages::Ordinary);
    if rules == PkgRules::Kpt {
        list.names.retain(|name| name != "*.json");
    }
    let resources = read_package(source, &list, &FileOptions::default())?;
    let mut shown: BTreeMap<String, Vec<ShownResource>> = BTreeMap::new();
    for resource in resources.iter().filter(|one| !one.kind().is_empty()) {
        let (directory, resource) = ShownResource::of(resource);
        shown.entry(directory).or_default().push(resource);
    }
    if rules == PkgRules::Kiln {
        shown.entry(TOP.to_owned()).or_default();
    }
    if shown.is_empty() || (shown.values().all(Vec::is_empty) && rules == PkgRules::Kpt) {
        return Ok(String::new());
    }
    for resources in shown.values_mut() {
        resources.sort();
    }
    let (others, packages) = other_files(source)?;
    let others = rolled_up(others, &shown);
    let mut tree = TextTree::default();
    let mut branches: BTreeMap<&str, usize> = BTreeMap::new();
    for (directory, resources) in &shown {
        let parent = parent_of(directory, &branches, rules);
        let branch = match directory.as_str() {
            TOP => TextTree::ROOT,
            directory => {
                let base = directory.rsplit('/').next().unwrap_or(directory);
                tree.add(parent, package_name(base, packages.contains(directory)))
            }
        };
        branches.insert(directory, branch);
        for resource in resources {
            tree.add(branch, resource.to_string());
        }
        let files: BTreeSet<&str> = resources.iter().map(|one| one.file.as_str()).collect();
        for other in others.get(directory.as_str()).into_iter().flatten() {
            if !files.contains(other.as_str()) {
                tree.add(branch, other.clone());
            }
        }
    }
    Ok(tree.text(&package_name(name, packages.contains(TOP))))
}

fn package_name(base: &str, is_package: bool) -> String {
    match is_package {
        true => format!("Package {}", quote(base)),
        false => base.to_owned(),
    }
}

/// A resource in the order of the tree.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct ShownResource {
    file: String,
    namespace: String,
    name: String,
    kind: String,
    api_version: String,
}

impl ShownResource {
    /// The directory of a resource, and its line.
    fn of(resource: &Resource) -> (String, ShownResource) {
        let path = resource.file_place().0;
        let (directory, file) = path.rsplit_once('/').unwrap_or((TOP, path));
        let meta = resource.meta();
        let shown = ShownResource {
            file: file.to_owned(),
            namespace: meta.namespace.to_owned(),
            name: meta.name.to_owned(),
            kind: meta.kind.to_owned(),
            api_version: meta.api_version.to_owned(),
        };
        (directory.to_owned(), shown)
    }
}

impl std::fmt::Display for ShownResource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ShownResource {
            file,
            namespace,
            name,
            kind,
            ..
        } = self;
        match namespace.as_str() {
            "" => write!(f, "[{file}]  {kind} {name}"),
            namespace => write!(f, "[{file}]  {kind} {namespace}/{name}"),
        }
    }
}

/// The names of files by directory.
type FilesByDirectory = BTreeMap<String, Vec<String>>;

/// All files except hidden ones, links and Kptfiles, and the directories with a Kptfile.
fn other_files(source: &dyn FileSource) -> Result<(FilesByDirectory, BTreeSet<String>), FileError> {
    let mut files = FilesByDirectory::new();
    let mut packages = BTreeSet::new();
    let mut pending = vec![String::new()];
    while let Some(directory) = pending.pop() {
        let shown = if directory.is_empty() {
            TOP
        } else {
            &directory
        };
        for entry in source.list(&directory)? {
            if entry.name == PACKAGE_FILE {
                packages.insert(shown.to_owned());
                continue;
            }
            if entry.name.starts_with('.') {
                continue;
            }
            match entry.kind {
                EntryKind::Directory => pending.push(match directory.as_str() {
                    "" => entry.name,
                    directory => format!("{directory}/{}", entry.name),
                }),
                EntryKind::File => files.entry(shown.to_owned()).or_default().push(entry.name),
                EntryKind::SymlinkToFile | EntryKind::SymlinkToDirectory | EntryKind::Other => {}
            }
        }
    }
    Ok((files, packages))
}

/// The files of directories without a branch, at the nearest directory with one.
fn rolled_up(
    files: FilesByDirectory,
    branches: &BTreeMap<String, Vec<ShownResource>>,
) -> FilesByDirectory {
    let mut rolled = FilesByDirectory::new();
    for (directory, names) in files {
        let mut above = directory.as_str();
        while above != TOP && !branches.contains_key(above) {
            above = above.rsplit_once('/').map_or(TOP, |(parent, _)| parent);
        }
        let prefix = match above {
            _ if above == directory => String::new(),
            TOP => format!("{directory}/"),
            above => {
                let rest = directory.strip_prefix(above).unwrap_or_default();
                format!("{}/", rest.trim_start_matches('/'))
            }
        };
        let names = names.into_iter().map(|name| format!("{prefix}{name}"));
        rolled.entry(above.to_owned()).or_default().extend(names);
    }
    for names in rolled.values_mut() {
        names.sort();
    }
    rolled
}

/// The branch that a directory's branch is added to: the one of the nearest directory around it. kpt compares paths as strings,
/// so that it adds `ab` to `a`.
fn parent_of(directory: &str, branches: &BTreeMap<&str, usize>, rules: PkgRules) -> usize {
    let is_around = |other: &&str| match (directory.strip_prefix(*other), rules) {
        (Some(rest), PkgRules::Kiln) => rest.starts_with('/'),
        (Some(_), PkgRules::Kpt) => true,
        (None, _) => false,
    };
    let around = branches.keys().copied().filter(is_around);
    let nearest = around.max_by_key(|other| other.len());
    nearest
        .and_then(|nearest| branches.get(nearest).copied())
        .unwrap_or(TextTree::ROOT)
}

/// Lines below each other.
struct TextTree {
    /// The text and the children of each node; the first is the root.
    nodes: Vec<(String, Vec<usize>)>,
}

impl Default for TextTree {
    fn default() -> TextTree {
        TextTree {
            nodes: vec![(String::new(), Vec::new())],
        }
    }
}

impl TextTree {
    const ROOT: usize = 0;

    fn add(&mut self, parent: usize, text: String) -> usize {
        let index = self.nodes.len();
        self.nodes.push((text, Vec::new()));
        if let Some((_, children)) = self.nodes.get_mut(parent) {
            children.push(index);
        }
        index
    }

    /// The tree below a first line.
    fn text(&self, first: &str) -> String {
        let mut out = format!("{first}\n");
        // What is left to print, the next one last, each with the prefix of its line.
        let mut pending = self.children(TextTree::ROOT, "");
        while let Some(TreeLine {
            node,
            prefix,
            is_last,
        }) = pending.pop()
        {
            let Some((text, _)) = self.nodes.get(node) else {
                continue;
            };
            let (edge, below) = if is_last {
                ("└── ", "    ")
            } else {
                ("├── ", "│   ")
            };
            out.push_str(&format!("{prefix}{edge}{text}\n"));
            pending.extend(self.children(node, &format!("{prefix}{below}")));
        }
        out
    }

    /// The children of a node in reverse order.
    fn children(&self, node: usize, prefix: &str) -> Vec<TreeLine> {
        let children = self
            .nodes
            .get(node)
            .map_or(&[][..], |(_, children)| children);
        let lines = children.iter().rev().enumerate();
        let lines = lines.map(|(from_last, node)| TreeLine {
            node: *node,
            prefix: prefix.to_owned(),
            is_last: from_last == 0,
        });
        lines.collect()
    }
}

struct TreeLine {
    node: usize,
    prefix: String,
    is_last: bool,
}

#[cfg(test)]
mod tests;
