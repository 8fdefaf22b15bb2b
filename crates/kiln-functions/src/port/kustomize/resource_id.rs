//! Ids of resources, and selection by them.

use kiln_krm::Resource;
use kiln_krm::meta::Meta;
use kiln_yaml::NodeRef;

use super::decode::{ConfigShape, ConfigValue, FieldShape};
use super::field_spec::group_version;

/// A type, a name and a namespace. In a selector, empty parts match anything.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ResourceId {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) namespace: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "number of previous names, number of previous namespaces, number of previous kinds not equal"
)]
pub(crate) struct PreviousIdsError;

/// The annotation with the previous names of a resource.
pub(crate) const PREVIOUS_NAMES: &str = "internal.config.kubernetes.io/previousNames";
/// The annotation with the namespaces of the previous names.
pub(crate) const PREVIOUS_NAMESPACES: &str = "internal.config.kubernetes.io/previousNamespaces";
/// The annotation with the kinds of the previous names.
pub(crate) const PREVIOUS_KINDS: &str = "internal.config.kubernetes.io/previousKinds";

impl ResourceId {
    /// The current id of a resource.
    pub(crate) fn of(resource: NodeRef<'_>) -> ResourceId {
        let meta = Meta::of(resource);
        let (group, version) = group_version(meta.api_version);
        ResourceId {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: meta.kind.to_owned(),
            name: meta.name.to_owned(),
            namespace: meta.namespace.to_owned(),
        }
    }

    /// The previous ids of a resource, oldest first.
    pub(crate) fn previous(resource: &Resource) -> Result<Vec<ResourceId>, PreviousIdsError> {
        let keys = [PREVIOUS_NAMES, PREVIOUS_NAMESPACES, PREVIOUS_KINDS];
        ResourceId::previous_in(resource, keys)
    }

    /// The same from the given annotations with names, namespaces and kinds.
    pub(crate) fn previous_in(
        resource: &Resource,
        [names, namespaces, kinds]: [&str; 3],
    ) -> Result<Vec<ResourceId>, PreviousIdsError> {
        let Some(names) = resource.annotation(names) else {
            return Ok(Vec::new());
        };
        let parts = |key| resource.annotation(key).unwrap_or_default().split(',');
        let namespaces: Vec<&str> = parts(namespaces).collect();
        let kinds: Vec<&str> = parts(kinds).collect();
        let names: Vec<&str> = names.split(',').collect();
        if names.len() != namespaces.len() || names.len() != kinds.len() {
            return Err(PreviousIdsError);
        }
        let now = ResourceId::of(resource.root());
        let each = names.iter().zip(namespaces).zip(kinds);
        Ok(each
            .map(|((name, namespace), kind)| ResourceId {
                name: (*name).to_owned(),
                namespace: namespace.to_owned(),
                kind: kind.to_owned(),
                ..now.clone()
            })
            .collect())
    }

    /// The id of a selector in a configuration.
    pub(crate) fn read(value: &ConfigValue) -> ResourceId {
        let text = |key| value.field_text(key).to_owned();
        ResourceId {
            group: text("group"),
            version: text("version"),
            kind: text("kind"),
            name: text("name"),
            namespace: text("namespace"),
        }
    }

    /// Whether a selector selects this id. No namespace means the default namespace.
    pub(crate) fn is_selected_by(&self, selector: &ResourceId) -> bool {
        let fits = |wanted: &str, given: &str| wanted.is_empty() || wanted == given;
        let effective = |namespace: &str| match namespace {
            "" => "default".to_owned(),
            namespace => namespace.to_owned(),
        };
        fits(&selector.name, &self.name)
            && (selector.namespace.is_empty()
                || effective(&selector.namespace) == effective(&self.namespace))
            && fits(&selector.group, &self.group)
            && fits(&selector.version, &self.version)
            && fits(&selector.kind, &self.kind)
    }

    /// The id in the format of newer releases: `Kind.version.group/name.namespace`.
    pub(crate) fn text(&self) -> String {
        let or = |text: &str, missing: &str| match text {
            "" => missing.to_owned(),
            text => text.to_owned(),
        };
        format!(
            "{}.{}.{}/{}.{}",
            or(&self.kind, "[noKind]"),
            or(&self.version, "[noVer]"),
            or(&self.group, "[noGrp]"),
            or(&self.name, "[noName]"),
            or(&self.namespace, "[noNs]")
        )
    }

    /// The id in the format of older releases: `group_version_kind|namespace|name`.
    pub(crate) fn former_text(&self) -> String {
        let or = |text: &str, missing: &str| match text {
            "" => missing.to_owned(),
            text => text.to_owned(),
        };
        format!(
            "{}_{}_{}|{}|{}",
            or(&self.group, "~G"),
            or(&self.version, "~V"),
            or(&self.kind, "~K"),
            or(&self.namespace, "~X"),
            or(&self.name, "~N")
        )
    }
}

/// The fields of a selector's id, in the structs that declare them.
pub(crate) const fn id_field(name: &'static str, embedded_in: &'static str) -> FieldShape {
    FieldShape {
        name,
        embedded_in: Some(embedded_in),
        shape: ConfigShape::Text,
    }
}
