//! The three-way merge of one file of resources: documents are kept, removed, added or merged.
//!
//! A resource is the same on two sides if it has the same group, kind, namespace and name; the last two are those that it had
//! when it was cloned. The file is part of its identity, so files are merged one by one. An unchanged document keeps its bytes.

use std::collections::{HashMap, HashSet};

use kiln_krm::EditableText;
use kiln_krm::meta::Meta;
use kiln_krm::read::{FileOptions, read_file};
use kiln_krm::{Origin, Resource};
use kiln_yaml::{Document, NodeRef, parse_first};

use super::aliases::{has_alias, resolve_aliases};
use super::comments::Comments;
use super::conflict::{Conflict, Taken};
use super::file::rebuild;
use super::marks::{adopt_marks, merge_comment, strip_marks};
use super::schema::ListTypes;
use super::tree::{FieldConflict, Lists, Trees, merge_trees};

/// A file on three sides.
#[derive(Clone, Copy)]
pub(crate) struct FileSides<'a> {
    pub(crate) local: Option<&'a [u8]>,
    pub(crate) origin: Option<&'a [u8]>,
    pub(crate) updated: Option<&'a [u8]>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum NotByDocument {
    /// A side is not YAML, has no documents, or has several indistinguishable ones that are not resources.
    Opaque,
    /// A resource occurs twice.
    Duplicate(&'static str),
}

/// Merges a file. Returns `None` if it is to be deleted.
pub(super) fn merge_file(
    path: &str,
    sides: FileSides<'_>,
    types: &mut ListTypes,
    conflicts: &mut Vec<Conflict>,
) -> Result<Option<Vec<u8>>, NotByDocument> {
    let read = |bytes: Option<&[u8]>, side| match bytes {
        Some(bytes) => documents(path, bytes, side),
        None => Ok(Documents::default()),
    };
    let origin = read(sides.origin, "original")?;
    let updated = read(sides.updated, "updated")?;
    let local = read(sides.local, "dest")?;
    let mut pieces = Vec::new();
    let mut is_changed = false;
    for entry in &local.entries {
        let triple = Triple {
            path,
            local: Some(entry),
            origin: origin.find(&entry.id),
            updated: updated.find(&entry.id),
        };
        match triple.merge(types, conflicts) {
            DocumentOutcome::Keep => {
                pieces.push((Some(entry.origin.clone()), entry.body().to_vec()))
            }
            DocumentOutcome::Become(bytes) => {
                is_changed = true;
                pieces.push((Some(entry.origin.clone()), bytes));
            }
            DocumentOutcome::Drop => is_changed = true,
        }
    }
    for entry in &updated.entries {
        if local.find(&entry.id).is_some() {
            continue;
        }
        let triple = Triple {
            path,
            local: None,
            origin: origin.find(&entry.id),
            updated: Some(entry),
        };
        if let DocumentOutcome::Become(bytes) = triple.merge(types, conflicts) {
            is_changed = true;
            pieces.push((None, bytes));
        }
    }
    if pieces.is_empty() {
        return Ok(None);
    }
    if local.entries.is_empty() && pieces.len() == updated.entries.len() {
        return Ok(sides.updated.map(<[u8]>::to_vec));
    }
    Ok(match is_changed {
        true => Some(rebuild(&pieces)),
        false => sides.local.map(<[u8]>::to_vec),
    })
}

/// Whether two files are equal except for marks. Comments count if only the local file has them.
pub(super) fn is_untouched(path: &str, local: &[u8], origin: &[u8]) -> bool {
    if local == origin {
        return true;
    }
    let read = |bytes: &[u8]| read_file(path, bytes.to_vec(), &FileOptions::default()).ok();
    let (Some(local), Some(origin)) = (read(local), read(origin)) else {
        return false;
    };
    let tree = |resource: &Resource| stripped(resource.origin()?.body());
    local.len() == origin.len()
        && local
            .iter()
            .zip(&origin)
            .all(|(local, origin)| match (tree(local), tree(origin)) {
                (Some(local), Some(origin)) => is_same(&local, &origin),
                _ => false,
            })
}

