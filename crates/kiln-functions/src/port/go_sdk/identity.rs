//! The identity of a resource, and its origin.

use kiln_krm::annotations::{INDEX, LOCAL_CONFIG, PATH};
use kiln_krm::results::{File, ResourceRef, ResultItem, Severity};
use kiln_yaml::NodeRef;

use super::field::{nested, nested_text};
use super::scope;

/// The annotation with the identity of a resource in the upstream package.
pub const UPSTREAM_IDENTIFIER: &str = "internal.kpt.dev/upstream-identifier";

/// The namespace of a namespaced resource without one.
pub const DEFAULT_NAMESPACE: &str = "default";

/// The namespace of a cluster-scoped resource, or one of unknown scope.
pub const UNKNOWN_NAMESPACE: &str = "~C";

/// The identity of a resource, without its version.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ResourceIdentity<'a> {
    pub group: &'a str,
    pub kind: &'a str,
    /// The namespace, or [`DEFAULT_NAMESPACE`], or [`UNKNOWN_NAMESPACE`].
    pub namespace: &'a str,
    pub name: &'a str,
}

/// The string at a path; empty if it is missing.
pub fn text<'a>(resource: NodeRef<'a>, path: &[&str]) -> &'a str {
    nested_text(resource, path)
        .ok()
        .flatten()
        .unwrap_or_default()
}

/// Whether a resource is for tools only and never applied to a cluster.
pub fn is_local_config(resource: NodeRef<'_>) -> bool {
    let value = text(resource, &["metadata", "annotations", LOCAL_CONFIG]);
    !matches!(value, "" | "false")
}

/// Whether a resource has a type; empty parts match everything, on both sides.
pub fn is_gvk(resource: NodeRef<'_>, group: &str, version: &str, kind: &str) -> bool {
    let (own_group, own_version) = group_version(text(resource, &["apiVersion"]));
    let fits = |own: &str, wanted: &str| own.is_empty() || wanted.is_empty() || own == wanted;
    fits(text(resource, &["kind"]), kind) && fits(own_group, group) && fits(own_version, version)
}

/// Group and version; both empty if there is more than one slash.
fn group_version(api_version: &str) -> (&str, &str) {
    match api_version.split_once('/') {
        None => ("", api_version),
        Some((_, version)) if version.contains('/') => ("", ""),
        Some(both) => both,
    }
}

/// Whether `metadata.namespace` exists, of whatever type.
pub fn has_namespace(resource: NodeRef<'_>) -> bool {
    !matches!(nested(resource, &["metadata", "namespace"]), Ok(None))
}

/// Whether a resource is namespaced: by its type if that is known, else by whether it has a namespace.
pub fn is_namespace_scoped(resource: NodeRef<'_>) -> bool {
    let api_version = text(resource, &["apiVersion"]);
    scope::is_namespaced(api_version, text(resource, &["kind"]))
        .unwrap_or_else(|| has_namespace(resource))
}

/// The identity of a resource.
pub fn identity<'a>(resource: NodeRef<'a>) -> ResourceIdentity<'a> {
    let api_version = text(resource, &["apiVersion"]);
    let namespace = match (has_namespace(resource), is_namespace_scoped(resource)) {
        (true, _) => text(resource, &["metadata", "namespace"]),
        (false, true) => DEFAULT_NAMESPACE,
        (false, false) => UNKNOWN_NAMESPACE,
    };
    ResourceIdentity {
        group: api_version.split_once('/').map_or("", |(group, _)| group),
        kind: text(resource, &["kind"]),
        namespace,
        name: text(resource, &["metadata", "name"]),
    }
}

/// The upstream identity of a resource, or else its own; `None` if the annotation is invalid.
pub fn origin<'a>(resource: NodeRef<'a>) -> Option<ResourceIdentity<'a>> {
    match text(resource, &["metadata", "annotations", UPSTREAM_IDENTIFIER]) {
        "" => Some(identity(resource)),
        upstream => parse_upstream(upstream.trim()),
    }
}

/// Finds `group|kind|namespace|name` in a text. The original searches anywhere in it.
fn parse_upstream(text: &str) -> Option<ResourceIdentity<'_>> {
    let is_label = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let parts: Vec<&str> = text.split('|').collect();
    parts.windows(4).find_map(|parts| {
        let &[group, kind, namespace, name] = parts else {
            return None;
        };
        let group_start = group
            .rfind(|c: char| !is_label(c) && c != '.')
            .map_or(0, |at| {
                at + group[at..].chars().next().map_or(1, char::len_utf8)
            });
        let name_length = name.find(|c: char| !is_label(c)).unwrap_or(name.len());
        let name = name.get(..name_length.min(63))?;
        let is_kind = kind.starts_with(|c: char| c.is_ascii_uppercase())
            && kind.chars().all(|c| c.is_ascii_alphanumeric());
        let is_namespace = namespace == UNKNOWN_NAMESPACE
            || (1..=63).contains(&namespace.len()) && namespace.chars().all(is_label);
        (is_kind && is_namespace && !name.is_empty()).then_some(ResourceIdentity {
            group: group.get(group_start..)?,
            kind,
            namespace,
            name,
        })
    })
}

/// A resource in the format of messages.
pub fn short_text(resource: NodeRef<'_>) -> String {
    format!(
        "Resource(apiVersion={}, kind={}, namespace={}, name={})",
        text(resource, &["apiVersion"]),
        text(resource, &["kind"]),
        text(resource, &["metadata", "namespace"]),
        text(resource, &["metadata", "name"]),
    )
}

/// A resource in the format of results.
pub fn resource_ref(resource: NodeRef<'_>) -> ResourceRef {
    ResourceRef {
        api_version: text(resource, &["apiVersion"]).to_owned(),
        kind: text(resource, &["kind"]).to_owned(),
        name: text(resource, &["metadata", "name"]).to_owned(),
        namespace: text(resource, &["metadata", "namespace"]).to_owned(),
    }
}

/// A result about a resource or a configuration, with its file. Without a file the index is -1.
pub fn about_object(severity: Severity, message: String, resource: NodeRef<'_>) -> ResultItem {
    let annotation = |key| text(resource, &["metadata", "annotations", key]);
    let index = match annotation(INDEX) {
        "" => -1,
        index => index.parse().unwrap_or(0),
    };
    ResultItem {
        resource_ref: Some(resource_ref(resource)),
        file: Some(File {
            path: annotation(PATH).to_owned(),
            index,
        }),
        ..ResultItem::new(severity, message)
    }
}
