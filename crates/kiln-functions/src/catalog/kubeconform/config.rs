//! The configuration: fields of a ConfigMap's `data`, or of the object itself.

use kiln_yaml::{Document, NodeRef};

use crate::port::go_sdk::{nested, text};
use crate::port::jsonschema::UnknownFields;

/// `ignore_missing_schemas` is left out: kinds without a schema always pass.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct KubeconformConfig {
    /// Where schemas are looked up, in this order; empty for the built-in schemas.
    pub(super) locations: Vec<String>,
    pub(super) skip_kinds: Vec<String>,
    pub(super) unknown_fields: UnknownFields,
}

impl KubeconformConfig {
    pub(super) fn read(config: Option<&Document>) -> KubeconformConfig {
        let root = config.map(Document::root);
        let string = |key: &str| root.map(|root| string(root, key)).unwrap_or_default();
        let list = |key: &str| match string(key) {
            "" => Vec::new(),
            list => list.split(',').map(str::to_owned).collect(),
        };
        let mut locations = Vec::new();
        locations.extend(Some(string("schema_location").to_owned()).filter(|s| !s.is_empty()));
        locations.append(&mut list("additional_schema_locations"));
        // The original joins the list with commas, and the program splits it at commas.
        let is_strict = root.is_some_and(|root| boolean(root, "strict"));
        KubeconformConfig {
            locations,
            skip_kinds: list("skip_kinds"),
            unknown_fields: match is_strict {
                true => UnknownFields::Refused,
                false => UnknownFields::Allowed,
            },
        }
    }
}

/// A string of the object itself or else of its `data`. Other values count as missing.
fn string<'a>(root: NodeRef<'a>, key: &str) -> &'a str {
    match text(root, &[key]) {
        "" => text(root, &["data", key]),
        text => text,
    }
}

/// A field of the object itself must be a boolean; a field of `data` may be a string.
fn boolean(root: NodeRef<'_>, key: &str) -> bool {
    match nested(root, &[key]) {
        Ok(Some(value)) => value.tag() == "!!bool" && value.value().eq_ignore_ascii_case("true"),
        _ => {
            let text = string(root, key);
            text.eq_ignore_ascii_case("true") || text == "1"
        }
    }
}
