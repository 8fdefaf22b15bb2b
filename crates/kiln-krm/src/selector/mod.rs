//! Which resources a function gets: selectors select, exclusions exclude.
//!
//! A selector's fields are joined by "and", the selectors of a function by "or". Comparison is by exact text;
//! a missing namespace is the empty text, not `default`.

use kiln_yaml::NodeRef;

use crate::kptfile::Selector;
use crate::meta::given;

/// What happens to a resource that several selectors match.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Overlap {
    /// It is selected once.
    #[default]
    Once,
    /// It is selected once for each selector that matches it, as in kpt. A function then gets duplicates, and
    /// the check of its output's paths fails.
    Repeated,
}

/// The positions of the selected resources, in order.
///
/// Without selectors everything is selected, and so does a selector without any field; an exclusion without any field
/// excludes nothing.
pub fn select(
    resources: &[NodeRef<'_>],
    selectors: &[Selector],
    exclusions: &[Selector],
    overlap: Overlap,
) -> Vec<usize> {
    let mut selected = Vec::new();
    for (position, resource) in resources.iter().enumerate() {
        let times = if selectors.is_empty() {
            1
        } else {
            let matching = selectors
                .iter()
                .filter(|selector| selector.matches(*resource));
            match overlap {
                Overlap::Once => matching.take(1).count(),
                Overlap::Repeated => matching.count(),
            }
        };
        let excluded = || {
            exclusions
                .iter()
                .any(|exclusion| !exclusion.is_empty() && exclusion.matches(*resource))
        };
        if times > 0 && !excluded() {
            selected.extend(std::iter::repeat_n(position, times));
        }
    }
    selected
}

impl Selector {
    /// Whether no field is given.
    pub fn is_empty(&self) -> bool {
        *self == Selector::default()
    }

    /// Whether every given field matches the resource.
    pub fn matches(&self, resource: NodeRef<'_>) -> bool {
        let metadata = given(resource, "metadata");
        let top = |key| resource.get(key).map(NodeRef::value).unwrap_or_default();
        let field = |key| {
            let value = metadata.and_then(|metadata| given(metadata, key));
            value.map(NodeRef::value).unwrap_or_default()
        };
        let agrees = |wanted: &str, actual: &str| wanted.is_empty() || wanted == actual;
        let has_all = |key: &str, wanted: &std::collections::BTreeMap<String, String>| {
            let pairs = metadata.and_then(|metadata| metadata.get(key));
            wanted
                .iter()
                .all(|(key, value)| pairs.is_some_and(|pairs| last_is(pairs, key, value)))
        };
        agrees(&self.name, field("name"))
            && agrees(&self.namespace, field("namespace"))
            && agrees(&self.kind, top("kind"))
            && agrees(&self.api_version, top("apiVersion"))
            && has_all("labels", &self.labels)
            && has_all("annotations", &self.annotations)
    }
}

/// Whether the last of a mapping's entries with this key has this text.
fn last_is(mapping: NodeRef<'_>, key: &str, text: &str) -> bool {
    mapping
        .entries()
        .filter(|(candidate, _)| candidate.value() == key)
        .last()
        .is_some_and(|(_, value)| value.value() == text)
}

/// Why a `key=value` given for a selector's labels or annotations is not acceptable.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{pair:?} must have a key and a value separated by =")]
pub struct NotAPair {
    pub pair: String,
}

/// Reads a `key=value` of the command line; kpt drops the part of a value from a further `=` on.
pub fn parse_pair(pair: &str) -> Result<(String, String), NotAPair> {
    let mut parts = pair.split('=');
    match (parts.next(), parts.next()) {
        (Some(key), Some(value)) => Ok((key.to_owned(), value.to_owned())),
        _ => Err(NotAPair {
            pair: pair.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests;
