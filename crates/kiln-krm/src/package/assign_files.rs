//! The file and the index of each resource to write, checked before anything is written.

use std::collections::HashMap;

use super::plan::WriteError;
use crate::annotations::{INDEX, LEGACY_INDEX, LEGACY_PATH, PATH};
use crate::dialect::Dialect;
use crate::meta;
use crate::paths;
use crate::resource::Resource;

/// The longest name that file systems allow.
const LONGEST_NAME: usize = 255;
/// The longest path that file systems allow.
const LONGEST_PATH: usize = 4096;

/// A resource with its file and index.
pub(super) struct FileResource {
    pub(super) resource: Resource,
    /// Cleaned and inside of the package.
    pub(super) path: String,
    /// As annotated, or assigned to a resource without one.
    pub(super) index: String,
}

/// Finds the file and index of each resource, in list order.
///
/// One without a path gets the default path; one without an index comes last in its file.
pub(super) fn assign_files(
    resources: Vec<Resource>,
    package: &str,
    dialect: Dialect,
) -> Result<Vec<FileResource>, WriteError> {
    let mut wanted = Vec::with_capacity(resources.len());
    for resource in &resources {
        let (path, index) = annotated_place(resource, dialect);
        let is_annotated = path.is_some();
        let path = match path {
            Some(path) => path.to_owned(),
            None if resource.meta().is_missing => return Err(WriteError::MissingMetadata),
            None => paths::default_path("", resource.root()),
        };
        wanted.push((path, index.map(str::to_owned), is_annotated));
    }
    let mut highest: HashMap<String, i64> = HashMap::new();
    // Most lists have an index for each resource.
    if wanted.iter().any(|(_, index, _)| index.is_none()) {
        for (path, index, is_annotated) in &wanted {
            if let (Some(index), true) = (index, is_annotated) {
                let highest = highest.entry(path.clone()).or_default();
                *highest = (*highest).max(index.parse().unwrap_or(0));
            }
        }
    }
    let mut file_resources = Vec::with_capacity(resources.len());
    for (resource, (path, index, _)) in resources.into_iter().zip(wanted) {
        let index = index.unwrap_or_else(|| {
            let next = highest.entry(path.clone()).or_default();
            let index = next.to_string();
            *next = next.saturating_add(1);
            index
        });
        file_resources.push(FileResource {
            resource,
            path,
            index,
        });
    }
    let (path_key, index_key) = match dialect {
        Dialect::Current => (PATH, INDEX),
        Dialect::Legacy => (LEGACY_PATH, LEGACY_INDEX),
    };
    for FileResource { path, index, .. } in &file_resources {
        for (key, value) in [(index_key, index), (path_key, path)] {
            if value.is_empty() {
                return Err(WriteError::MissingAnnotation(key));
            }
        }
    }
    for FileResource { path, .. } in &mut file_resources {
        *path = inside(path, package)?;
    }
    Ok(file_resources)
}

/// Sorts the resources of one file by index, keeping the list order of equal ones.
pub(super) fn sort(file_resources: &mut [FileResource]) -> Result<(), WriteError> {
    // The original reads an index only to compare it with another one.
    for pair in file_resources.windows(2) {
        if let [before, this] = pair
            && before.index != this.index
        {
            number(&this.index)?;
            number(&before.index)?;
        }
    }
    file_resources.sort_by_cached_key(|assigned| number(&assigned.index).unwrap_or(0));
    Ok(())
}

fn number(index: &str) -> Result<i64, WriteError> {
    kiln_go::atoi(index).map_err(|reason| WriteError::Index {
        index: index.to_owned(),
        reason,
    })
}

/// The annotated path and index: of the internal key, or of the older one if that is missing or empty.
fn annotated_place<'a>(
    resource: &'a Resource,
    dialect: Dialect,
) -> (Option<&'a str>, Option<&'a str>) {
    let keys = [PATH, LEGACY_PATH, INDEX, LEGACY_INDEX];
    let [path, legacy_path, index, legacy_index] = meta::several_annotations(resource.root(), keys);
    let effective = |internal: Option<&'a str>, legacy: Option<&'a str>| match (dialect, internal) {
        (Dialect::Legacy, _) => legacy,
        (Dialect::Current, Some(value)) if !value.is_empty() => Some(value),
        (Dialect::Current, value) => legacy.filter(|legacy| !legacy.is_empty()).or(value),
    };
    (effective(path, legacy_path), effective(index, legacy_index))
}

/// The cleaned path, if it stays inside of the package and is valid for a file.
fn inside(path: &str, package: &str) -> Result<String, WriteError> {
    if path.starts_with('/') {
        return Err(WriteError::AbsolutePath);
    }
    let cleaned = paths::clean(path);
    if cleaned.contains("..") {
        return Err(WriteError::Outside {
            package: package.to_owned(),
            path: cleaned,
        });
    }
    if cleaned.contains('\0') {
        return Err(WriteError::NulInPath(cleaned.replace('\0', "\\0")));
    }
    let is_too_long = |name: &str| name.len() > LONGEST_NAME;
    if cleaned.len() > LONGEST_PATH || cleaned.split('/').any(is_too_long) {
        return Err(WriteError::PathTooLong(cleaned));
    }
    Ok(cleaned)
}
