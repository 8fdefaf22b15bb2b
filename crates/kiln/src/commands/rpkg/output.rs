//! Objects for programs, in the forms of kubectl's `-o`.

mod columns;
pub(super) mod jsonpath;

use std::str::FromStr;

use anyhow::{Context, Result, bail};
use kiln_yaml::{Document, NodeId, SequenceStyle};
use serde_json::{Value, json};

use crate::ui::Ui;

/// In which form objects are printed.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Format {
    /// JSON
    Json,
    /// YAML
    Yaml,
    /// Their names, a line each
    Name,
    /// The table; there is nothing more to show in it
    Wide,
    /// What a template says of each
    JsonPath(jsonpath::Template),
    /// A table of what is at some paths
    Columns(Vec<columns::Column>),
}

impl FromStr for Format {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Format> {
        let (name, rest) = text.split_once('=').unwrap_or((text, ""));
        match (name, rest) {
            ("json", "") => Ok(Format::Json),
            ("yaml", "") => Ok(Format::Yaml),
            ("name", "") => Ok(Format::Name),
            ("wide", "") => Ok(Format::Wide),
            ("jsonpath", template) => {
                let parsed = jsonpath::Template::parse(template);
                let parsed = parsed.with_context(|| format!("error parsing jsonpath {template}"));
                Ok(Format::JsonPath(parsed?))
            }
            ("custom-columns", columns) => Ok(Format::Columns(columns::parse(columns)?)),
            _ => bail!(
                "unable to match a printer suitable for the output format {text:?}, allowed formats are: custom-columns,json,jsonpath,name,wide,yaml"
            ),
        }
    }
}

/// The flags of verbs that list things.
#[derive(clap::Args, Debug)]
pub(crate) struct OutputArgs {
    /// Print something else than the table: json, yaml, name, wide, jsonpath=TEMPLATE or custom-columns=HEADER:PATH,…
    #[arg(short, long, value_name = "FORMAT", value_parser = format_of)]
    output: Option<Format>,
    /// Leave out the line with the names of columns
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = crate::cli::go_bool)]
    no_headers: Option<bool>,
}

/// The whole of the complaint, which clap would cut after the first part.
fn format_of(text: &str) -> Result<Format, String> {
    Format::from_str(text).map_err(|error| format!("{error:#}"))
}

impl OutputArgs {
    /// The form of objects; none for the table.
    pub(crate) fn format(&self) -> Option<&Format> {
        self.output
            .as_ref()
            .filter(|format| **format != Format::Wide)
    }

    pub(crate) fn has_headers(&self) -> bool {
        !self.no_headers.unwrap_or(false)
    }

    /// Prints one object, or a list if there are several or if a list was asked for.
    pub(crate) fn print(
        &self,
        ui: &Ui,
        format: &Format,
        objects: Vec<Value>,
        is_list: bool,
    ) -> Result<()> {
        let text = match format {
            Format::Name => objects.iter().map(name).collect(),
            Format::Columns(columns) => columns::text(columns, &objects, self.has_headers()),
            Format::JsonPath(template) if template.is_about_items() => {
                template.text(&together(objects, true))
            }
            Format::JsonPath(template) => {
                objects.iter().map(|object| template.text(object)).collect()
            }
            Format::Json => format!("{:#}\n", Indented(&together(objects, is_list))),
            Format::Yaml | Format::Wide => to_yaml(&together(objects, is_list)),
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

/// The only object, or all of them in a list.
fn together(mut objects: Vec<Value>, is_list: bool) -> Value {
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

/// JSON with four blanks for each level, as kubectl indents it.
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

/// A value as YAML. Values are made by us and are but a few levels deep.
pub(crate) fn to_yaml(value: &Value) -> String {
    let mut doc = Document::new_mapping();
    let root = node(&mut doc, value);
    doc.set_root(root);
    kiln_yaml::to_string(&doc, SequenceStyle::Compact)
}

fn node(doc: &mut Document, value: &Value) -> NodeId {
    match value {
        Value::Null => doc.new_scalar("null", "!!null"),
        Value::Bool(value) => doc.new_scalar(&value.to_string(), "!!bool"),
        Value::Number(number) => doc.new_scalar(&number.to_string(), ""),
        Value::String(text) => doc.new_string(text),
        Value::Array(items) => {
            let list = doc.new_sequence_node();
            for item in items {
                let item = node(doc, item);
                doc.push_item(list, item);
            }
            list
        }
        Value::Object(fields) => {
            let map = doc.new_mapping_node();
            for (key, value) in fields {
                let key = doc.new_string(key);
                let value = node(doc, value);
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