/// The name of a resource in messages.
pub(super) fn display_name(root: NodeRef<'_>) -> String {
    let meta = Meta::of(root);
    match (meta.namespace, meta.name) {
        ("", name) => format!("{} {name}", meta.kind),
        (namespace, name) => format!("{} {namespace}/{name}", meta.kind),
    }
    .trim()
    .to_owned()
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct MergeIdentity {
    group: String,
    kind: String,
    namespace: String,
    name: String,
}

/// The documents of a file on one side.
#[derive(Default)]
struct Documents {
    entries: Vec<DocumentEntry>,
    indexes: HashMap<MergeIdentity, usize>,
}

impl Documents {
    fn find(&self, id: &MergeIdentity) -> Option<&DocumentEntry> {
        self.entries.get(*self.indexes.get(id)?)
    }
}

struct DocumentEntry {
    id: MergeIdentity,
    name: String,
    origin: Origin,
}

impl DocumentEntry {
    fn body(&self) -> &[u8] {
        self.origin.body()
    }
}

fn documents(path: &str, bytes: &[u8], side: &'static str) -> Result<Documents, NotByDocument> {
    let resources = read_file(path, bytes.to_vec(), &FileOptions::default());
    let resources = resources.map_err(|_| NotByDocument::Opaque)?;
    let mut documents = Documents::default();
    for resource in &resources {
        let origin = resource.origin().ok_or(NotByDocument::Opaque)?;
        let id = identity(resource.root());
        let is_nobody = id.kind.is_empty() || id.name.is_empty();
        let index = documents.entries.len();
        if documents.indexes.insert(id.clone(), index).is_some() {
            return Err(match is_nobody {
                true => NotByDocument::Opaque,
                false => NotByDocument::Duplicate(side),
            });
        }
        documents.entries.push(DocumentEntry {
            id,
            name: display_name(resource.root()),
            origin: origin.clone(),
        });
    }
    match documents.entries.is_empty() {
        true => Err(NotByDocument::Opaque),
        false => Ok(documents),
    }
}

fn identity(root: NodeRef<'_>) -> MergeIdentity {
    let meta = Meta::of(root);
    let group = meta
        .api_version
        .split_once('/')
        .map_or("", |(group, _)| group);
    let (namespace, name) =
        merge_comment(root).unwrap_or_else(|| (meta.namespace.to_owned(), meta.name.to_owned()));
    MergeIdentity {
        group: group.to_owned(),
        kind: meta.kind.to_owned(),
        namespace,
        name,
    }
}

/// A resource on three sides.
struct Triple<'a> {
    path: &'a str,
    local: Option<&'a DocumentEntry>,
    origin: Option<&'a DocumentEntry>,
    updated: Option<&'a DocumentEntry>,
}

enum DocumentOutcome {
    /// Keep it; do not add it if it is missing.
    Keep,
    Become(Vec<u8>),
    Drop,
}

