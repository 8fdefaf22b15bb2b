//! The marks of resources from an upstream: a comment at `metadata` and an annotation.
//!
//! A comment `# kpt-merge: namespace/name` keeps the name that the resource had when it was cloned, so that it is recognised
//! after it has been renamed. Marks never count as a change.

use kiln_krm::EditableText;
use kiln_krm::kptfile;
use kiln_krm::meta::Meta;
use kiln_krm::read::{FileOptions, read_file};
use kiln_yaml::{Document, NodeRef, Slot};

use super::comments::add_above;
use super::file::{is_resource_file, rebuild};
use crate::contents::{Contents, FileMode};

/// The annotation with the identity of the resource in the first upstream, as `group|kind|namespace|name`.
const UPSTREAM_IDENTIFIER: &str = "internal.kpt.dev/upstream-identifier";
/// The annotation that kpt sets on resources of the Config Connector.
const ATTRIBUTION: &str = "cnrm.cloud.google.com/blueprint";

const PREFIX: &str = "kpt-merge:";

/// Whether resources of the Config Connector are marked as coming from a package.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Attribution {
    #[default]
    Add,
    /// The user has disabled it.
    Leave,
}

/// Adds the marks to all resources without them, and the attribution annotation. Kptfiles are not marked.
pub(crate) fn add_resource_marks(contents: &mut Contents, attribution: Attribution) {
    add_marks(contents, MarkedKptfiles::Leave, attribution);
}

