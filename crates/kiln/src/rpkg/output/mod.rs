//! Objects in the formats of kubectl's `-o`.

mod columns;
mod jsonpath;

use std::str::FromStr;

use anyhow::{Context, Result, bail};
use kiln_yaml::{Document, NodeId, SequenceStyle};
use serde_json::{Value, json};

use crate::ui::Ui;

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum ObjectFormat {
    Json,
    Yaml,
    Name,
    /// The same table as without `-o`: it has no further columns.
    Wide,
    JsonPath(jsonpath::Template),
    Columns(Vec<columns::Column>),
}

impl FromStr for ObjectFormat {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<ObjectFormat> {
        let (name, rest) = text.split_once('=').unwrap_or((text, ""));
        match (name, rest) {
            ("json", "") => Ok(ObjectFormat::Json),
            ("yaml", "") => Ok(ObjectFormat::Yaml),
            ("name", "") => Ok(ObjectFormat::Name),
            ("wide", "") => Ok(ObjectFormat::Wide),
            ("jsonpath", template) => {
                let parsed = jsonpath::Template::parse(template);
                let parsed = parsed.with_context(|| format!("error parsing jsonpath {template}"));
                Ok(ObjectFormat::JsonPath(parsed?))
            }
            ("custom-columns", columns) => Ok(ObjectFormat::Columns(columns::parse(columns)?)),
            _ => bail!(
                "unable to match a printer suitable for the output format {text:?}, allowed formats are: custom-columns,json,jsonpath,name,wide,yaml"
            ),
        }
    }
}

/// The flags of verbs that list objects.
#[derive(clap::Args, Debug)]
pub(crate) struct OutputArgs {
    /// Output format: json, yaml, name, wide, jsonpath=TEMPLATE or custom-columns=HEADER:PATH,… instead of the table
    #[arg(short, long, value_name = "FORMAT", value_parser = parse_format)]
    output: Option<ObjectFormat>,
    /// Omit the table header
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = crate::flag_values::go_bool)]
    no_headers: Option<bool>,
}

/// Clap prints only the first error of a chain, so this joins them.
fn parse_format(text: &str) -> Result<ObjectFormat, String> {
    ObjectFormat::from_str(text).map_err(|error| format!("{error:#}"))
}

impl OutputArgs {
    /// The format of objects; `None` for the table.
    pub(crate) fn format(&self) -> Option<&ObjectFormat> {
        self.output
            .as_ref()
            .filter(|format| **format != ObjectFormat::Wide)
    }

    pub(crate) fn has_headers(&self) -> bool {
        !self.no_headers.unwrap_or(false)
    }

    /// Prints the only object, or a list of all.
    pub(crate) fn print(
        &self,
        ui: &Ui,
        format: &ObjectFormat,
        objects: Vec<Value>,
        is_list: bool,
    ) -> Result<()> {
        let text = match format {
            ObjectFormat::Name => objects.iter().map(name).collect(),
            ObjectFormat::Columns(columns) => columns::text(columns, &objects, self.has_headers()),
            ObjectFormat::JsonPath(template) if template.applies_to_list() => {
                template.text(&object_or_list(objects, true))
            }
            ObjectFormat::JsonPath(template) => {
                objects.iter().map(|object| template.text(object)).collect()
            }
            ObjectFormat::Json => format!("{:#}\n", Indented(&object_or_list(objects, is_list))),
            ObjectFormat::Yaml | ObjectFormat::Wide => to_yaml(&object_or_list(objects, is_list)),
        };
        ui.write_data(text.as_bytes())
    }
}

fn name(object: &Value) -> String {
    let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let group = api_version.split('/').next().unwrap_or_default();
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    format!("{kind}.{group}/{name}\n")
}

/// The only object, or a `List` of all.
fn object_or_list(mut objects: Vec<Value>, is_list: bool) -> Value {
    match objects.pop_if(|_| !is_list) {
        Some(only) if objects.is_empty() => only,
        last => {
            objects.extend(last);
            json!({
                "apiVersion": "v1",
                "items": objects,
                "kind": "List",
                "metadata": {"resourceVersion": ""},
            })
        }
    }
}

/// JSON with kubectl's indentation of four spaces.
struct Indented<'a>(&'a Value);

impl std::fmt::Display for Indented<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
        let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
        serde::Serialize::serialize(self.0, &mut serializer).map_err(|_| std::fmt::Error)?;
        f.write_str(&String::from_utf8_lossy(&out))
    }
}

/// A value as YAML. The recursion is bounded because kiln makes these values itself.
pub(crate) fn to_yaml(value: &Value) -> String {
    let mut doc = Document::new_mapping();
    let root = yaml_node(&mut doc, value);
    doc.set_root(root);
    kiln_yaml::to_string(&doc, SequenceStyle::Compact)
}

fn yaml_node(doc: &mut Document, value: &Value) -> NodeId {
    match value {
        Value::Null => doc.new_scalar("null", "!!null"),
        Value::Bool(value) => doc.new_scalar(&value.to_string(), "!!bool"),
        Value::Number(number) => doc.new_scalar(&number.to_string(), ""),
        Value::String(text) => doc.new_string(text),
        Value::Array(items) => {
            let list = doc.new_sequence_node();
            for item in items {
                let item = yaml_node(doc, item);
                doc.push_item(list, item);
            }
            list
        }
        Value::Object(fields) => {
            let map = doc.new_mapping_node();
            for (key, value) in fields {
                let key = doc.new_string(key);
                let value = yaml_node(doc, value);
                doc.push_entry(map, key, value);
            }
            map
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_yaml() {
        let value = json!({"a": [1, "true", {"b": null}], "c": "x: y", "d": {}});
        assert_eq!(
            to_yaml(&value),
            "a:\n- 1\n- \"true\"\n- b: null\nc: 'x: y'\nd: {}\n"
        );
    }
}
