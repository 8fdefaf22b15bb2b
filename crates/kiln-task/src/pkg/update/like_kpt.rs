//! The update strategies with kpt's exact files.

use std::collections::BTreeSet;

use kiln_krm::kptfile::{FILE_NAME, KptfileError};

use super::UpdateError;
use crate::contents::{Contents, ContentsError, PackageFile, PackagePath};
use crate::merge::{
    FileSides, MergeError, UpstreamFields, Versions, is_unmodified, join_path, merge,
    merge_like_kpt, without_render,
};
use crate::pkg::PkgRules;
use crate::pkg::kptfile::merged;
use crate::pkg::subpackages::{
    SubpackageKind, below, direct_subpackages, outer_directories, replace_below, without,
};
use crate::task::Strategy;

/// The strategies other than `resource-merge`: the same files, with the Kptfile from its decoded form.
pub(super) fn merge_with_upstream(
    versions: Versions<'_>,
    strategy: Strategy,
    shown: &str,
) -> Result<Contents, UpdateError> {
    let merged = merge(versions, strategy).map_err(|error| match error {
        MergeError::LocalChanges(changed) => MergeError::LocalChanges(as_printed(changed)),
        error => error,
    })?;
    let mut contents = merged.contents;
    if versions.local.get(FILE_NAME).is_some() || versions.updated.get(FILE_NAME).is_some() {
        let mut kptfile = merged_kptfile(versions, UpstreamFields::Copy, shown)?;
        if strategy == Strategy::FastForward {
            kptfile = without_render(&kptfile).unwrap_or(kptfile);
        }
        write(&mut contents, FILE_NAME, &kptfile)?;
    }
    Ok(contents)
}

/// A directory that the upstream has removed and that still has files here, at which kpt's `copy-merge` stops. The innermost one.
pub(super) fn kept_directory(
    merged: &Contents,
    updated: &Contents,
    origin: &Contents,
) -> Option<String> {
    let [merged, updated, origin] = [merged, updated, origin].map(directories);
    let is_kept = |one: &&&str| merged.contains(**one) && !updated.contains(**one);
    let kept = origin.iter().filter(is_kept);
    kept.max_by_key(|one| one.matches('/').count())
        .map(|one| (*one).to_owned())
}

/// The directories of all files.
fn directories(contents: &Contents) -> BTreeSet<&str> {
    let paths = contents.paths();
    paths
        .flat_map(|path| outer_directories(path.as_str()))
        .collect()
}

/// A package is printed as two items, because of a slip in kpt.
fn as_printed(changed: Vec<String>) -> Vec<String> {
    let mut printed = BTreeSet::new();
    for one in changed {
        match one.strip_suffix(" (Package)") {
            Some(package) => {
                printed.insert("%s (Package)".to_owned());
                printed.insert(package.to_owned());
            }
            None => {
                printed.insert(one);
            }
        }
    }
    printed.into_iter().collect()
}

/// The strategy `resource-merge`: package by package, parents first.
pub(super) fn merge_packages(
    versions: Versions<'_>,
    upstream: UpstreamFields,
    shown: &str,
) -> Result<Contents, UpdateError> {
    let mut contents = versions.local.clone();
    for directory in packages(versions) {
        let updated = below(versions.updated, &directory);
        let origin = below(versions.origin, &directory);
        let local = below(&contents, &directory);
        let is_root = directory.is_empty();
        let present = [&origin, &local, &updated].map(|side| is_root || !side.is_empty());
        match present {
            [false, true, true] => return Err(MergeError::AddedInBoth(directory).into()),
            [false, false, true] => {
                let inner = direct_subpackages(&updated, "", SubpackageKind::All);
                replace_below(&mut contents, &directory, &without(&updated, &inner))?;
            }
            [true, true, false] if is_same_package(&local, &origin) => {
                replace_below(&mut contents, &directory, &Contents::new())?;
            }
            [true, true, true] => {
                let sides = Versions {
                    origin: &origin,
                    updated: &updated,
                    local: &local,
                };
                let upstream = if is_root {
                    upstream
                } else {
                    UpstreamFields::Copy
                };
                let merged = merge_package(sides, upstream, &join_path(shown, &directory))?;
                replace_below(&mut contents, &directory, &merged)?;
            }
            _ => {}
        }
    }
    Ok(contents)
}

