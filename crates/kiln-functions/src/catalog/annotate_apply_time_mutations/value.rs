//! Values and keys as text, in the format in which Go prints decoded values.

use kiln_go::quote;
use kiln_yaml::{Document, NodeRef};

use crate::port::go_json::{JsonContent, Scalars, read};
use crate::port::kustomize::shortest;

/// The value of a scalar. A scalar that does not match its tag has no value, and the error message is go-yaml's.
pub(super) fn value_text(node: NodeRef<'_>) -> Result<String, String> {
    let (tag, text) = (node.tag(), node.value());
    let is_checked = matches!(
        tag,
        "!!null" | "!!bool" | "!!int" | "!!float" | "!!timestamp"
    );
    if is_checked {
        let mut scratch = Document::new_mapping();
        let plain = scratch.new_scalar(text, "");
        let found = scratch.node(plain).tag();
        if found != tag && (tag, found) != ("!!float", "!!int") {
            return Err(format!("yaml: cannot decode {found} `{text}` as a {tag}"));
        }
    }
    // Infinity and NaN cannot be written in JSON, and are written as they are.
    let json = read(node, Scalars::Yaml12).ok();
    Ok(match json.as_ref().map(|json| json.root().content()) {
        Some(JsonContent::Null) => String::new(),
        Some(JsonContent::Bool(value)) => value.to_string(),
        Some(JsonContent::Int(value)) => value.to_string(),
        Some(JsonContent::Float(_)) if tag == "!!int" => text.replace('_', ""),
        Some(JsonContent::Float(value)) => shortest(value),
        Some(JsonContent::String(value)) => value.to_owned(),
        _ => text.to_lowercase(),
    })
}

/// A key as a step of a JSONPath.
pub(super) fn key_step(key: NodeRef<'_>) -> String {
    let json = read(key, Scalars::Yaml12).ok();
    match json.as_ref().map(|json| json.root().content()) {
        Some(JsonContent::Null) => "[<nil>]".to_owned(),
        Some(JsonContent::Bool(value)) => format!("[{value}]"),
        Some(JsonContent::Int(value)) => format!("[{value}]"),
        Some(JsonContent::Float(value)) if value.abs() < 1e21 => format!("[{value}]"),
        Some(JsonContent::Float(value)) => format!("[{}]", shortest(value)),
        Some(JsonContent::String(name)) if is_simple(name) => format!(".{name}"),
        Some(JsonContent::String(name)) => format!("[{}]", quote(name)),
        _ => format!("[{}]", key.value()),
    }
}

/// Letters, digits, `_` and `-`, beginning with a letter and ending with a letter or digit.
fn is_simple(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte))
}
