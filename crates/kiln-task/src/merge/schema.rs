//! Which lists are merged by items: those of Kubernetes' types, and those that CRDs of the packages define.
//!
//! Nothing is kept between merges, because the CRDs of one package do not apply to another.

use std::collections::HashMap;

use kiln_krm::schema::Schema;
use kiln_yaml::{ListKeys, NodeRef, TypeId};

/// The types of one merge.
#[derive(Debug, Default)]
pub(super) struct ListTypes {
    custom: Vec<Custom>,
    resources: HashMap<(String, String), TypeId>,
}

/// A type from a CRD.
#[derive(Debug, Default)]
struct Custom {
    fields: HashMap<String, TypeId>,
    values: Option<TypeId>,
    item: Option<TypeId>,
    keys: Option<Vec<String>>,
}

/// The first id of types from CRDs.
const FIRST_CUSTOM: u32 = 1 << 30;

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

impl ListTypes {
    /// Adds the types of a CRD. If a type is defined twice, the later definition counts.
    pub(super) fn add(&mut self, resource: NodeRef<'_>) {
        let text = |node: NodeRef<'_>, path: &[&str]| {
            let text = node.get_path(path).and_then(NodeRef::as_text);
            text.map(str::to_owned)
        };
        if text(resource, &["kind"]).as_deref() != Some("CustomResourceDefinition") {
            return;
        }
        let group = text(resource, &["spec", "group"]);
        let kind = text(resource, &["spec", "names", "kind"]);
        let (Some(group), Some(kind)) = (group, kind) else {
            return;
        };
        let common = resource.get_path(&["spec", "validation", "openAPIV3Schema"]);
        let versions = resource.get_path(&["spec", "versions"]);
        for version in versions.into_iter().flat_map(NodeRef::items) {
            let schema = version.get_path(&["schema", "openAPIV3Schema"]).or(common);
            if let (Some(name), Some(schema)) = (text(version, &["name"]), schema) {
                let of = self.read(schema);
                let metadata = Schema::builtin().named(OBJECT_META);
                if let (Some(root), Some(metadata)) = (self.custom_mut(of), metadata) {
                    root.fields.insert("metadata".to_owned(), metadata);
                }
                self.resources
                    .insert((format!("{group}/{name}"), kind.clone()), of);
            }
        }
    }

    /// The type that a schema in a comment declares; `None` if it does not mention lists.
    pub(super) fn declared(&mut self, schema: NodeRef<'_>) -> Option<TypeId> {
        let is_schema = ["properties", "items", "x-kubernetes-patch-strategy"]
            .into_iter()
            .any(|key| schema.get(key).is_some());
        referred(schema).or_else(|| is_schema.then(|| self.read(schema)))
    }

    fn read(&mut self, schema: NodeRef<'_>) -> TypeId {
        let top = self.new_type();
        let mut pending = vec![(schema, top)];
        while let Some((schema, of)) = pending.pop() {
            let mut custom = Custom {
                keys: keys_of(schema),
                ..Custom::default()
            };
            let mut child = |types: &mut ListTypes, schema| {
                if let Some(of) = referred(schema) {
                    return of;
                }
                let of = types.new_type();
                pending.push((schema, of));
                of
            };
            for (name, field) in schema
                .get("properties")
                .into_iter()
                .flat_map(NodeRef::entries)
            {
                let field = child(self, field);
                custom.fields.insert(name.value().to_owned(), field);
            }
            custom.values = schema
                .get("additionalProperties")
                .filter(|values| values.is_mapping())
                .map(|values| child(self, values));
            custom.item = schema.get("items").map(|item| child(self, item));
            if let Some(index) = self.custom_mut(of) {
                *index = custom;
            }
        }
        top
    }

    fn new_type(&mut self) -> TypeId {
        let of = TypeId(FIRST_CUSTOM + self.custom.len() as u32);
        self.custom.push(Custom::default());
        of
    }

    fn custom(&self, of: TypeId) -> Option<&Custom> {
        self.custom.get(of.0.checked_sub(FIRST_CUSTOM)? as usize)
    }

    fn custom_mut(&mut self, of: TypeId) -> Option<&mut Custom> {
        self.custom
            .get_mut(of.0.checked_sub(FIRST_CUSTOM)? as usize)
    }

    /// The type of a resource.
    pub(super) fn resource(&self, resource: NodeRef<'_>) -> Option<TypeId> {
        let text = |key| resource.get(key).and_then(NodeRef::as_text);
        let (api_version, kind) = (text("apiVersion")?, text("kind")?);
        let custom = (api_version.to_owned(), kind.to_owned());
        let custom = self.resources.get(&custom).copied();
        custom.or_else(|| Schema::builtin().resource(api_version, kind))
    }

    pub(super) fn field(&self, of: TypeId, name: &str) -> Option<TypeId> {
        match self.custom(of) {
            Some(custom) => custom.fields.get(name).copied().or(custom.values),
            None => Schema::builtin().field(of, name),
        }
    }

    pub(super) fn item(&self, of: TypeId) -> Option<TypeId> {
        match self.custom(of) {
            Some(custom) => custom.item,
            None => Schema::builtin().item(of),
        }
    }

    /// The keys of a list; empty for a set, `None` for a list that is merged as a whole.
    pub(super) fn keys(&self, of: TypeId) -> Option<Vec<String>> {
        match self.custom(of) {
            Some(custom) => custom.keys.clone(),
            None => {
                let keys = Schema::builtin().keys(of)?;
                Some(keys.iter().map(|key| (*key).to_owned()).collect())
            }
        }
    }
}

/// The type of Kubernetes that a schema refers to.
fn referred(schema: NodeRef<'_>) -> Option<TypeId> {
    let name = schema.get("$ref").and_then(NodeRef::as_text)?;
    Schema::builtin().named(name.strip_prefix("#/definitions/")?)
}

/// The keys of a list in a CRD, from the extensions of server-side apply or of strategic merge patches.
fn keys_of(schema: NodeRef<'_>) -> Option<Vec<String>> {
    let text = |key| schema.get(key).and_then(NodeRef::as_text);
    let merges = text("x-kubernetes-patch-strategy")
        .is_some_and(|strategy| strategy.split(',').any(|word| word == "merge"));
    match text("x-kubernetes-list-type") {
        Some("set") => return Some(Vec::new()),
        Some("map") => {}
        _ if merges => {}
        _ => return None,
    }
    let listed = schema.get("x-kubernetes-list-map-keys");
    let mut keys: Vec<String> = listed
        .into_iter()
        .flat_map(NodeRef::items)
        .map(|key| key.value().to_owned())
        .collect();
    if keys.is_empty() {
        keys.extend(text("x-kubernetes-patch-merge-key").map(str::to_owned));
    }
    (!keys.is_empty() || merges).then_some(keys)
}
