//! The marks by which a resource is known to come from upstream: a comment at `metadata` and an annotation.
//!
//! A comment `# kpt-merge: namespace/name` says what the resource was called when it was cloned, so that it is found again
//! after it has been renamed. Marks are ours and not the user's, so they never count as a change.

use kiln_krm::kptfile::{self, KptfileText};
use kiln_krm::meta::Meta;
use kiln_krm::read::{FileOptions, read_file};
use kiln_yaml::{Document, NodeRef, Slot};

use super::comments::add_above;
use super::file::{is_resource_file, rebuild};
use crate::contents::{Contents, FileMode};

/// Annotation: what the resource was in the package it was first cloned from, as `group|kind|namespace|name`.
pub const UPSTREAM_IDENTIFIER: &str = "internal.kpt.dev/upstream-identifier";
/// Annotation that the renderer sets on resources of Config Connector.
const ATTRIBUTION: &str = "cnrm.cloud.google.com/blueprint";

const PREFIX: &str = "kpt-merge:";

/// Puts the marks on all resources that have none. What cannot be read, or cannot be written with marks, stays as it is.
pub fn add_merge_keys(contents: &mut Contents) {
    let paths: Vec<_> = contents.paths().cloned().collect();
    for path in paths {
        let is_kptfile = path.name() == kptfile::FILE_NAME;
        let file = contents.get(path.as_str());
        let Some(file) = file.filter(|file| file.mode != FileMode::Symlink) else {
            continue;
        };
        let marked = if is_kptfile {
            mark_text(KptfileText::read(&file.bytes), false)
        } else if is_resource_file(path.name()) {
            mark_file(path.as_str(), &file.bytes)
        } else {
            None
        };
        if let Some(bytes) = marked {
            // The path is that of a file already.
            let _ = contents.write(path, &bytes);
        }
    }
}

fn mark_file(path: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let documents = read_file(path, bytes.to_vec(), &FileOptions::default()).ok()?;
    let mut is_changed = false;
    let pieces: Vec<_> = documents
        .iter()
        .filter_map(|resource| {
            let origin = resource.origin()?;
            let marked = mark_text(KptfileText::read_resource(origin.body()), true);
            is_changed |= marked.is_some();
            let body = marked.unwrap_or_else(|| origin.body().to_vec());
            Some((Some(origin.clone()), body))
        })
        .collect();
    is_changed.then(|| rebuild(&pieces))
}

/// The text with marks; none if it has them, or would not read as what it is any more.
fn mark_text(text: Option<KptfileText>, with_comment: bool) -> Option<Vec<u8>> {
    let mut text = text?;
    let before = Document::from_node(text.document().root());
    let root = text.document().root();
    let meta = Meta::of(root);
    let has_labels = root
        .get_path(&["metadata", "labels"])
        .is_some_and(|labels| labels.is_mapping() && !labels.is_empty());
    if !root.is_mapping() || (meta.name.is_empty() && meta.namespace.is_empty() && !has_labels) {
        return None;
    }
    let (key, _) = root.entry("metadata")?;
    let key = key.id();
    let comment = merge_comment(root);
    let (namespace, name) = comment
        .as_ref()
        .map_or((meta.namespace, meta.name), |(namespace, name)| {
            (namespace.as_str(), name.as_str())
        });
    let group = meta
        .api_version
        .split_once('/')
        .map_or("", |(group, _)| group);
    let shown = if namespace.is_empty() {
        "default"
    } else {
        namespace
    };
    let identifier = format!("{group}|{}|{shown}|{name}", meta.kind);
    let new_comment = format!("# {PREFIX} {}/{}", meta.namespace, meta.name);
    let present = root.document().node(key).comment(Slot::Line).to_owned();
    let is_marked = kiln_krm::meta::annotation(root, UPSTREAM_IDENTIFIER) == Some(&identifier);
    let doc = text.document_mut();
    if with_comment && !present.contains(PREFIX) {
        if !present.is_empty() {
            add_above(doc, key, &present);
        }
        doc.set_comment(key, Slot::Line, &new_comment);
    }
    if !is_marked {
        let set = doc
            .root_mut()
            .set_annotation(UPSTREAM_IDENTIFIER, &identifier);
        set.ok()?;
    }
    let bytes = text.changed()?;
    let mut after = kiln_yaml::parse_first(&bytes).ok()??;
    let is_found = !with_comment || merge_comment(after.root()).is_some();
    let mut before = before;
    strip_marks(&mut before);
    strip_marks(&mut after);
    (is_found && before.root().value_eq(after.root())).then_some(bytes)
}

/// Namespace and name in the comment at `metadata`; none if there is no such comment or it makes no sense.
pub(super) fn merge_comment(root: NodeRef<'_>) -> Option<(String, String)> {
    let (key, _) = root.entry("metadata")?;
    let comment = key.comment(Slot::Line).trim_start_matches('#').trim();
    let (namespace, name) = comment.strip_prefix(PREFIX)?.trim().split_once('/')?;
    Some((namespace.to_owned(), name.to_owned()))
}

/// Takes the marks off.
pub(super) fn strip_marks(doc: &mut Document) {
    let root = doc.root();
    let Some((key, metadata)) = root.entry("metadata") else {
        return;
    };
    let (key, metadata) = (key.id(), metadata.id());
    if doc.node(key).comment(Slot::Line).contains(PREFIX) {
        doc.set_comment(key, Slot::Line, "");
    }
    for annotation in [UPSTREAM_IDENTIFIER, ATTRIBUTION] {
        if kiln_krm::meta::annotation(doc.root(), annotation).is_none() {
            continue;
        }
        // Only an annotation that is there is removed, so the path is one of mappings.
        let _ = doc.root_mut().clear_annotation(annotation);
        let annotations = doc.node(metadata).entry("annotations");
        if let Some((key, value)) = annotations.filter(|(_, value)| value.is_empty()) {
            let gone = [key.id(), value.id()];
            let mut children = doc.child_ids(metadata);
            children.retain(|child| !gone.contains(child));
            doc.set_children(metadata, &children);
        }
    }
}

/// Puts the marks of another tree on a tree that has none.
pub(super) fn adopt_marks(doc: &mut Document, from: NodeRef<'_>) {
    let line = from
        .entry("metadata")
        .map(|(key, _)| key.comment(Slot::Line));
    if let (Some(line), Some((key, _))) = (line, doc.root().entry("metadata"))
        && line.contains(PREFIX)
    {
        let (key, present) = (key.id(), key.comment(Slot::Line).to_owned());
        if !present.is_empty() {
            add_above(doc, key, &present);
        }
        doc.set_comment(key, Slot::Line, line);
    }
    if let Some(identifier) = kiln_krm::meta::annotation(from, UPSTREAM_IDENTIFIER) {
        // A tree whose metadata is no mapping has no place for it.
        let _ = doc
            .root_mut()
            .set_annotation(UPSTREAM_IDENTIFIER, identifier);
    }
}
