//! The strategy `resource-merge`: merges packages, files, resources and fields.

use kiln_krm::kptfile::FILE_NAME;
use kiln_yaml::parse_all;

use super::conflict::{Conflict, Taken};
use super::file::is_resource_file;
use super::kptfile::{UpstreamFields, has_other_upstream, is_same_kptfile, merge_kptfile};
use super::lock::{LOCK_FILE, merge_lock};
use super::packages::{Changes, bytes, has_any, kptfile_path, packages};
use super::resources::{FileSides, NotByDocument, is_untouched, merge_file};
use super::schema::ListTypes;
use super::tree::MergeStyle;
use super::{MergeError, Merged, Versions};
use crate::contents::{Contents, PackageFile, PackagePath};

/// Merges package by package.
pub(super) fn resource_merge(
    sides: Versions<'_>,
    upstream: UpstreamFields,
) -> Result<Merged, MergeError> {
    let types = known_types(sides);
    let mut merge = Merge {
        sides,
        types,
        changes: Changes::default(),
        conflicts: Vec::new(),
    };
    for (directory, files) in packages(sides) {
        merge.package(&directory, &files, upstream)?;
    }
    let mut contents = sides.local.clone();
    merge.changes.apply(&mut contents)?;
    Ok(Merged {
        contents,
        conflicts: merge.conflicts,
    })
}

/// Whether a file is unchanged, except for marks and the unmerged fields of Kptfiles.
pub(crate) fn is_unmodified(path: &PackagePath, local: &PackageFile, origin: &PackageFile) -> bool {
    if local == origin {
        return true;
    }
    if local.mode != origin.mode {
        return false;
    }
    let (Some(old), Some(new)) = (bytes(Some(origin)), bytes(Some(local))) else {
        return false;
    };
    match path.name() {
        FILE_NAME => is_same_kptfile(new, old),
        name if is_resource_file(name) => is_untouched(path.as_str(), new, old),
        _ => false,
    }
}

struct Merge<'a> {
    sides: Versions<'a>,
    types: ListTypes,
    changes: Changes,
    conflicts: Vec<Conflict>,
}

/// A file on three sides.
#[derive(Clone, Copy)]
struct FileVersions<'a> {
    local: Option<&'a PackageFile>,
    origin: Option<&'a PackageFile>,
    updated: Option<&'a PackageFile>,
}