/// Adds the marks to all resources and Kptfiles without them. Files that cannot be parsed or marked stay unchanged.
pub(crate) fn add_merge_keys(contents: &mut Contents) {
    add_marks(contents, MarkedKptfiles::Mark, Attribution::Leave);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MarkedKptfiles {
    Mark,
    Leave,
}

fn add_marks(contents: &mut Contents, kptfiles: MarkedKptfiles, attribution: Attribution) {
    let paths: Vec<_> = contents.paths().cloned().collect();
    for path in paths {
        let is_kptfile = path.name() == kptfile::FILE_NAME;
        if is_kptfile && kptfiles == MarkedKptfiles::Leave {
            continue;
        }
        let file = contents.get(path.as_str());
        let Some(file) = file.filter(|file| file.mode != FileMode::Symlink) else {
            continue;
        };
        let marked = if is_kptfile {
            mark_text(EditableText::read_kptfile(&file.bytes), false, attribution)
        } else if is_resource_file(path.name()) {
            mark_file(path.as_str(), &file.bytes, attribution)
        } else {
            None
        };
        if let Some(bytes) = marked {
            // The path is valid because it is the path of an existing file.
            let _ = contents.write(path, &bytes);
        }
    }
}

fn mark_file(path: &str, bytes: &[u8], attribution: Attribution) -> Option<Vec<u8>> {
    let documents = read_file(path, bytes.to_vec(), &FileOptions::default()).ok()?;
    let mut is_changed = false;
    let pieces: Vec<_> = documents
        .iter()
        .filter_map(|resource| {
            let origin = resource.origin()?;
            let text = EditableText::read_resource(origin.body());
            let marked = mark_text(text, true, attribution);
            is_changed |= marked.is_some();
            let body = marked.unwrap_or_else(|| origin.body().to_vec());
            Some((Some(origin.clone()), body))
        })
        .collect();
    is_changed.then(|| rebuild(&pieces))
}

/// The text with marks; `None` if it has them already, or would parse differently with them.
fn mark_text(
    text: Option<EditableText>,
    with_comment: bool,
    attribution: Attribution,
) -> Option<Vec<u8>> {
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
    let identifier = upstream_identifier(root);
    let new_comment = format!("# {PREFIX} {}/{}", meta.namespace, meta.name);
    let present = root.document().node(key).comment(Slot::Line).to_owned();
    let is_marked = kiln_krm::meta::annotation(root, UPSTREAM_IDENTIFIER) == Some(&identifier);
    let blueprint = new_attribution(root).filter(|_| attribution == Attribution::Add);
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
    if let Some(blueprint) = blueprint {
        doc.root_mut()
            .set_annotation(ATTRIBUTION, &blueprint)
            .ok()?;
    }
    let bytes = text.changed()?;
    let mut after = kiln_yaml::parse_first(&bytes).ok()??;
    let is_found = !with_comment || merge_comment(after.root()).is_some();
    let mut before = before;
    strip_marks(&mut before);
    strip_marks(&mut after);
    (is_found && before.root().value_eq(after.root())).then_some(bytes)
}

/// Adds the marks to a tree as kpt does: whatever comment was at `metadata` is replaced.
pub(super) fn mark_document(doc: &mut Document, attribution: Attribution) {
    let root = doc.root();
    let meta = Meta::of(root);
    let has_labels = root
        .get_path(&["metadata", "labels"])
        .is_some_and(|labels| labels.is_mapping() && !labels.is_empty());
    let is_anonymous = meta.name.is_empty() && meta.namespace.is_empty() && !has_labels;
    let Some((key, metadata)) = root.entry("metadata") else {
        return;
    };
    let new_comment = format!("# {PREFIX} {}/{}", meta.namespace, meta.name);
    let (key, has_metadata) = (key.id(), !metadata.is_empty());
    if !is_anonymous {
        if !doc.node(key).comment(Slot::Line).contains(PREFIX) {
            doc.set_comment(key, Slot::Line, &new_comment);
        }
        let identifier = upstream_identifier(doc.root());
        // Not possible if the annotations are not a mapping; then the resource stays without.
        let _ = doc
            .root_mut()
            .set_annotation(UPSTREAM_IDENTIFIER, &identifier);
    }
    let blueprint = new_attribution(doc.root());
    if let Some(blueprint) = blueprint.filter(|_| has_metadata && attribution == Attribution::Add) {
        let _ = doc.root_mut().set_annotation(ATTRIBUTION, &blueprint);
    }
}

/// The value of [`UPSTREAM_IDENTIFIER`], from the comment if there is one.
fn upstream_identifier(root: NodeRef<'_>) -> String {
    let meta = Meta::of(root);
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
    let namespace = match namespace {
        "" => "default",
        _ if meta.namespace == NOT_A_NAMESPACE => "~C",
        namespace => namespace,
    };
    format!("{group}|{}|{namespace}|{name}", meta.kind)
}

/// kustomize's namespace of resources that have none.
const NOT_A_NAMESPACE: &str = "_non_namespaceable_";

/// The new value of [`ATTRIBUTION`]; `None` if the resource does not get one or has it already.
fn new_attribution(root: NodeRef<'_>) -> Option<String> {
    if !Meta::of(root).api_version.contains(".cnrm.") {
        return None;
    }
    let present = kiln_krm::meta::annotation(root, ATTRIBUTION).unwrap_or_default();
    let new = if present.is_empty() {
        "krm-pkg".to_owned()
    } else if !present.contains("krm-") {
        format!("{present},krm-pkg")
    } else {
        let part = |part: &str| match part.contains("krm") {
            false => part.to_owned(),
            true => {
                let groups = ["fn", "live"]
                    .into_iter()
                    .filter(|group| part.contains(group));
                let groups: Vec<&str> = ["krm", "pkg"].into_iter().chain(groups).collect();
                groups.join("-")
            }
        };
        let parts: Vec<String> = present.split(',').map(part).collect();
        parts.join(",")
    };
    (new != present).then_some(new)
}

/// Namespace and name in the comment at `metadata`; `None` if there is no valid comment.
pub(super) fn merge_comment(root: NodeRef<'_>) -> Option<(String, String)> {
    let (key, _) = root.entry("metadata")?;
    let comment = key.comment(Slot::Line).trim_start_matches('#').trim();
    let (namespace, name) = comment.strip_prefix(PREFIX)?.trim().split_once('/')?;
    Some((namespace.to_owned(), name.to_owned()))
}

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
        // An existing annotation can always be removed.
        let _ = doc.root_mut().clear_annotation(annotation);
        let annotations = doc.node(metadata).entry("annotations");
        if let Some((key, value)) = annotations.filter(|(_, value)| value.is_empty()) {
            let removed = [key.id(), value.id()];
            let mut children = doc.child_ids(metadata);
            children.retain(|child| !removed.contains(child));
            doc.set_children(metadata, &children);
        }
    }
}

/// Copies the marks of another tree.
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
        // Not possible if `metadata` is not a mapping.
        let _ = doc
            .root_mut()
            .set_annotation(UPSTREAM_IDENTIFIER, identifier);
    }
}
