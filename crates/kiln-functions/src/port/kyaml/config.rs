//! Reading configurations and path annotations.

use kiln_krm::Resource;
use kiln_krm::annotations::{ID, INDEX, LEGACY_ID, LEGACY_INDEX, LEGACY_PATH, PATH};
use kiln_yaml::Document;

use super::walk::fields;

/// The releases of kyaml that functions were built with, as far as functions show the difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KyamlRelease {
    /// Up to 0.11: only the legacy path, index and id annotations.
    V0_10,
    /// 0.12: both families of annotations, each completed from the other on access.
    V0_12,
    /// 0.13 and later: both families, which the framework synchronizes; strings that YAML 1.1 reads as another type
    /// are quoted.
    V0_13,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("missing Resource metadata")]
pub(crate) struct MissingMetadata;

/// The `data` of a configuration: the texts of its scalars, in order. Anything but a mapping has no data.
pub(crate) fn data_map(config: Option<&Document>) -> Vec<(String, String)> {
    let data = config.and_then(|config| config.root().lookup(&["data"]).ok()?);
    let Some(data) = data else {
        return Vec::new();
    };
    let document = data.document();
    let text = |id| {
        let node = document.node(id);
        let text = if node.is_null() { "" } else { node.value() };
        text.to_owned()
    };
    let mut pairs: Vec<(String, String)> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for (key, value) in fields(document, data.id()) {
        let key = text(key);
        if seen.insert(key.clone()) {
            pairs.push((key, text(value)));
        }
    }
    pairs
}

/// The file of a resource; empty if it has no path annotation.
pub(crate) fn file_path(
    resource: &mut Resource,
    release: KyamlRelease,
) -> Result<String, MissingMetadata> {
    if resource.meta().is_missing && release != KyamlRelease::V0_13 {
        return Err(MissingMetadata);
    }
    let key = match release {
        KyamlRelease::V0_10 => LEGACY_PATH,
        KyamlRelease::V0_12 => {
            complete_families(resource);
            PATH
        }
        KyamlRelease::V0_13 => return Ok(resource.file_place().0.to_owned()),
    };
    Ok(resource.annotation(key).unwrap_or_default().to_owned())
}

/// The file of a resource; if both path annotations differ, the internal one counts, unless it is empty.
pub(crate) fn place_path(resource: &Resource) -> &str {
    let value = |key| resource.annotation(key).unwrap_or_default();
    match value(PATH) {
        "" => value(LEGACY_PATH),
        path => path,
    }
}

/// Completes both annotations of each pair. Those that begin with `internal.` take precedence.
fn complete_families(resource: &mut Resource) {
    for (new, old) in [(PATH, LEGACY_PATH), (INDEX, LEGACY_INDEX), (ID, LEGACY_ID)] {
        let value = |key| resource.annotation(key).unwrap_or_default().to_owned();
        let (missing, value) = match (value(new), value(old)) {
            (given, other) if given == other => continue,
            (given, other) if given.is_empty() => (new, other),
            (given, _) => (old, given),
        };
        // It has annotations, so setting another one does not fail.
        let _ = resource.set_annotation(missing, &value);
    }
}