impl Triple<'_> {
    fn merge(&self, types: &mut ListTypes, conflicts: &mut Vec<Conflict>) -> DocumentOutcome {
        let same_body = |one: &DocumentEntry, other: &DocumentEntry| one.body() == other.body();
        match (self.local, self.origin, self.updated) {
            (None, None, Some(updated)) => DocumentOutcome::Become(updated.body().to_vec()),
            (_, Some(origin), Some(updated)) if same_body(origin, updated) => DocumentOutcome::Keep,
            (Some(local), Some(origin), Some(updated)) if same_body(local, origin) => {
                DocumentOutcome::Become(updated.body().to_vec())
            }
            (None, Some(origin), Some(updated)) => {
                if !is_same_text(updated.body(), origin.body()) {
                    conflicts.push(self.whole(Taken::Local));
                }
                DocumentOutcome::Keep
            }
            (Some(local), Some(origin), None) => {
                if is_same_text(local.body(), origin.body()) {
                    return DocumentOutcome::Drop;
                }
                conflicts.push(self.whole(Taken::Local));
                DocumentOutcome::Keep
            }
            (Some(local), origin, Some(updated)) => {
                self.merge_fields(local, origin, updated, types, conflicts)
            }
            (_, _, None) => DocumentOutcome::Keep,
        }
    }

    fn merge_fields(
        &self,
        local: &DocumentEntry,
        origin: Option<&DocumentEntry>,
        updated: &DocumentEntry,
        types: &mut ListTypes,
        conflicts: &mut Vec<Conflict>,
    ) -> DocumentOutcome {
        let origin_tree = origin.and_then(|origin| stripped(origin.body()));
        let (Some(updated_tree), Some(mut text)) = (
            stripped(updated.body()),
            EditableText::read_resource(local.body()),
        ) else {
            return DocumentOutcome::Keep;
        };
        let is_untouched = origin_tree.as_ref().is_some_and(|origin| {
            stripped(local.body()).is_some_and(|local| is_same(&local, origin))
        });
        if is_untouched {
            return upstream_with_marks(updated.body(), local.body());
        }
        let mut trees = (origin_tree, updated_tree);
        if !resolve(&mut text, &mut trees) {
            // A tree with aliases that contain themselves cannot be merged by fields.
            conflicts.push(self.whole(Taken::Upstream));
            return upstream_with_marks(updated.body(), local.body());
        }
        let found = merge_trees(
            Trees {
                local: text.document_mut(),
                origin: trees.0.as_ref(),
                updated: &trees.1,
            },
            types,
            Lists::BySchema,
        );
        conflicts.extend(found.into_iter().map(|conflict| self.field(conflict)));
        match text.changed() {
            Some(bytes) if bytes != local.body() => DocumentOutcome::Become(bytes),
            _ => DocumentOutcome::Keep,
        }
    }

    fn name(&self) -> Option<String> {
        let entry = self.local.or(self.updated).or(self.origin);
        entry.map(|entry| entry.name.clone())
    }

    /// A conflict about the whole resource.
    fn whole(&self, taken: Taken) -> Conflict {
        let describe = |entry: Option<&DocumentEntry>| entry.map(|_| "the resource".to_owned());
        Conflict {
            path: self.path.to_owned(),
            resource: self.name(),
            field: None,
            origin: describe(self.origin),
            local: describe(self.local),
            upstream: describe(self.updated),
            taken,
        }
    }

    fn field(&self, conflict: FieldConflict) -> Conflict {
        conflict.at(self.path, self.name())
    }
}

/// The text of the new upstream with the local marks.
fn upstream_with_marks(updated: &[u8], local: &[u8]) -> DocumentOutcome {
    let marks = parse_first(local).ok().flatten();
    let marked = marks.and_then(|marks| {
        let mut text = EditableText::read_resource(updated)?;
        strip_marks(text.document_mut());
        adopt_marks(text.document_mut(), marks.root());
        text.changed()
    });
    DocumentOutcome::Become(marked.unwrap_or_else(|| updated.to_vec()))
}

/// Resolves the aliases of all trees if one has any. Returns false if that fails.
fn resolve(text: &mut EditableText, trees: &mut (Option<Document>, Document)) -> bool {
    let is_plain = !has_alias(text.document())
        && !has_alias(&trees.1)
        && !trees.0.as_ref().is_some_and(has_alias);
    is_plain
        || (resolve_aliases(text.document_mut())
            && resolve_aliases(&mut trees.1)
            && trees.0.as_mut().is_none_or(resolve_aliases))
}

fn stripped(body: &[u8]) -> Option<Document> {
    let mut doc = parse_first(body).ok().flatten()?;
    strip_marks(&mut doc);
    Some(doc)
}

fn is_same_text(local: &[u8], origin: &[u8]) -> bool {
    match (stripped(local), stripped(origin)) {
        (Some(local), Some(origin)) => is_same(&local, &origin),
        _ => local == origin,
    }
}

/// Whether a tree has the same values as another, and no additional comment.
fn is_same(local: &Document, origin: &Document) -> bool {
    local.root().value_eq(origin.root()) && {
        let known = all_comments(origin);
        all_comments(local).iter().all(|line| known.contains(line))
    }
}

fn all_comments(doc: &Document) -> HashSet<String> {
    let mut lines: HashSet<String> = Comments::of_document(doc)
        .lines()
        .map(str::to_owned)
        .collect();
    let mut pending = vec![doc.root()];
    while let Some(node) = pending.pop() {
        lines.extend(Comments::of(Some(node)).lines().map(str::to_owned));
        pending.extend(node.children());
    }
    lines
}
