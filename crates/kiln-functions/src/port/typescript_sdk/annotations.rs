//! The two families of path, index and id annotations, as the SDK synchronizes them.

use kiln_krm::annotations::{ID, INDEX, LEGACY_INDEX, LEGACY_PATH, PATH};
use kiln_yaml::{Document, NodeId, NodeRef};

use super::objects::Objects;
use super::style::{new_key, set_text};
use super::{Exception, JsType, js_type};

/// (internal key, legacy key); the legacy key for ids differs from kyaml's.
const PAIRS: [(&str, &str); 3] = [
    (PATH, LEGACY_PATH),
    (INDEX, LEGACY_INDEX),
    (ID, "config.k8s.io/id"),
];

/// Runs a function, and gives every object the families of the input.
pub(crate) fn in_step(
    objects: &mut Objects,
    work: impl FnOnce(&mut Objects) -> Result<(), Exception>,
) -> Result<(), Exception> {
    for object in objects.iter() {
        check(object.root())?;
    }
    let families = families(objects);
    work(objects)?;
    let families = families?;
    for document in objects.documents_mut() {
        let Some(metadata) = document.root().get("metadata").map(|node| node.id()) else {
            continue;
        };
        complete(document);
        for (internal, legacy) in PAIRS {
            if !families.internal {
                remove(document, internal);
            }
            if !families.legacy {
                remove(document, legacy);
            }
        }
        check(document.root())?;
        remove_empty(document, metadata);
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct JsAnnotationFamilies {
    internal: bool,
    legacy: bool,
}

/// The value of an annotation that is not empty.
fn given<'a>(object: NodeRef<'a>, key: &str) -> Option<&'a str> {
    let annotations = object.get("metadata")?.get("annotations")?;
    annotations
        .get(key)
        .map(NodeRef::value)
        .filter(|text| !text.is_empty())
}

fn check(object: NodeRef<'_>) -> Result<(), Exception> {
    for (internal, legacy) in PAIRS {
        let both = given(object, internal).zip(given(object, legacy));
        if both.is_some_and(|(internal, legacy)| internal != legacy) {
            let text = "Error: the legacy and internal annotation values mismatch";
            return Err(Exception(text.to_owned()));
        }
    }
    Ok(())
}

fn families(objects: &Objects) -> Result<JsAnnotationFamilies, Exception> {
    let mut seen: Option<JsAnnotationFamilies> = None;
    for object in objects.iter() {
        let root = object.root();
        let internal = PAIRS.iter().any(|(key, _)| given(root, key).is_some());
        let legacy = PAIRS.iter().any(|(_, key)| given(root, key).is_some());
        if !internal && !legacy {
            continue;
        }
        let families = seen.get_or_insert(JsAnnotationFamilies { internal, legacy });
        // A family can be added later, but not removed.
        families.internal |= internal;
        families.legacy |= legacy;
        if families.internal != internal || families.legacy != legacy {
            let text = "Error: the legacy and internal annotation formats mismatch";
            return Err(Exception(text.to_owned()));
        }
    }
    Ok(seen.unwrap_or(JsAnnotationFamilies {
        internal: true,
        legacy: true,
    }))
}

/// Sets the missing annotation of each pair.
fn complete(document: &mut Document) {
    for (internal, legacy) in PAIRS {
        let root = document.root();
        let missing = match (given(root, internal), given(root, legacy)) {
            (Some(value), None) => (legacy, value.to_owned()),
            (None, Some(value)) => (internal, value.to_owned()),
            _ => continue,
        };
        set(document, missing);
    }
}

fn annotations(document: &Document) -> Option<NodeId> {
    let annotations = document.root().get("metadata")?.get("annotations")?;
    annotations.is_mapping().then(|| annotations.id())
}

fn set(document: &mut Document, (key, value): (&str, String)) {
    let Some(annotations) = annotations(document) else {
        return;
    };
    let old = document.node(annotations).get(key).map(|node| node.id());
    let node = old.unwrap_or_else(|| {
        let (key, node) = (new_key(document, key), document.new_scalar("", ""));
        document.push_entry(annotations, key, node);
        node
    });
    set_text(document, node, &value);
}

fn remove(document: &mut Document, key: &str) {
    let Some(annotations) = annotations(document) else {
        return;
    };
    if given(document.root(), key).is_some() {
        remove_field(document, annotations, key);
    }
}

fn remove_empty(document: &mut Document, metadata: NodeId) {
    let annotations = document.node(metadata).get("annotations");
    let is_empty = annotations
        .is_some_and(|node| js_type(node) == JsType::Null || node.is_mapping() && node.is_empty());
    if is_empty {
        remove_field(document, metadata, "annotations");
    }
}

fn remove_field(document: &mut Document, mapping: NodeId, field: &str) {
    let entries = document.node(mapping).entries();
    let children: Vec<NodeId> = entries
        .filter(|(key, _)| key.value() != field)
        .flat_map(|(key, value)| [key.id(), value.id()])
        .collect();
    document.set_children(mapping, &children);
}
