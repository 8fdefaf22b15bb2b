//! Restores comments that a program has removed from pushed resources.
//!
//! A program that parses YAML and writes it again loses all comments; a user removes some of them, or nothing else. So comments
//! are restored only if all of them are gone and something else has changed as well. Porch always restores every comment, so
//! that users cannot remove one.
//!
//! Only documents that get comments are re-encoded. Files that are not resources, not YAML, or contain comments of a template
//! language stay as they were pushed.

mod copy;

use std::collections::HashMap;

use kiln_krm::EditableText;
use kiln_krm::Origin;
use kiln_krm::kptfile::FILE_NAME;
use kiln_krm::meta::Meta;
use kiln_krm::read::{FileOptions, read_file};
use kiln_yaml::{Document, parse_first};

use crate::contents::{Contents, FileMode};
use crate::merge::file::{self, is_resource_file, rebuild};
use copy::{copy_comments, has_comments};

pub(crate) fn restore_comments(old: &Contents, new: &Contents) -> Contents {
    let mut restored = new.clone();
    let (old, new) = (documents(old), documents(new));
    let pairs = pair(&old, &new);
    if !has_lost_all_comments(&old, &new, &pairs) {
        return restored;
    }
    let mut files: HashMap<&str, Vec<file::DocumentText>> = HashMap::new();
    let mut is_changed: HashMap<&str, bool> = HashMap::new();
    for (document, old_index) in new.iter().zip(&pairs) {
        let old = old_index.and_then(|index| old.get(index));
        let text = old.and_then(|old| restore_document(old, document));
        *is_changed.entry(&document.path).or_default() |= text.is_some();
        let text = text.unwrap_or_else(|| document.origin.body().to_vec());
        let piece = (Some(document.origin.clone()), text);
        files.entry(&document.path).or_default().push(piece);
    }
    for (path, pieces) in files {
        let path = restored
            .paths()
            .find(|known| known.as_str() == path)
            .cloned();
        if let Some(path) = path.filter(|path| is_changed.get(path.as_str()) == Some(&true)) {
            // The path is valid because it is the path of an existing file.
            let _ = restored.write(path, &rebuild(&pieces));
        }
    }
    restored
}

struct ResourceDocument {
    path: String,
    identity: ResourceIdentity,
    origin: Origin,
    tree: Document,
}

/// The identity of a resource. A document without a name or a kind is not a resource.
#[derive(Clone, PartialEq, Eq, Hash)]
struct ResourceIdentity {
    api_version: String,
    kind: String,
    namespace: String,
    name: String,
}

/// All resources, sorted by file.
fn documents(contents: &Contents) -> Vec<ResourceDocument> {
    let mut pieces = Vec::new();
    for (path, file) in contents.iter() {
        let is_wanted = path.name() == FILE_NAME || is_resource_file(path.name());
        if !is_wanted || file.mode == FileMode::Symlink {
            continue;
        }
        let resources = read_file(path.as_str(), file.bytes.to_vec(), &FileOptions::default());
        for resource in resources.unwrap_or_default() {
            let tree = resource.origin().and_then(|origin| {
                let tree = parse_first(origin.body()).ok().flatten()?;
                Some((origin.clone(), tree))
            });
            let Some((origin, tree)) = tree else {
                continue;
            };
            let meta = Meta::of(tree.root());
            let identity = ResourceIdentity {
                api_version: meta.api_version.to_owned(),
                kind: meta.kind.to_owned(),
                namespace: meta.namespace.to_owned(),
                name: meta.name.to_owned(),
            };
            pieces.push(ResourceDocument {
                path: path.as_str().to_owned(),
                identity,
                origin,
                tree,
            });
        }
    }
    pieces
}

/// Pairs each new document with its old one: the same resource in the same file, else the only one with that name.
fn pair(old: &[ResourceDocument], new: &[ResourceDocument]) -> Vec<Option<usize>> {
    let mut in_same_file: HashMap<(&str, &ResourceIdentity), Option<usize>> = HashMap::new();
    let mut anywhere: HashMap<&ResourceIdentity, Option<usize>> = HashMap::new();
    for (index, piece) in old.iter().enumerate() {
        let is_resource = !piece.identity.kind.is_empty() && !piece.identity.name.is_empty();
        if is_resource {
            // A resource that occurs twice is not paired.
            let only = |seen: &mut Option<usize>| *seen = None;
            let key = (piece.path.as_str(), &piece.identity);
            in_same_file
                .entry(key)
                .and_modify(only)
                .or_insert(Some(index));
            anywhere
                .entry(&piece.identity)
                .and_modify(only)
                .or_insert(Some(index));
        }
    }
    new.iter()
        .map(|piece| {
            let key = (piece.path.as_str(), &piece.identity);
            let found = in_same_file.get(&key).copied().flatten();
            found.or_else(|| anywhere.get(&piece.identity).copied().flatten())
        })
        .collect()
}

/// Whether all comments are gone and something else has changed.
fn has_lost_all_comments(
    old: &[ResourceDocument],
    new: &[ResourceDocument],
    pairs: &[Option<usize>],
) -> bool {
    let mut has_lost = false;
    let mut is_changed = old.len() != new.len();
    for (new, old_index) in new.iter().zip(pairs) {
        let Some(old) = old_index.and_then(|index| old.get(index)) else {
            is_changed = true;
            continue;
        };
        is_changed |= !old.tree.root().value_eq(new.tree.root());
        if has_comments(&old.tree) {
            if has_comments(&new.tree) {
                return false;
            }
            has_lost = true;
        }
    }
    has_lost && is_changed
}

/// The text with the comments of the old document; `None` if it gets none.
fn restore_document(old: &ResourceDocument, document: &ResourceDocument) -> Option<Vec<u8>> {
    let is_template = |piece: &ResourceDocument| {
        let body = String::from_utf8_lossy(piece.origin.body());
        body.contains("#@") || body.contains("#!")
    };
    if is_template(old) || is_template(document) {
        return None;
    }
    let body = document.origin.body();
    let mut text = match document.path.ends_with(FILE_NAME) {
        true => EditableText::read_kptfile(body)?,
        false => EditableText::read_resource(body)?,
    };
    copy_comments(&old.tree, text.document_mut());
    let restored = text.changed()?;
    // A comment that the encoder cannot write where it belongs is dropped.
    let read = parse_first(&restored).ok().flatten()?;
    read.root()
        .value_eq(document.tree.root())
        .then_some(restored)
}

#[cfg(test)]
mod tests;
