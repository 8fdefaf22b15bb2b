//! The checks of kustomize's resource map: each resource has a type and a name, and no id occurs twice.

use std::collections::HashSet;

use kiln_krm::Resource;
use kiln_krm::meta::Meta;
use kiln_yaml::{Document, NodeRef};

use super::resource_id::ResourceId;
use super::{KustomizeRelease, scope};

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum MapError {
    #[error("missing Resource metadata")]
    MissingMetadata,
    #[error("missing kind in object {0}")]
    MissingKind(String),
    #[error("missing metadata.name in object {0}")]
    MissingName(String),
    #[error("may not add resource with an already registered id: {0}")]
    Repeated(String),
}

/// An annotation that kyaml's framework sets on each resource while a function runs. It is visible in messages only.
pub(crate) const MIGRATION_ID: &str = "internal.config.k8s.io/annotations-migration-resource-id";

/// Whether the framework marks resources while a function runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ResourceMarks {
    /// With their indices.
    Places,
    Nothing,
}

/// Runs the checks of kustomize's resource map, and drops empty resources.
pub(crate) fn check_resources(
    items: &mut Vec<Resource>,
    marks: ResourceMarks,
    release: KustomizeRelease,
) -> Result<(), MapError> {
    // The older release checks only when it drops local configuration, which no function requests.
    let checked = items.iter().filter(|_| release != KustomizeRelease::Api0_8);
    for (place, resource) in checked.enumerate() {
        if !is_empty(resource.root()) {
            check_metadata(resource, marks, place)?;
        }
    }
    items.retain(|resource| !is_empty(resource.root()));
    check_repeated(items, release)
}

/// Checks that no id occurs twice.
pub(super) fn check_repeated(
    items: &[Resource],
    release: KustomizeRelease,
) -> Result<(), MapError> {
    let mut seen = HashSet::new();
    for resource in items {
        let meta = resource.meta();
        let namespace = effective_namespace(meta);
        if !seen.insert((meta.api_version, meta.kind, namespace, meta.name)) {
            let id = resource_id_text(resource.document(), release);
            return Err(MapError::Repeated(id));
        }
    }
    Ok(())
}

/// Checks that a resource, or a configuration, has a type and a name.
pub(crate) fn check_metadata(
    resource: &Resource,
    marks: ResourceMarks,
    place: usize,
) -> Result<(), MapError> {
    let meta = resource.meta();
    if meta.is_missing {
        return Err(MapError::MissingMetadata);
    }
    let text = || meta_text(resource, meta, marks, place);
    if meta.kind.is_empty() {
        return Err(MapError::MissingKind(text()));
    }
    if meta.name.is_empty() && !meta.kind.ends_with("List") {
        return Err(MapError::MissingName(text()));
    }
    Ok(())
}

/// The namespace of a resource, explicit or default.
pub(crate) fn effective_namespace(meta: Meta<'_>) -> &str {
    match meta.namespace {
        _ if scope::is_cluster_scoped(meta.api_version, meta.kind) => "_non_namespaceable_",
        "" => "default",
        namespace => namespace,
    }
}

/// A resource's id as kustomize prints it.
pub(crate) fn resource_id_text(document: &Document, release: KustomizeRelease) -> String {
    let id = ResourceId::of(document.root());
    match release {
        KustomizeRelease::Api0_11 | KustomizeRelease::Api0_19 => id.text(),
        _ => id.former_text(),
    }
}

fn is_empty(node: NodeRef<'_>) -> bool {
    let is_collection = node.is_mapping() || node.is_sequence();
    node.is_null() || (is_collection && node.is_empty())
}

/// The metadata of a resource in the format in which Go prints the struct.
fn meta_text(resource: &Resource, meta: Meta<'_>, marks: ResourceMarks, place: usize) -> String {
    let place = place.to_string();
    let mark = match marks {
        ResourceMarks::Places => Some((MIGRATION_ID, place.as_str())),
        ResourceMarks::Nothing => None,
    };
    let labels = map_text(resource.labels());
    let annotations = map_text(resource.annotations().chain(mark));
    format!(
        "{{{{{} {}}} {{{{{} {}}} {labels} {annotations}}}}}",
        meta.api_version, meta.kind, meta.name, meta.namespace
    )
}

fn map_text<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let sorted: std::collections::BTreeMap<&str, &str> = pairs.collect();
    let pairs: Vec<String> = sorted.iter().map(|(k, v)| format!("{k}:{v}")).collect();
    format!("map[{}]", pairs.join(" "))
}
