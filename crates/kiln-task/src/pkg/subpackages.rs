//! The packages inside of a package, and their files.

use std::collections::BTreeSet;

use kiln_krm::kptfile::FILE_NAME;

use super::PkgRules;
use crate::contents::{Contents, PackagePath};
use crate::git::read_kptfile;
use crate::merge::join_path;

/// Which sub-packages are meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SubpackageKind {
    All,
    /// Those with an upstream of their own.
    Remote,
}

/// Whether there is a Kptfile in a directory.
pub(super) fn is_package(contents: &Contents, directory: &str) -> bool {
    contents.get(&join_path(directory, FILE_NAME)).is_some()
}

/// The directories of the packages directly in a package, relative to it.
pub(super) fn direct_subpackages(
    contents: &Contents,
    directory: &str,
    kind: SubpackageKind,
) -> BTreeSet<String> {
    let below = below(contents, directory);
    let is_kptfile = |path: &&PackagePath| path.name() == FILE_NAME && !path.directory().is_empty();
    let all: BTreeSet<String> = below
        .paths()
        .filter(is_kptfile)
        .map(|path| path.directory().to_owned())
        .collect();
    let is_inside = |one: &str| {
        let mut outer = one;
        while let Some((parent, _)) = outer.rsplit_once('/') {
            if all.contains(parent) {
                return true;
            }
            outer = parent;
        }
        false
    };
    let is_wanted = |one: &&String| match kind {
        SubpackageKind::All => true,
        SubpackageKind::Remote => is_remote(&below, one),
    };
    let direct = all.iter().filter(|one| !is_inside(one)).filter(is_wanted);
    direct.cloned().collect()
}

/// The directories of the remote packages in a package that are not inside of another remote one, relative to it.
pub(super) fn outer_remote(contents: &Contents, directory: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut pending = vec![String::new()];
    while let Some(outer) = pending.pop() {
        let inside = join_path(directory, &outer);
        for inner in direct_subpackages(contents, &inside, SubpackageKind::All) {
            let inner = join_path(&outer, &inner);
            match is_remote(contents, &join_path(directory, &inner)) {
                true => {
                    found.insert(inner);
                }
                false => pending.push(inner),
            }
        }
    }
    found
}

/// The remote packages in a package that are updated with it. kpt does not find those in a local sub-package.
pub(super) fn updated_subpackages(
    contents: &Contents,
    directory: &str,
    rules: PkgRules,
) -> BTreeSet<String> {
    match rules {
        PkgRules::Kiln => outer_remote(contents, directory),
        PkgRules::Kpt => direct_subpackages(contents, directory, SubpackageKind::Remote),
    }
}

/// Whether the Kptfile of a directory names an upstream.
pub(super) fn is_remote(contents: &Contents, directory: &str) -> bool {
    let kptfile = contents.bytes(&join_path(directory, FILE_NAME));
    kptfile.is_some_and(|kptfile| read_kptfile(kptfile).upstream.is_some())
}

/// Whether a package names an upstream that has not been fetched.
pub(super) fn is_unfetched(contents: &Contents) -> bool {
    let kptfile = contents.bytes(FILE_NAME).map(read_kptfile);
    kptfile.is_some_and(|kptfile| kptfile.upstream.is_some() && kptfile.upstream_lock.is_none())
}

/// The directories around a file, the outermost last.
pub(super) fn outer_directories(path: &str) -> impl Iterator<Item = &str> {
    let mut path = Some(path);
    std::iter::from_fn(move || {
        path = Some(path?.rsplit_once('/')?.0);
        path
    })
}

/// The files below a directory, relative to it.
pub(super) fn below(contents: &Contents, directory: &str) -> Contents {
    if directory.is_empty() {
        return contents.clone();
    }
    let mut inner = Contents::new();
    for (path, file) in contents.iter() {
        let rest = path.as_str().strip_prefix(directory);
        let Some(rest) = rest.and_then(|rest| rest.strip_prefix('/')) else {
            continue;
        };
        if let Ok(rest) = PackagePath::new(rest) {
            // The paths cannot clash, because those of the whole do not.
            let _ = inner.insert(rest, file.clone());
        }
    }
    inner
}

/// Replaces the files below a directory.
pub(super) fn replace_below(
    contents: &mut Contents,
    directory: &str,
    inner: &Contents,
) -> Result<(), crate::contents::ContentsError> {
    let old: Vec<String> = below(contents, directory)
        .paths()
        .map(ToString::to_string)
        .collect();
    for path in old {
        contents.remove(&join_path(directory, &path));
    }
    for (path, file) in inner.iter() {
        contents.insert(
            PackagePath::new(join_path(directory, path.as_str()))?,
            file.clone(),
        )?;
    }
    Ok(())
}

/// The files that are not below one of the directories.
pub(super) fn without(contents: &Contents, directories: &BTreeSet<String>) -> Contents {
    let mut kept = contents.clone();
    let is_below = |path: &str| {
        directories.iter().any(|one| {
            path.strip_prefix(one.as_str())
                .is_some_and(|rest| rest.starts_with('/'))
        })
    };
    let gone: Vec<String> = contents
        .paths()
        .map(ToString::to_string)
        .filter(|path| is_below(path))
        .collect();
    for path in gone {
        kept.remove(&path);
    }
    kept
}
