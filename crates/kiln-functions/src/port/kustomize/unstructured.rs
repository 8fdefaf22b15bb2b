//! How kustomize decoded resources before June 2021: with the decoder of Kubernetes, in which `yes` is a boolean and
//! every key a string. Local configuration is dropped, and lists of resources are split.

use kiln_krm::Resource;
use kiln_krm::annotations::LOCAL_CONFIG;
use kiln_yaml::Document;

use super::resource_map::{MapError, check_repeated};
use super::round_trip::NotJson;
use super::{KustomizeRelease, shortest};
use crate::port::go_json::{JsonContent, JsonRef, Scalars, read};

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum TakeError {
    #[error("error unmarshaling JSON: while decoding JSON: Object 'Kind' is missing in '{0}'")]
    Kind(String),
    #[error("missing metadata.name in object {{{0}}}")]
    Name(String),
    #[error("empty item at {path} in object {{{object}}}")]
    EmptyItem { path: String, object: String },
    #[error("items in List is type {0}, expected array")]
    Items(&'static str),
    #[error(transparent)]
    Repeated(#[from] MapError),
    #[error(transparent)]
    NotJson(#[from] NotJson),
}

/// Decodes resources; the results are documents of JSON.
pub(crate) fn take(items: &mut Vec<Resource>, release: KustomizeRelease) -> Result<(), TakeError> {
    let mut taken = Vec::with_capacity(items.len());
    for resource in items.iter() {
        if resource.root().is_null() {
            continue;
        }
        let json = read(resource.root(), Scalars::Yaml11)
            .map_err(|error| NotJson(format!("error converting YAML to JSON: {error}")))?;
        // The items of a list follow it, the items of its nested lists follow those.
        let mut open = std::collections::VecDeque::from([json.root()]);
        while let Some(value) = open.pop_front() {
            check(value)?;
            if is_local(value) {
                continue;
            }
            if text(value, &["kind"]).ends_with("List") {
                match value.get("items") {
                    None => {}
                    Some(items) => match items.content() {
                        JsonContent::Array => open.extend(items.items()),
                        JsonContent::Null => {}
                        content => return Err(TakeError::Items(go_type(content))),
                    },
                }
                continue;
            }
            taken.push(Resource::new(document(value)?));
        }
    }
    check_repeated(&taken, release)?;
    *items = taken;
    Ok(())
}

fn check(value: JsonRef<'_>) -> Result<(), TakeError> {
    let kind = text(value, &["kind"]);
    if kind.is_empty() {
        let json = value.to_text().unwrap_or_default();
        return Err(TakeError::Kind(json));
    }
    if kind.ends_with("List") {
        return Ok(());
    }
    if text(value, &["metadata", "name"]).is_empty() {
        return Err(TakeError::Name(go_text(value)));
    }
    match empty_item(value) {
        Some(path) => Err(TakeError::EmptyItem {
            path,
            object: go_text(value),
        }),
        None => Ok(()),
    }
}

/// Whether the annotation exists; it does not if any annotation is not a string.
fn is_local(value: JsonRef<'_>) -> bool {
    let Some(annotations) = value.get_path(&["metadata", "annotations"]) else {
        return false;
    };
    let mut fields = annotations.fields();
    let all_texts = annotations
        .fields()
        .all(|(_, value)| value.as_str().is_some());
    all_texts && fields.any(|(key, _)| key == LOCAL_CONFIG)
}

fn text<'a>(value: JsonRef<'a>, path: &[&str]) -> &'a str {
    value.get_path(path).and_then(JsonRef::as_str).unwrap_or("")
}

fn document(value: JsonRef<'_>) -> Result<Document, NotJson> {
    let json = value
        .to_text()
        .ok_or_else(|| NotJson("exceeded max depth".to_owned()))?;
    let document = kiln_yaml::parse(&json).map_err(|error| NotJson(error.to_string()))?;
    Ok(document.unwrap_or_else(Document::new_mapping))
}

/// The path of the first null in an array, in the original's notation.
fn empty_item(root: JsonRef<'_>) -> Option<String> {
    let mut open = vec![(root, String::new())];
    while let Some((value, path)) = open.pop() {
        let from = open.len();
        for (at, item) in value.items().enumerate() {
            if item.content() == JsonContent::Null {
                return Some(path);
            }
            open.push((item, format!("{path}[{at}]/")));
        }
        let mut fields: Vec<_> = value.fields().collect();
        fields.sort_by_key(|(key, _)| *key);
        open.extend(
            fields
                .into_iter()
                .map(|(key, value)| (value, format!("{path}{key}/"))),
        );
        if let Some(added) = open.get_mut(from..) {
            added.reverse();
        }
    }
    None
}

/// A value in the format in which Go prints it.
fn go_text(root: JsonRef<'_>) -> String {
    enum TextPiece<'a> {
        Value(JsonRef<'a>),
        Text(String),
    }
    let mut out = String::new();
    let mut tasks = vec![TextPiece::Value(root)];
    while let Some(task) = tasks.pop() {
        let value = match task {
            TextPiece::Value(value) => value,
            TextPiece::Text(text) => {
                out.push_str(&text);
                continue;
            }
        };
        let mut inner = Vec::new();
        match value.content() {
            JsonContent::Null => out.push_str("<nil>"),
            JsonContent::Bool(flag) => out.push_str(&flag.to_string()),
            JsonContent::Int(number) => out.push_str(&number.to_string()),
            JsonContent::Float(number) if number.fract() == 0.0 && number.abs() < 9.3e18 => {
                out.push_str(&number.to_string());
            }
            JsonContent::Float(number) => out.push_str(&shortest(number)),
            JsonContent::String(text) => out.push_str(text),
            JsonContent::Array => {
                out.push('[');
                for (at, item) in value.items().enumerate() {
                    if at > 0 {
                        inner.push(TextPiece::Text(" ".to_owned()));
                    }
                    inner.push(TextPiece::Value(item));
                }
                inner.push(TextPiece::Text("]".to_owned()));
            }
            JsonContent::Object => {
                out.push_str("map[");
                let mut fields: Vec<_> = value.fields().collect();
                fields.sort_by_key(|(key, _)| *key);
                for (at, (key, value)) in fields.into_iter().enumerate() {
                    let space = if at > 0 { " " } else { "" };
                    inner.push(TextPiece::Text(format!("{space}{key}:")));
                    inner.push(TextPiece::Value(value));
                }
                inner.push(TextPiece::Text("]".to_owned()));
            }
        }
        tasks.extend(inner.into_iter().rev());
    }
    out
}

fn go_type(content: JsonContent<'_>) -> &'static str {
    match content {
        JsonContent::Null => "<nil>",
        JsonContent::Bool(_) => "bool",
        JsonContent::Int(_) => "int64",
        JsonContent::Float(_) => "float64",
        JsonContent::String(_) => "string",
        JsonContent::Array => "[]interface {}",
        JsonContent::Object => "map[string]interface {}",
    }
}
