//! What functions read off their configuration and off resources.

use kiln_krm::Resource;
use kiln_krm::annotations::{ID, INDEX, LEGACY_ID, LEGACY_INDEX, LEGACY_PATH, PATH};
use kiln_yaml::Document;

use super::walk::fields;

/// Which kyaml a function was built with, as far as functions see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Generation {
    /// Up to 0.11: only the older annotations about the place.
    First,
    /// 0.12: both families of annotations, each completed by the other when somebody asks.
    Second,
    /// From 0.13 on: both families, kept in step by the framework; strings that only YAML 1.1 takes for something else
    /// are quoted.
    Third,
}

/// A resource says nothing about itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("missing Resource metadata")]
pub(crate) struct MissingMetadata;

/// The `data` of a configuration: the texts of its scalars, in order. What is not a mapping has no data.
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

/// The file that a resource belongs to; empty if it says none.
pub(crate) fn file_path(
    resource: &mut Resource,
    generation: Generation,
) -> Result<String, MissingMetadata> {
    if resource.meta().is_missing && generation != Generation::Third {
        return Err(MissingMetadata);
    }
    let key = match generation {
        Generation::First => LEGACY_PATH,
        Generation::Second => {
            complete_families(resource);
            PATH
        }
        Generation::Third => return Ok(resource.file_place().0.to_owned()),
    };
    Ok(resource.annotation(key).unwrap_or_default().to_owned())
}

/// The file that a resource says it is in; of two that differ the internal one counts, unless it is empty.
pub(crate) fn place_path(resource: &Resource) -> &str {
    let value = |key| resource.annotation(key).unwrap_or_default();
    match value(PATH) {
        "" => value(LEGACY_PATH),
        path => path,
    }
}

/// Gives a resource both annotations of each pair about its place. Those that begin with `internal.` count.
fn complete_families(resource: &mut Resource) {
    for (new, old) in [(PATH, LEGACY_PATH), (INDEX, LEGACY_INDEX), (ID, LEGACY_ID)] {
        let value = |key| resource.annotation(key).unwrap_or_default().to_owned();
        let (missing, value) = match (value(new), value(old)) {
            (given, other) if given == other => continue,
            (given, other) if given.is_empty() => (new, other),
            (given, _) => (old, given),
        };
        // It has annotations, so it can carry one more.
        let _ = resource.set_annotation(missing, &value);
    }
}
