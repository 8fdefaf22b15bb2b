//! The strategies that do not look into files: `fast-forward`, `force-delete-replace` and `copy-merge`.

use kiln_krm::kptfile::FILE_NAME;

use super::conflict::{Conflict, Taken};
use super::kptfile::{UpstreamFields, is_bare_kptfile, is_remote, merge_kptfile, without_render};
use super::lock::{LOCK_FILE, merge_lock};
use super::packages::{Changes, bytes, has_any, kptfile_path, packages};
use super::resource_merge::is_unmodified;
use super::resources::FileSides;
use super::tree::MergeStyle;
use super::{MergeError, Merged, Versions};
use crate::contents::{Contents, PackageFile, PackagePath};

/// The package context generator rewrites this file, so changes of it are not the user's.
const PACKAGE_CONTEXT: &str = "package-context.yaml";

/// Replaces the package with the new upstream, if it has no local changes.
pub(super) fn fast_forward(sides: Versions<'_>) -> Result<Merged, MergeError> {
    let changed = local_changes(sides);
    if !changed.is_empty() {
        return Err(MergeError::LocalChanges(changed));
    }
    let mut merged = force_delete_replace(sides)?;
    let kptfile = merged.contents.bytes(FILE_NAME).and_then(without_render);
    if let (Some(kptfile), Ok(path)) = (kptfile, PackagePath::new(FILE_NAME)) {
        merged.contents.write(path, &kptfile)?;
    }
    Ok(merged)
}

/// The changed files, relative to their packages, and packages that were added or removed.
fn local_changes(sides: Versions<'_>) -> Vec<String> {
    let mut changed = std::collections::BTreeSet::new();
    for (directory, files) in packages(sides) {
        let (has_local, has_origin) = (has_any(sides.local, &files), has_any(sides.origin, &files));
        if !has_local && !has_origin {
            continue;
        }
        let kptfile = kptfile_path(&directory);
        if !directory.is_empty() && is_remote(sides.local.bytes(&kptfile)) {
            continue;
        }
        if !directory.is_empty() && has_local != has_origin {
            changed.insert(format!("{directory} (Package)"));
            continue;
        }
        for path in &files {
            if path.as_str() == PACKAGE_CONTEXT || path.name() == LOCK_FILE {
                continue;
            }
            let is_unmodified = match (
                sides.local.get(path.as_str()),
                sides.origin.get(path.as_str()),
            ) {
                (Some(local), Some(origin)) => is_unmodified(path, local, origin),
                (Some(local), None) if path.as_str() == FILE_NAME => {
                    bytes(Some(local)).is_some_and(is_bare_kptfile)
                }
                (local, origin) => local.is_none() && origin.is_none(),
            };
            if !is_unmodified {
                let inner = path.as_str().strip_prefix(directory.as_str());
                let inner = inner.unwrap_or(path.as_str()).trim_start_matches('/');
                changed.insert(inner.to_owned());
            }
        }
    }
    changed.into_iter().collect()
}

/// Replaces everything except the root Kptfile, which is merged. Local subpackages with an upstream of their own stay.
pub(super) fn force_delete_replace(sides: Versions<'_>) -> Result<Merged, MergeError> {
    let mut changes = Changes::default();
    for (directory, files) in packages(sides) {
        let is_foreign = !has_any(sides.origin, &files) && !has_any(sides.updated, &files);
        let kptfile = kptfile_path(&directory);
        if !directory.is_empty() && is_foreign && is_remote(sides.local.bytes(&kptfile)) {
            continue;
        }
        for path in files.iter().filter(|path| path.as_str() != FILE_NAME) {
            let local = sides.local.get(path.as_str());
            let updated = sides.updated.get(path.as_str());
            let new = match path.name() {
                LOCK_FILE => merge_lock(local, sides.origin.get(path.as_str()), updated),
                _ => updated.cloned(),
            };
            if new.as_ref() != local {
                changes.set(path, new);
            }
        }
    }
    finish(sides, changes, Vec::new())
}

/// Copies the new upstream over the package, and deletes the files that the upstream has deleted.
pub(super) fn copy_merge(sides: Versions<'_>) -> Result<Merged, MergeError> {
    let mut changes = Changes::default();
    let mut conflicts = Vec::new();
    let paths = packages(sides).into_values().flatten();
    for path in paths.filter(|path| path.as_str() != FILE_NAME) {
        let get = |contents: &Contents| contents.get(path.as_str()).cloned();
        let (local, origin, updated) = (get(sides.local), get(sides.origin), get(sides.updated));
        if (updated.is_none() && origin.is_none()) || updated == local {
            continue;
        }
        if path.name() == LOCK_FILE {
            let merged = merge_lock(local.as_ref(), origin.as_ref(), updated.as_ref());
            changes.set(&path, merged);
            continue;
        }
        let is_changed = match (&local, &origin) {
            (Some(local), Some(origin)) => !is_unmodified(&path, local, origin),
            (local, _) => local.is_some(),
        };
        if is_changed {
            conflicts.push(overwritten(&path, [&origin, &local, &updated]));
        }
        changes.set(&path, updated);
    }
    finish(sides, changes, conflicts)
}

fn overwritten(path: &PackagePath, sides: [&Option<PackageFile>; 3]) -> Conflict {
    let [origin, local, upstream] = sides.map(|file| {
        let file = file.as_ref()?;
        Some(format!("{} bytes", file.bytes.len()))
    });
    Conflict {
        path: path.as_str().to_owned(),
        resource: None,
        field: None,
        origin,
        local,
        upstream,
        taken: Taken::Upstream,
    }
}

/// Merges the root Kptfile and applies the changes.
fn finish(
    sides: Versions<'_>,
    mut changes: Changes,
    mut conflicts: Vec<Conflict>,
) -> Result<Merged, MergeError> {
    let get = |contents: &'_ Contents| contents.get(FILE_NAME).cloned();
    let (local, origin, updated) = (get(sides.local), get(sides.origin), get(sides.updated));
    let texts = FileSides {
        local: bytes(local.as_ref()),
        origin: bytes(origin.as_ref()),
        updated: bytes(updated.as_ref()),
    };
    let (upstream, style) = (UpstreamFields::Copy, MergeStyle::Kiln);
    if let Some(merged) = merge_kptfile(FILE_NAME, texts, upstream, style, &mut conflicts) {
        let mode = local.as_ref().map(|file| file.mode).unwrap_or_default();
        let file = PackageFile {
            bytes: merged.into(),
            mode,
        };
        changes.set(&PackagePath::new(FILE_NAME)?, Some(file));
    }
    let mut contents = sides.local.clone();
    changes.apply(&mut contents)?;
    Ok(Merged {
        contents,
        conflicts,
    })
}
