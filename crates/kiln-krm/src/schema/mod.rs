//! The types of Kubernetes resources: fields, lists that are merged by keys, scopes.
//!
//! The facts are those that kyaml has built in, so that lists are matched as kpt and kustomize match them; they come
//! from `table.txt`, which `tools/schema` writes. Custom resources are not known, and nothing is ever fetched.
//! The table is read once, when first needed.

mod table;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::OnceLock;

use kiln_yaml::{Kind, ListKeys, NodeRef, Style, TypeId};

/// The scope of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    Namespaced,
    Cluster,
}

/// The type of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Named fields, each with its type, sorted by name.
    Object(Vec<(&'static str, TypeId)>),
    /// Any keys, with values of one type.
    Map(TypeId),
    /// A list of items of one type; with keys if it is merged item by item, by value if there are no key names.
    List {
        item: TypeId,
        /// The fields that identify items.
        keys: Option<Vec<&'static str>>,
    },
    String,
    Integer,
    Boolean,
    Number,
    /// A number or text, as with ports.
    IntegerOrString,
    Any,
}

/// The types of Kubernetes resources as a graph.
#[derive(Debug)]
pub struct Schema {
    shapes: Vec<Shape>,
    names: HashMap<&'static str, TypeId>,
    resources: HashMap<(&'static str, &'static str), (TypeId, Option<Scope>)>,
    any: TypeId,
}

impl Schema {
    /// The types that kyaml has built in.
    pub fn builtin() -> &'static Schema {
        static BUILTIN: OnceLock<Schema> = OnceLock::new();
        BUILTIN.get_or_init(|| table::read(include_str!("table.txt")))
    }

    pub fn shape(&self, of: TypeId) -> &Shape {
        self.shapes.get(of.0 as usize).unwrap_or(&Shape::Any)
    }

    /// The type with this OpenAPI name, as `io.k8s.api.core.v1.PodSpec`.
    pub fn named(&self, name: &str) -> Option<TypeId> {
        self.names.get(name).copied()
    }

    /// The OpenAPI name of a type, if it has one.
    pub fn name(&self, of: TypeId) -> Option<&'static str> {
        let mut names = self.names.iter();
        names
            .find(|(_, named)| **named == of)
            .map(|(name, _)| *name)
    }

    /// The API versions and kinds of the resources of a type, sorted.
    pub fn resources_of(&self, of: TypeId) -> Vec<(&'static str, &'static str)> {
        let resources = self.resources.iter();
        let mut resources: Vec<_> = resources
            .filter(|(_, (resource, _))| *resource == of)
            .map(|(resource, _)| *resource)
            .collect();
        resources.sort_unstable();
        resources
    }

    /// The scope of a kind; `None` if it is unknown.
    pub fn scope(&self, api_version: &str, kind: &str) -> Option<Scope> {
        self.resources.get(&(api_version, kind))?.1
    }
}

impl ListKeys for Schema {
    fn resource(&self, api_version: &str, kind: &str) -> Option<TypeId> {
        Some(self.resources.get(&(api_version, kind))?.0)
    }

    fn field(&self, of: TypeId, name: &str) -> Option<TypeId> {
        match self.shape(of) {
            Shape::Object(fields) => {
                let place = fields
                    .binary_search_by_key(&name, |(field, _)| field)
                    .ok()?;
                fields.get(place).map(|(_, of)| *of)
            }
            Shape::Map(value) => Some(*value),
            _ => None,
        }
    }

    fn item(&self, of: TypeId) -> Option<TypeId> {
        match self.shape(of) {
            Shape::List { item, .. } => Some(*item),
            _ => None,
        }
    }

    fn keys(&self, of: TypeId) -> Option<&[&str]> {
        match self.shape(of) {
            Shape::List { keys, .. } => keys.as_deref(),
            _ => None,
        }
    }

    /// A JSON object in a comment stands in for the type: with a `$ref` to a known type, that one, otherwise one
    /// without information about lists. Schemas written out in the comment are not supported.
    fn declared(&self, comment: &str) -> Option<TypeId> {
        let text = comment.trim();
        if !text.starts_with('{') || !text.ends_with('}') || text.contains('\n') {
            return None;
        }
        let doc = kiln_yaml::parse(text).ok()??;
        let root = doc.root();
        if root.is_empty() || !is_json(root) {
            return None;
        }
        let name = root.get("$ref").and_then(NodeRef::as_text);
        let name = name.and_then(|name| name.strip_prefix("#/definitions/"));
        Some(name.and_then(|name| self.named(name)).unwrap_or(self.any))
    }
}

/// Whether a flow mapping could have been read as JSON: keys and texts in double quotes.
pub fn is_json(root: NodeRef<'_>) -> bool {
    let quoted = |node: NodeRef<'_>| node.is_scalar() && node.style() == Style::DOUBLE_QUOTED;
    let mut fits = true;
    root.visit(|visit| {
        fits &= visit.key().is_none_or(quoted);
        fits &= match visit.node.kind() {
            Kind::Scalar => quoted(visit.node) || visit.node.tag() != "!!str",
            Kind::Mapping | Kind::Sequence => true,
            Kind::Alias => false,
        };
    });
    fits
}
