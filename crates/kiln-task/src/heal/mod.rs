//! Giving pushed resources the comments back that a program on the way has lost.
//!
//! A program that reads YAML and writes it again loses all comments at once; a person removes some, or removes one and
//! nothing else. So comments come back only if none of those that the package had is left, and something else was changed
//! as well. Porch brings every comment back, always, so that nobody can remove one.
//!
//! Only documents that get comments are written anew. What is no resource, is no YAML or has the comments of a template
//! language in it stays as it was pushed.

mod copy;

use std::collections::HashMap;

use kiln_krm::Origin;
use kiln_krm::kptfile::{FILE_NAME, KptfileText};
use kiln_krm::meta::Meta;
use kiln_krm::read::{FileOptions, read_file};
use kiln_yaml::{Document, parse_first};

use crate::contents::{Contents, FileMode};
use crate::merge::file::{self, is_resource_file, rebuild};
use copy::{copy_comments, has_comments};

/// The contents with the comments that they have lost, if that is what happened.
pub fn heal(old: &Contents, new: &Contents) -> Contents {
    let mut healed = new.clone();
    let (old, new) = (documents(old), documents(new));
    let pairs = pair(&old, &new);
    if !has_lost_all(&old, &new, &pairs) {
        return healed;
    }
    let mut files: HashMap<&str, Vec<file::Piece>> = HashMap::new();
    let mut is_changed: HashMap<&str, bool> = HashMap::new();
    for (document, donor) in new.iter().zip(&pairs) {
        let donor = donor.and_then(|place| old.get(place));
        let text = donor.and_then(|donor| heal_document(donor, document));
        *is_changed.entry(&document.path).or_default() |= text.is_some();
        let text = text.unwrap_or_else(|| document.origin.body().to_vec());
        let piece = (Some(document.origin.clone()), text);
        files.entry(&document.path).or_default().push(piece);
    }
    for (path, pieces) in files {
        let path = healed.paths().find(|known| known.as_str() == path).cloned();
        if let Some(path) = path.filter(|path| is_changed.get(path.as_str()) == Some(&true)) {
            // The path is that of a file already.
            let _ = healed.write(path, &rebuild(&pieces));
        }
    }
    healed
}

/// A document of a package.
struct Piece {
    path: String,
    identity: Identity,
    origin: Origin,
    tree: Document,
}

/// What a resource is called. A document without a name or a kind is no resource.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Identity {
    api_version: String,
    kind: String,
    namespace: String,
    name: String,
}

/// All documents that are resources, in the order of files.
fn documents(contents: &Contents) -> Vec<Piece> {
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
            let identity = Identity {
                api_version: meta.api_version.to_owned(),
                kind: meta.kind.to_owned(),
                namespace: meta.namespace.to_owned(),
                name: meta.name.to_owned(),
            };
            pieces.push(Piece {
                path: path.as_str().to_owned(),
                identity,
                origin,
                tree,
            });
        }
    }
    pieces
}

/// For each new document the old one that it was: the same resource in the same file, or else the only one of that name.
fn pair(old: &[Piece], new: &[Piece]) -> Vec<Option<usize>> {
    let mut here: HashMap<(&str, &Identity), Option<usize>> = HashMap::new();
    let mut anywhere: HashMap<&Identity, Option<usize>> = HashMap::new();
    for (place, piece) in old.iter().enumerate() {
        let is_resource = !piece.identity.kind.is_empty() && !piece.identity.name.is_empty();
        if is_resource {
            // What is there twice is nobody's.
            let only = |seen: &mut Option<usize>| *seen = None;
            let key = (piece.path.as_str(), &piece.identity);
            here.entry(key).and_modify(only).or_insert(Some(place));
            anywhere
                .entry(&piece.identity)
                .and_modify(only)
                .or_insert(Some(place));
        }
    }
    new.iter()
        .map(|piece| {
            let key = (piece.path.as_str(), &piece.identity);
            let found = here.get(&key).copied().flatten();
            found.or_else(|| anywhere.get(&piece.identity).copied().flatten())
        })
        .collect()
}

/// Whether all comments are gone, and not only they.
fn has_lost_all(old: &[Piece], new: &[Piece], pairs: &[Option<usize>]) -> bool {
    let mut has_lost = false;
    let mut is_changed = old.len() != new.len();
    for (new, donor) in new.iter().zip(pairs) {
        let Some(old) = donor.and_then(|place| old.get(place)) else {
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

/// The text with the comments of another document; none if it gets none.
fn heal_document(donor: &Piece, document: &Piece) -> Option<Vec<u8>> {
    let is_template = |piece: &Piece| {
        let body = String::from_utf8_lossy(piece.origin.body());
        body.contains("#@") || body.contains("#!")
    };
    if is_template(donor) || is_template(document) {
        return None;
    }
    let body = document.origin.body();
    let mut text = match document.path.ends_with(FILE_NAME) {
        true => KptfileText::read(body)?,
        false => KptfileText::read_resource(body)?,
    };
    copy_comments(&donor.tree, text.document_mut());
    let healed = text.changed()?;
    // A comment in a place where the encoder cannot write it is better lost than harmful.
    let read = parse_first(&healed).ok().flatten()?;
    read.root().value_eq(document.tree.root()).then_some(healed)
}

#[cfg(test)]
mod tests;
