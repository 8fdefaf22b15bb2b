//! Objects for programs, in JSON or YAML.

use anyhow::Result;
use clap::ValueEnum;
use kiln_yaml::{Document, NodeId, SequenceStyle};
use serde_json::{Value, json};

use crate::ui::Ui;

/// In which form objects are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Format {
    /// JSON
    Json,
    /// YAML
    Yaml,
    /// Their names, a line each
    Name,
}

/// Prints one object, or a list if there are several or if a list was asked for.
pub(crate) fn print(ui: &Ui, format: Format, mut objects: Vec<Value>, is_list: bool) -> Result<()> {
    if format == Format::Name {
        let name = |object: &Value| {
            let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
            let api_version = object["apiVersion"].as_str().unwrap_or_default();
            let group = api_version.split('/').next().unwrap_or_default();
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            format!("{kind}.{group}/{name}\n")
        };
        let names: String = objects.iter().map(name).collect();
        return ui.write_data(names.as_bytes());
    }
    let object = match objects.pop_if(|_| !is_list) {
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
    };
    let text = match format {
        Format::Json => format!("{:#}\n", Indented(&object)),
        _ => to_yaml(&object),
    };
    ui.write_data(text.as_bytes())
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
