//! What the user asks for: fields of a ConfigMap's `data`, or of the configuration itself.

use kiln_yaml::{Document, NodeRef};

use crate::port::go_sdk::{nested, text};
use crate::port::jsonschema::UnknownFields;

/// The configuration. `ignore_missing_schemas` is missing: kinds without a schema pass in any case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Config {
    /// Where schemas are looked for, in this order; what is built in if there are none.
    pub(super) locations: Vec<String>,
    pub(super) skip_kinds: Vec<String>,
    pub(super) unknown_fields: UnknownFields,
}

impl Config {
    pub(super) fn read(config: Option<&Document>) -> Config {
        let root = config.map(Document::root);
        let string = |key: &str| root.map(|root| string(root, key)).unwrap_or_default();
        let list = |key: &str| match string(key) {
            "" => Vec::new(),
            list => list.split(',').map(str::to_owned).collect(),
        };
        let mut locations = Vec::new();
        locations.extend(Some(string("schema_location").to_owned()).filter(|s| !s.is_empty()));
        locations.append(&mut list("additional_schema_locations"));
        // The program splits at commas what was joined with them.
        let is_strict = root.is_some_and(|root| boolean(root, "strict"));
        Config {
            locations,
            skip_kinds: list("skip_kinds"),
            unknown_fields: match is_strict {
                true => UnknownFields::Refused,
                false => UnknownFields::Allowed,
            },
        }
    }
}

/// A text of the configuration itself or else of its `data`. What is no string is not there.
fn string<'a>(root: NodeRef<'a>, key: &str) -> &'a str {
    match text(root, &[key]) {
        "" => text(root, &["data", key]),
        text => text,
    }
}

/// A field of the configuration itself must be a boolean to be true; one of `data` may say so in words.
fn boolean(root: NodeRef<'_>, key: &str) -> bool {
    match nested(root, &[key]) {
        Ok(Some(value)) => value.tag() == "!!bool" && value.value().eq_ignore_ascii_case("true"),
        _ => {
            let text = string(root, key);
            text.eq_ignore_ascii_case("true") || text == "1"
        }
    }
}
