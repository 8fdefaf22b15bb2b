//! A folder, and the attributes that all folders of a hierarchy share.

use kiln_krm::Resource;
use kiln_krm::annotations::{ID, INDEX, LEGACY_INDEX, LEGACY_PATH, PATH};
use kiln_yaml::{Document, NodeId, NodeRef};

use super::{HierarchyError, Order, References};
use crate::port::typescript_sdk::{Exception, JsType, js_type, set_text};

const GROUP: &str = "resourcemanager.cnrm.cloud.google.com";

/// The attributes that the folders of a hierarchy inherit.
pub(super) struct FolderSource<'a> {
    pub(super) references: References,
    pub(super) order: Order,
    /// The parent of the topmost folders.
    pub(super) parent: String,
    pub(super) is_organization: bool,
    pub(super) namespace: Option<NodeRef<'a>>,
    pub(super) annotations: Vec<(&'a str, NodeRef<'a>)>,
}

/// The field of an object; null and missing values are exceptions, other scalars have no fields.
pub(super) fn field<'a>(
    node: Option<NodeRef<'a>>,
    name: &str,
) -> Result<Option<NodeRef<'a>>, Exception> {
    match node.map(|node| (node, js_type(node))) {
        None => Err(Exception::no_property(name, "undefined")),
        Some((_, JsType::Null)) => Err(Exception::no_property(name, "null")),
        Some((node, _)) => Ok(node.get(name)),
    }
}

impl<'a> FolderSource<'a> {
    /// Reads a hierarchy since v1alpha2.
    pub(super) fn of(
        hierarchy: NodeRef<'a>,
        references: References,
        order: Order,
    ) -> Result<FolderSource<'a>, HierarchyError> {
        let parent = field(hierarchy.get("spec"), "parentRef")?;
        let parent = parent.ok_or(HierarchyError::UndefinedParent)?;
        let external = field(Some(parent), "external")?;
        let external = external.ok_or(HierarchyError::UndefinedParent)?;
        let kind = parent.get("kind").map(NodeRef::value);
        if !matches!(kind, None | Some("Organization" | "Folder")) {
            return Err(HierarchyError::UnsupportedParentKind);
        }
        let metadata = hierarchy.get("metadata");
        let annotations = metadata.and_then(|metadata| metadata.get("annotations"));
        let annotations = annotations.into_iter().flat_map(NodeRef::entries);
        Ok(FolderSource {
            references,
            order,
            parent: external.value().to_owned(),
            is_organization: kind != Some("Folder"),
            namespace: metadata.and_then(|metadata| metadata.get("namespace")),
            annotations: annotations
                .map(|(key, value)| (key.value(), value))
                .filter(|(key, _)| !NOT_INHERITED.contains(key))
                .collect(),
        })
    }

    /// The folder with this name and these ancestors; its display name may differ.
    pub(super) fn folder(
        &self,
        name: Option<&str>,
        shown: Option<NodeRef<'_>>,
        path: &[&str],
    ) -> Resource {
        let mut document = Document::new_mapping();
        let root = document.root().id();
        set(
            &mut document,
            root,
            "apiVersion",
            &format!("{GROUP}/v1beta1"),
        );
        set(&mut document, root, "kind", "Folder");
        let metadata = add_mapping(&mut document, root, "metadata");
        let whole = path.iter().copied().chain([name.unwrap_or_default()]);
        let whole: Vec<&str> = whole.collect();
        set(&mut document, metadata, "name", &normal(&whole.join(".")));
        let joined = path.join(".");
        let is_topmost = path.is_empty();
        let parent = match joined.as_str() {
            "" => self.parent.as_str(),
            joined => joined,
        };
        self.add_annotations(&mut document, metadata, parent, is_topmost);
        if let Some(namespace) = self.namespace {
            add_copy(&mut document, metadata, "namespace", namespace);
        }
        let spec = add_mapping(&mut document, root, "spec");
        match (shown, name) {
            (Some(shown), _) => add_copy(&mut document, spec, "displayName", shown),
            (None, Some(name)) => set(&mut document, spec, "displayName", name),
            (None, None) => {}
        }
        if self.references == References::Fields {
            let (field, key, value) = match (is_topmost, self.is_organization) {
                (true, true) => ("organizationRef", "external", parent.to_owned()),
                (true, false) => ("folderRef", "external", parent.to_owned()),
                (false, _) => ("folderRef", "name", normal(parent)),
            };
            let reference = add_mapping(&mut document, spec, field);
            set(&mut document, reference, key, &value);
        }
        Resource::new(document)
    }

    fn add_annotations(
        &self,
        document: &mut Document,
        metadata: NodeId,
        parent: &str,
        is_topmost: bool,
    ) {
        let own = match self.references {
            References::Annotations if is_topmost && self.is_organization => {
                Some(("cnrm.cloud.google.com/organization-id", normal(parent)))
            }
            References::Annotations => Some(("cnrm.cloud.google.com/folder-ref", normal(parent))),
            References::Fields if is_topmost || self.order == Order::Unspecified => None,
            References::Fields => self.namespace.map(|namespace| {
                let (namespace, parent) = (namespace.value(), normal(parent));
                let text = format!("{GROUP}/namespaces/{namespace}/Folder/{parent}");
                ("config.kubernetes.io/depends-on", text)
            }),
        };
        if self.annotations.is_empty() && own.is_none() {
            return;
        }
        let annotations = add_mapping(document, metadata, "annotations");
        for (key, value) in &self.annotations {
            match &own {
                // The field keeps its position and gets the new value.
                Some((name, text)) if name == key => set(document, annotations, key, text),
                _ => add_copy(document, annotations, key, *value),
            }
        }
        if let Some((key, value)) = own
            && document.node(annotations).get(key).is_none()
        {
            set(document, annotations, key, &value);
        }
    }
}

/// Annotations that are not inherited.
const NOT_INHERITED: [&str; 8] = [
    "config.kubernetes.io/local-config",
    "config.k8s.io/function",
    ID,
    "config.k8s.io/id",
    PATH,
    LEGACY_PATH,
    INDEX,
    LEGACY_INDEX,
];

/// A name with only the characters that Kubernetes allows.
fn normal(name: &str) -> String {
    let letter = |c: char| match c {
        '_' | ' ' => Some('-'),
        'a'..='z' | '0'..='9' | '.' | '-' => Some(c),
        _ => None,
    };
    name.to_lowercase().chars().filter_map(letter).collect()
}

fn set(document: &mut Document, parent: NodeId, key: &str, text: &str) {
    let (key, value) = (new_text(document, key), new_text(document, text));
    document.push_entry(parent, key, value);
}

fn new_text(document: &mut Document, text: &str) -> NodeId {
    let node = document.new_scalar("", "");
    set_text(document, node, text);
    node
}

fn add_mapping(document: &mut Document, parent: NodeId, key: &str) -> NodeId {
    let (key, value) = (new_text(document, key), document.new_mapping_node());
    document.push_entry(parent, key, value);
    value
}

fn add_copy(document: &mut Document, parent: NodeId, key: &str, value: NodeRef<'_>) {
    let (key, value) = (new_text(document, key), document.import(value));
    document.push_entry(parent, key, value);
}
