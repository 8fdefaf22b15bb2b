//! The configuration, read by JavaScript's rules.

use kiln_yaml::Document;

use crate::function::Ending;
use crate::port::jsonschema::UnknownFields;

use super::exit;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct KubevalConfig {
    /// Folders with schemas; empty for the built-in schemas.
    pub(super) locations: Vec<String>,
    pub(super) skip_kinds: Vec<String>,
    pub(super) ignore_missing: bool,
    pub(super) unknown_fields: UnknownFields,
}

impl KubevalConfig {
    pub(super) fn read(config: Option<&Document>) -> Result<KubevalConfig, Ending> {
        let root = config.map(Document::root).filter(|root| !root.is_empty());
        let scalar = |key: &str| {
            let value = root?.get(key)?;
            value.as_text()
        };
        if root.is_some()
            && (scalar("apiVersion"), scalar("kind")) != (Some("v1"), Some("ConfigMap"))
        {
            let kind = scalar("kind").unwrap_or("undefined");
            return Err(exit(
                3,
                &format!(
                    "Error: functionConfig expected to be of kind ConfigMap, instead got: {kind}"
                ),
            ));
        }
        let value = |key: &str| {
            let value = root.and_then(|root| root.get("data")?.get(key)?.as_text());
            value.unwrap_or_default()
        };
        let list = |key: &str| match value(key) {
            "" => Vec::new(),
            list => list.split(',').map(str::to_owned).collect(),
        };
        let mut locations = Vec::new();
        let additional = list("additional_schema_locations");
        match value("schema_location") {
            "" if additional.is_empty() => {}
            // The program's default location is on the network.
            "" => locations.push("https://kubernetesjsonschema.dev".to_owned()),
            location => locations.push(location.to_owned()),
        }
        locations.extend(additional);
        let is_strict = boolean(value("strict"))?;
        Ok(KubevalConfig {
            locations: locations
                .iter()
                .map(|location| folder(location))
                .collect::<Result<_, _>>()?,
            skip_kinds: list("skip_kinds"),
            ignore_missing: boolean(value("ignore_missing_schemas"))?,
            unknown_fields: match is_strict {
                true => UnknownFields::Refused,
                false => UnknownFields::Allowed,
            },
        })
    }
}

fn folder(location: &str) -> Result<String, Ending> {
    let folder = location.strip_prefix("file://").map(str::to_owned);
    folder.ok_or_else(|| {
        exit(
            1,
            &format!(
                "the schema location {location:?} is not a folder such as file:///schemas; give --no-native to run the \
                 function as the image it is"
            ),
        )
    })
}

/// A value that is parsed as JSON and then converted to a boolean.
fn boolean(text: &str) -> Result<bool, Ending> {
    match text.trim() {
        "" | "false" | "null" | "0" | "\"\"" => Ok(false),
        "true" => Ok(true),
        text if text.parse::<f64>().is_ok() => Ok(true),
        text => {
            let first = text.chars().next().unwrap_or_default();
            let error = format!("SyntaxError: Unexpected token {first} in JSON at position 0");
            Err(exit(2, &error))
        }
    }
}