/// The directories of all packages on any side, sorted by name, the package itself first.
fn packages(versions: Versions<'_>) -> BTreeSet<String> {
    let sides = [versions.origin, versions.updated, versions.local];
    let paths = sides.into_iter().flat_map(Contents::paths);
    let kptfiles = paths.filter(|path| path.name() == FILE_NAME);
    let mut packages: BTreeSet<String> = kptfiles.map(|path| path.directory().to_owned()).collect();
    packages.insert(String::new());
    packages
}

/// Whether a package is unchanged, without its sub-packages.
fn is_same_package(local: &Contents, origin: &Contents) -> bool {
    let own = |contents: &Contents| {
        let inner = direct_subpackages(contents, "", SubpackageKind::All);
        without(contents, &inner)
    };
    let (local, origin) = (own(local), own(origin));
    let is_same = |(path, file): (&PackagePath, &PackageFile)| {
        let old = origin.get(path.as_str());
        old.is_some_and(|old| is_unmodified(path, file, old))
    };
    local.len() == origin.len() && local.iter().all(is_same)
}

fn merge_package(
    versions: Versions<'_>,
    upstream: UpstreamFields,
    shown: &str,
) -> Result<Contents, UpdateError> {
    let kptfile = merged_kptfile(versions, upstream, shown)?;
    let mut contents = merge_like_kpt(versions, shown)?;
    write(&mut contents, FILE_NAME, &kptfile)?;
    replace_other_files(versions, &mut contents)?;
    Ok(contents)
}

fn merged_kptfile(
    versions: Versions<'_>,
    upstream: UpstreamFields,
    shown: &str,
) -> Result<Vec<u8>, KptfileError> {
    let sides = FileSides {
        local: versions.local.bytes(FILE_NAME),
        origin: versions.origin.bytes(FILE_NAME),
        updated: versions.updated.bytes(FILE_NAME),
    };
    let kptfile = merged(FILE_NAME, sides, upstream, PkgRules::Kpt, &mut Vec::new());
    kptfile.map_err(|problem| KptfileError {
        path: shown.to_owned(),
        problem,
    })
}

/// Files without resources: those changed here stay, the others follow the upstream.
fn replace_other_files(
    versions: Versions<'_>,
    contents: &mut Contents,
) -> Result<(), ContentsError> {
    let other_files = |side: &Contents| -> BTreeSet<String> {
        let inner = direct_subpackages(side, "", SubpackageKind::All);
        let own = without(side, &inner);
        let paths = own
            .paths()
            .filter(|path| !is_krm(path) && !path.as_str().contains(".git"));
        paths.map(ToString::to_string).collect()
    };
    let (updated, origin) = (other_files(versions.updated), other_files(versions.origin));
    let local = other_files(versions.local);
    let bytes = |side: &Contents, path: &str| side.bytes(path).map(<[u8]>::to_vec);
    let is_changed = |path: &str| {
        !origin.contains(path) || bytes(versions.origin, path) != bytes(versions.local, path)
    };
    for path in &local {
        if !is_changed(path) && !updated.contains(path) {
            contents.remove(path);
        }
    }
    for path in &updated {
        if local.contains(path) && is_changed(path) {
            continue;
        }
        if let Some(file) = versions.updated.get(path) {
            // kpt writes into a file that exists, which keeps its mode.
            let present = versions.local.get(path).unwrap_or(file);
            let file = PackageFile {
                mode: present.mode,
                ..file.clone()
            };
            contents.insert(PackagePath::new(path)?, file)?;
        }
    }
    Ok(())
}

fn is_krm(path: &PackagePath) -> bool {
    let name = path.name();
    name == FILE_NAME || name.ends_with(".yaml") || name.ends_with(".yml")
}

fn write(contents: &mut Contents, path: &str, text: &[u8]) -> Result<(), ContentsError> {
    contents.write(PackagePath::new(path)?, text)
}
