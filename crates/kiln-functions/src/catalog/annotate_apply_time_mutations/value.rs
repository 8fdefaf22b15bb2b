//! Values and keys as texts, the way Go prints what it has read.

use kiln_go::quote;
use kiln_yaml::{Document, NodeRef};

use crate::port::go_json::{Content, Scalars, read};
use crate::port::kustomize::shortest;

/// A scalar's value. Something that is not what its tag says has none, and the complaint is go-yaml's.
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
    // Infinity and the like have no form in JSON, and are written as they are.
    let json = read(node, Scalars::Yaml12).ok();
    Ok(match json.as_ref().map(|json| json.root().content()) {
        Some(Content::Null) => String::new(),
        Some(Content::Bool(value)) => value.to_string(),
        Some(Content::Int(value)) => value.to_string(),
        Some(Content::Float(_)) if tag == "!!int" => text.replace('_', ""),
        Some(Content::Float(value)) => shortest(value),
        Some(Content::String(value)) => value.to_owned(),
        _ => text.to_lowercase(),
    })
}

/// A key as a step of a path in the notation of JSONPath.
pub(super) fn key_step(key: NodeRef<'_>) -> String {
    let json = read(key, Scalars::Yaml12).ok();
    match json.as_ref().map(|json| json.root().content()) {
        Some(Content::Null) => "[<nil>]".to_owned(),
        Some(Content::Bool(value)) => format!("[{value}]"),
        Some(Content::Int(value)) => format!("[{value}]"),
        Some(Content::Float(value)) if value.abs() < 1e21 => format!("[{value}]"),
        Some(Content::Float(value)) => format!("[{}]", shortest(value)),
        Some(Content::String(name)) if is_simple(name) => format!(".{name}"),
        Some(Content::String(name)) => format!("[{}]", quote(name)),
        _ => format!("[{}]", key.value()),
    }
}

/// Letters, digits, `_` and `-`, with a letter first and no sign last.
fn is_simple(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte))
}
