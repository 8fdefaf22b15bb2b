//! Which files a package's resources are read from, in which order.

use std::borrow::Cow;

use super::files::{Entry, EntryKind, FileError, FileSource};
use super::glob;
use super::ignore::{self, Ignore};
use crate::dialect::Dialect;

/// The file that makes a directory a package.
pub const PACKAGE_FILE: &str = "Kptfile";

/// Which files to list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListOptions {
    /// Patterns for file names; a file counts if one matches.
    pub names: Vec<String>,
    /// How sub-packages are treated.
    pub subpackages: Subpackages,
}

/// How directories are treated that are packages themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Subpackages {
    /// Their files are not listed, as when each package is rendered on its own.
    Skip,
    /// Their files are listed; inside one its own `.krmignore` counts and that of the package around it does not.
    Include,
    /// As in the original: its `.krmignore` also counts in sibling directories whose names begin with its own. The
    /// patterns of `sub` hide files of `sub-2`, and those of the parent package do not.
    IncludeByPrefix,
    /// Package files are ignored.
    Ordinary,
}

/// A file to read.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct PackageFile {
    /// The path, relative to the package.
    pub path: String,
    /// The type: never a directory, but possibly a link to one, which cannot be read.
    pub kind: EntryKind,
}

impl ListOptions {
    /// The files that a version of the tools reads.
    pub fn new(dialect: Dialect, subpackages: Subpackages) -> ListOptions {
        let names: &[&str] = match dialect {
            Dialect::Current => &["*.yaml", "*.yml", "*.json", PACKAGE_FILE],
            Dialect::Legacy => &["*.yaml", "*.yml", "*.json"],
        };
        ListOptions {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            subpackages,
        }
    }

    /// Whether a file of this name counts.
    pub fn wants(&self, name: &str) -> bool {
        self.names
            .iter()
            .any(|pattern| glob::matches(pattern, name))
    }
}

/// The files of a package: in the byte order of their names, directories among them, links to directories not
/// followed. Hidden files count like any other.
pub fn list_package_files(
    source: &dyn FileSource,
    options: &ListOptions,
) -> Result<Vec<PackageFile>, FileError> {
    let mut files = Vec::new();
    let mut walk = PackageWalk {
        source,
        by_prefix: options.subpackages == Subpackages::IncludeByPrefix,
        packages: Vec::new(),
        pending: Vec::new(),
    };
    let top = source.list("")?;
    walk.enter_package("", &top)?;
    walk.push("", top);
    while let Some(WalkStep { path, entry }) = walk.pending.pop() {
        let is_directory = entry.kind == EntryKind::Directory;
        if walk.is_hidden(&path, is_directory) {
            continue;
        }
        if !is_directory {
            if options.wants(&entry.name) {
                let kind = entry.kind;
                files.push(PackageFile { path, kind });
            }
            continue;
        }
        let entries = source.list(&path)?;
        let is_package = entries
            .iter()
            .any(|entry| entry.name == PACKAGE_FILE && entry.kind != EntryKind::Other);
        match options.subpackages {
            Subpackages::Skip if is_package => continue,
            Subpackages::Include | Subpackages::IncludeByPrefix if is_package => {
                walk.enter_package(&path, &entries)?;
            }
            _ => {}
        }
        walk.push(&path, entries);
    }
    Ok(files)
}

struct PackageWalk<'a> {
    source: &'a dyn FileSource,
    /// See [`Subpackages::IncludeByPrefix`].
    by_prefix: bool,
    /// The packages around the current directory, innermost last: directory and patterns.
    packages: Vec<(String, Ignore)>,
    /// What is left to visit, the next one last.
    pending: Vec<WalkStep>,
}

struct WalkStep {
    path: String,
    entry: Entry,
}

impl PackageWalk<'_> {
    /// Reads the package's patterns.
    fn enter_package(&mut self, dir: &str, entries: &[Entry]) -> Result<(), FileError> {
        let has_patterns = entries.iter().any(|entry| {
            entry.name == ignore::FILE_NAME
                && matches!(entry.kind, EntryKind::File | EntryKind::SymlinkToFile)
        });
        let ignore = match has_patterns {
            true => Ignore::parse(&self.source.read(&join(dir, ignore::FILE_NAME))?),
            false => Ignore::default(),
        };
        self.packages.push((dir.to_owned(), ignore));
        Ok(())
    }

    fn push(&mut self, dir: &str, mut entries: Vec<Entry>) {
        entries.sort_by(|a, b| b.name.cmp(&a.name));
        self.pending
            .extend(entries.into_iter().map(|entry| WalkStep {
                path: join(dir, &entry.name),
                entry,
            }));
    }

    fn is_hidden(&mut self, path: &str, is_directory: bool) -> bool {
        let place = match (is_directory, path.rsplit_once('/')) {
            (true, _) => path,
            (false, Some((dir, _))) => dir,
            (false, None) => "",
        };
        let by_prefix = self.by_prefix;
        let is_outside = |(dir, _): &mut (String, Ignore)| match place.strip_prefix(dir.as_str()) {
            Some(rest) if by_prefix || dir.is_empty() || rest.is_empty() => false,
            Some(rest) => !rest.starts_with('/'),
            None => true,
        };
        while self.packages.pop_if(is_outside).is_some() {}
        self.packages
            .last()
            .is_some_and(|(dir, ignore)| ignore.hides(&relative(path, dir), is_directory))
    }
}

/// The path relative to a package that contains it or, by prefix, is its sibling.
fn relative<'a>(path: &'a str, dir: &str) -> Cow<'a, str> {
    let rest = path.strip_prefix(dir).unwrap_or(path);
    if dir.is_empty() {
        return Cow::Borrowed(rest);
    }
    match rest.strip_prefix('/') {
        Some(below) => Cow::Borrowed(below),
        None => {
            let parent = dir.rfind('/').map_or(0, |slash| slash + 1);
            Cow::Owned(format!("../{}", path.get(parent..).unwrap_or_default()))
        }
    }
}

fn join(dir: &str, name: &str) -> String {
    match dir {
        "" => name.to_owned(),
        dir => format!("{dir}/{name}"),
    }
}

#[cfg(test)]
mod tests;
