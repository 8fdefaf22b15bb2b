//! kpt's own merge of resources, for its exact files: resources are matched in the whole package, merged with the annotations about
//! their files, sorted by these, and all encoded again.

use std::collections::BTreeMap;

use kiln_krm::Resource;
use kiln_krm::annotations::{INDEX, LEGACY_INDEX, LEGACY_PATH, PATH};
use kiln_krm::package::{
    Bytes, EmptiedFiles, ListOptions, MemoryFiles, PackageError, ReadSet, Subpackages,
    WriteOptions, plan_write, read_package,
};
use kiln_krm::read::FileOptions;
use kiln_yaml::{Document, SequenceStyle};

use super::aliases::{has_alias, resolve_aliases};
use super::marks::{Attribution, mark_document, merge_comment};
use super::packages::join_path;
use super::schema::ListTypes;
use super::tree::{Lists, MergeStyle, Trees, merge_trees_in_style};
use super::{MergeError, Versions};
use crate::contents::Contents;

/// Encodes all resources of packages again, with the marks of resources from an upstream. If a file cannot be read, its package
/// and those after it are not changed.
pub(crate) fn reencode_all<'a>(packages: impl IntoIterator<Item = &'a mut Contents>) {
    for contents in packages {
        if reencode(contents, Attribution::Leave).is_err() {
            return;
        }
    }
}

/// The same for one package.
pub(crate) fn reencode(
    contents: &mut Contents,
    attribution: Attribution,
) -> Result<(), PackageError> {
    let mut resources = read(contents, Subpackages::Ordinary)?;
    let before = ReadSet::of(&resources);
    for resource in &mut resources {
        mark_document(resource.document_mut(), attribution);
    }
    if let Ok(changes) = plan_write(resources, &before, &options()) {
        // The paths are those of existing files.
        let _ = contents.apply(&changes);
    }
    Ok(())
}

/// Merges the resources of one package, without its sub-packages. `shown` is its directory in messages.
pub(crate) fn merge_like_kpt(versions: Versions<'_>, shown: &str) -> Result<Contents, MergeError> {
    let mut merged = versions.local.clone();
    let read = |contents, directory: &str| {
        read(contents, Subpackages::Skip)
            .map_err(|error| MergeError::Unreadable(join_path(directory, &error.to_string())))
    };
    let origin = read(versions.origin, "")?;
    let updated = read(versions.updated, "")?;
    let local = read(versions.local, shown)?;
    let before = ReadSet::of(&local);
    let mut types = ListTypes::default();
    for resource in &local {
        types.add(resource.root());
    }
    let mut resources = Vec::new();
    for tuple in tuples(origin, updated, local)? {
        resources.extend(tuple.merge(&mut types));
    }
    if let Ok(changes) = plan_write(resources, &before, &options()) {
        merged.apply(&changes)?;
    }
    Ok(merged)
}

fn options() -> WriteOptions {
    WriteOptions {
        bytes: Bytes::Reencode,
        emptied_files: EmptiedFiles::Delete,
        ..WriteOptions::default()
    }
}

/// The resources of a package.
fn read(contents: &Contents, subpackages: Subpackages) -> Result<Vec<Resource>, PackageError> {
    let list = ListOptions {
        names: vec!["*.yaml".to_owned(), "*.yml".to_owned()],
        subpackages,
    };
    let files: MemoryFiles = contents.to_files_below("");
    read_package(&files, &list, &FileOptions::default())
}

/// A resource on three sides.
#[derive(Default)]
struct Tuple {
    origin: Option<Resource>,
    updated: Option<Resource>,
    local: Option<Resource>,
}

/// What identifies a resource: path, group, kind, namespace and name.
type TupleKey = [String; 5];

fn key(resource: &Resource) -> TupleKey {
    let meta = resource.meta();
    let group = meta
        .api_version
        .split_once('/')
        .map_or("", |(group, _)| group);
    let (namespace, name) = merge_comment(resource.root())
        .unwrap_or_else(|| (meta.namespace.to_owned(), meta.name.to_owned()));
    let path = resource.file_place().0.to_owned();
    [
        path,
        group.to_owned(),
        meta.kind.to_owned(),
        namespace,
        name,
    ]
}

/// The resources in kpt's order: those of the origin, then new ones of the upstream, then local ones.
fn tuples(
    origin: Vec<Resource>,
    updated: Vec<Resource>,
    local: Vec<Resource>,
) -> Result<Vec<Tuple>, MergeError> {
    let mut tuples: Vec<Tuple> = Vec::new();
    let mut indexes: BTreeMap<TupleKey, usize> = BTreeMap::new();
    type SideOfTuple = fn(&mut Tuple) -> &mut Option<Resource>;
    let sides: [(Vec<Resource>, &'static str, SideOfTuple); 3] = [
        (origin, "original", |tuple| &mut tuple.origin),
        (updated, "updated", |tuple| &mut tuple.updated),
        (local, "dest", |tuple| &mut tuple.local),
    ];
    for (resources, name, side) in sides {
        for resource in resources {
            let key = key(&resource);
            let index = *indexes.entry(key).or_insert(tuples.len());
            if index == tuples.len() {
                tuples.push(Tuple::default());
            }
            let Some(slot) = tuples.get_mut(index).map(side) else {
                continue;
            };
            if slot.is_some() {
                return Err(MergeError::Duplicate {
                    side: name,
                    path: resource.file_place().0.to_owned(),
                });
            }
            *slot = Some(resource);
        }
    }
    Ok(tuples)
}

impl Tuple {
    fn merge(self, types: &mut ListTypes) -> Option<Resource> {
        match (self.origin, self.updated, self.local) {
            (None, None, local) => local,
            (None, Some(updated), None) => Some(updated),
            (_, None, None) | (Some(_), Some(_), None) => None,
            (Some(origin), None, Some(local)) => match text(&origin) == text(&local) {
                true => None,
                false => Some(local),
            },
            (origin, Some(updated), Some(mut local)) => {
                let mut origin = origin.map(Resource::into_document);
                let mut updated = updated.into_document();
                let document = local.document_mut();
                let has_aliases = has_alias(document)
                    || has_alias(&updated)
                    || origin.as_ref().is_some_and(has_alias);
                let is_resolved = !has_aliases
                    || (resolve_aliases(document)
                        && resolve_aliases(&mut updated)
                        && origin.as_mut().is_none_or(resolve_aliases));
                if is_resolved {
                    let trees = Trees {
                        local: document,
                        origin: origin.as_ref(),
                        updated: &updated,
                    };
                    merge_trees_in_style(trees, types, Lists::BySchema, MergeStyle::Kpt);
                }
                Some(local)
            }
        }
    }
}

/// A resource without the annotations about its file, to compare.
fn text(resource: &Resource) -> String {
    let mut resource = resource.clone();
    // An error leaves the annotations, and then the resources differ.
    let _ = resource.clear_annotations(&[PATH, INDEX, LEGACY_PATH, LEGACY_INDEX]);
    let document: Document = resource.into_document();
    kiln_yaml::to_string(&document, SequenceStyle::Compact)
}
