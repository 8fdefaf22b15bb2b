//! The objects of a function, sorted by key.

use std::collections::BTreeMap;

use kiln_krm::Resource;
use kiln_yaml::{Document, NodeRef};

use super::document::through_js_yaml;
use super::{Exception, JsType, js_type};
use crate::budget::is_stopped;

/// Inserting an object replaces the one with the same key.
#[derive(Default)]
pub(crate) struct Objects {
    by_key: BTreeMap<String, Resource>,
}

impl Objects {
    /// Converts resources, by way of js-yaml.
    pub(crate) fn new(items: Vec<Resource>) -> Result<Objects, Exception> {
        let mut objects = Objects::default();
        for mut item in items {
            if is_stopped() {
                break;
            }
            let document = through_js_yaml(item.document())?;
            *item.document_mut() = document;
            objects.insert(item)?;
        }
        Ok(objects)
    }

    pub(crate) fn insert(&mut self, object: Resource) -> Result<(), Exception> {
        let key = key(object.root())?;
        self.by_key.insert(key, object);
        Ok(())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Resource> {
        self.by_key.values()
    }

    pub(super) fn documents_mut(&mut self) -> impl Iterator<Item = &mut Document> {
        self.by_key.values_mut().map(Resource::document_mut)
    }

    pub(crate) fn into_items(self) -> Vec<Resource> {
        self.by_key.into_values().collect()
    }
}

fn key(object: NodeRef<'_>) -> Result<String, Exception> {
    let metadata = object.get("metadata");
    let metadata = match metadata.map(|metadata| (metadata, js_type(metadata))) {
        None => return Err(Exception::no_property("namespace", "undefined")),
        Some((_, JsType::Null)) => return Err(Exception::no_property("namespace", "null")),
        Some((metadata, _)) => metadata,
    };
    let text = |node: Option<NodeRef<'_>>| node.map_or("undefined", NodeRef::value).to_owned();
    let namespace = metadata.get("namespace");
    let namespace = namespace.filter(|node| {
        let is_false = js_type(*node) == JsType::Boolean && node.value() == "false";
        js_type(*node) != JsType::Null && !is_false
    });
    Ok([
        text(object.get("apiVersion")),
        text(object.get("kind")),
        namespace.map(NodeRef::value).unwrap_or_default().to_owned(),
        text(metadata.get("name")),
    ]
    .join("/"))
}