impl Merge<'_> {
    fn package(
        &mut self,
        directory: &str,
        files: &[PackagePath],
        upstream: UpstreamFields,
    ) -> Result<(), MergeError> {
        let Versions {
            origin,
            updated,
            local,
        } = self.sides;
        if directory.is_empty() {
            return self.merge_package(files, upstream);
        }
        let has = |contents| has_any(contents, files);
        match (has(origin), has(local), has(updated)) {
            (false, true, true) => {
                let is_same =
                    |path: &PackagePath| local.get(path.as_str()) == updated.get(path.as_str());
                if !files.iter().all(is_same) {
                    return Err(MergeError::AddedInBoth(directory.to_owned()));
                }
            }
            (false, false, true) => {
                for path in files {
                    let new = updated.get(path.as_str());
                    self.changes.set(path, new.cloned());
                }
            }
            (true, true, false) => self.removed_package(directory, files),
            (true, true, true) => {
                let path = kptfile_path(directory);
                let kptfile = |contents: &Contents| contents.bytes(&path).map(<[u8]>::to_vec);
                let (local, origin) = (kptfile(local), kptfile(origin));
                // A subpackage whose upstream was changed locally is not merged.
                if !has_other_upstream(local.as_deref(), origin.as_deref()) {
                    self.merge_package(files, UpstreamFields::Copy)?;
                }
            }
            (true, false, true) => {
                let is_same =
                    |path: &PackagePath| origin.get(path.as_str()) == updated.get(path.as_str());
                if !files.iter().all(is_same) {
                    self.conflicts
                        .push(package_conflict(directory, [true, false, true]));
                }
            }
            (_, _, false) => {}
        }
        Ok(())
    }

    /// Removes a package that the new upstream has removed, unless it was changed locally.
    fn removed_package(&mut self, directory: &str, files: &[PackagePath]) {
        let (local, origin) = (self.sides.local, self.sides.origin);
        let is_unmodified =
            |path: &PackagePath| match (local.get(path.as_str()), origin.get(path.as_str())) {
                (Some(local), Some(origin)) => is_unmodified(path, local, origin),
                (local, origin) => local.is_none() && origin.is_none(),
            };
        if files.iter().all(is_unmodified) {
            for path in files {
                self.changes.set(path, None);
            }
        } else {
            self.conflicts
                .push(package_conflict(directory, [true, true, false]));
        }
    }

    fn merge_package(
        &mut self,
        files: &[PackagePath],
        upstream: UpstreamFields,
    ) -> Result<(), MergeError> {
        for path in files {
            let sides = FileVersions {
                local: self.sides.local.get(path.as_str()),
                origin: self.sides.origin.get(path.as_str()),
                updated: self.sides.updated.get(path.as_str()),
            };
            if sides.origin == sides.updated && upstream == UpstreamFields::Keep {
                continue;
            }
            let new = self.file(path, sides, upstream)?;
            if new.as_ref() != sides.local {
                self.changes.set(path, new);
            }
        }
        Ok(())
    }

    fn file(
        &mut self,
        path: &PackagePath,
        sides: FileVersions<'_>,
        upstream: UpstreamFields,
    ) -> Result<Option<PackageFile>, MergeError> {
        let FileVersions {
            local,
            origin,
            updated,
        } = sides;
        if path.name() == LOCK_FILE {
            return Ok(merge_lock(local, origin, updated));
        }
        let present = [local, origin, updated];
        let is_link = present
            .into_iter()
            .flatten()
            .any(|file| bytes(Some(file)).is_none());
        let texts = FileSides {
            local: bytes(local),
            origin: bytes(origin),
            updated: bytes(updated),
        };
        let found = self.conflicts.len();
        let merged = match path.name() {
            _ if is_link => None,
            FILE_NAME if local.is_some() && updated.is_some() => {
                let style = MergeStyle::Kiln;
                merge_kptfile(path.as_str(), texts, upstream, style, &mut self.conflicts).map(Some)
            }
            name if is_resource_file(name) => {
                match merge_file(path.as_str(), texts, &mut self.types, &mut self.conflicts) {
                    Ok(merged) => Some(merged),
                    Err(NotByDocument::Opaque) => None,
                    Err(NotByDocument::Duplicate(side)) => {
                        let path = path.as_str().to_owned();
                        return Err(MergeError::Duplicate { side, path });
                    }
                }
            }
            _ => None,
        };
        let Some(text) = merged else {
            self.conflicts.truncate(found);
            return Ok(self.whole_file(path, sides));
        };
        let mode = |file: Option<&PackageFile>| file.map(|file| file.mode);
        let mode = match mode(updated) == mode(origin) {
            true => mode(local).or(mode(updated)),
            false => mode(updated).or(mode(local)),
        };
        Ok(text.map(|bytes| PackageFile {
            bytes: bytes.into(),
            mode: mode.unwrap_or_default(),
        }))
    }

    /// Merges a file as a whole: a change of only one side is taken, otherwise the local file stays.
    fn whole_file(&mut self, path: &PackagePath, sides: FileVersions<'_>) -> Option<PackageFile> {
        let FileVersions {
            local,
            origin,
            updated,
        } = sides;
        if local == updated || origin == updated {
            return local.cloned();
        }
        if local == origin {
            return updated.cloned();
        }
        let taken = match local {
            Some(_) => Taken::Local,
            // A file that was deleted locally and changed by the upstream is added again.
            None => Taken::Upstream,
        };
        let describe =
            |file: Option<&PackageFile>| file.map(|file| format!("{} bytes", file.bytes.len()));
        self.conflicts.push(Conflict {
            path: path.as_str().to_owned(),
            resource: None,
            field: None,
            origin: describe(origin),
            local: describe(local),
            upstream: describe(updated),
            taken,
        });
        local.or(updated).cloned()
    }
}

fn package_conflict(directory: &str, [origin, local, upstream]: [bool; 3]) -> Conflict {
    let describe = |exists: bool| exists.then(|| "the package".to_owned());
    Conflict {
        path: directory.to_owned(),
        resource: None,
        field: None,
        origin: describe(origin),
        local: describe(local),
        upstream: describe(upstream),
        taken: Taken::Local,
    }
}

/// The types that the CRDs of the new upstream and of the package define.
fn known_types(sides: Versions<'_>) -> ListTypes {
    let mut types = ListTypes::default();
    for contents in [sides.updated, sides.local] {
        for (path, file) in contents.iter() {
            let text = bytes(Some(file)).and_then(|bytes| std::str::from_utf8(bytes).ok());
            let is_crd = |text: &&str| text.contains("CustomResourceDefinition");
            if !is_resource_file(path.name()) {
                continue;
            }
            let Some(text) = text.filter(is_crd) else {
                continue;
            };
            for doc in parse_all(text.as_bytes()).unwrap_or_default() {
                types.add(doc.root());
            }
        }
    }
    types
}
