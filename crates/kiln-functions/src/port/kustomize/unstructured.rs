//! Resources as kustomize took them before June 2021: by way of Kubernetes' own decoder, in which `yes` is a boolean and
//! every key a text. Those for local use are dropped, and lists of resources taken apart.

use kiln_krm::Resource;
use kiln_krm::annotations::LOCAL_CONFIG;
use kiln_yaml::Document;

use super::resource_map::{MapError, check_repeated};
use super::round_trip::NotJson;
use super::{Generation, shortest};
use crate::port::go_json::{Content, JsonRef, Scalars, read};

/// Why a resource is not taken.
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

/// Takes resources: what is left of them are documents of JSON.
pub(crate) fn take(items: &mut Vec<Resource>, generation: Generation) -> Result<(), TakeError> {
    let mut taken = Vec::with_capacity(items.len());
    for resource in items.iter() {
        if resource.root().is_null() {
            continue;
        }
        let json = read(resource.root(), Scalars::Yaml11)
            .map_err(|error| NotJson(format!("error converting YAML to JSON: {error}")))?;
        // Those inside of a list come behind it, those inside of a list in it behind these.
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
                        Content::Array => open.extend(items.items()),
                        Content::Null => {}
                        content => return Err(TakeError::Items(go_type(content))),
                    },
                }
                continue;
            }
            taken.push(Resource::new(document(value)?));
        }
    }
    check_repeated(&taken, generation)?;
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

/// Whether the annotation is there; it is not if any of them is no text.
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

/// Where the first null in an array is, in the original's spelling of paths.
fn empty_item(root: JsonRef<'_>) -> Option<String> {
    let mut open = vec![(root, String::new())];
    while let Some((value, path)) = open.pop() {
        let from = open.len();
        for (at, item) in value.items().enumerate() {
            if item.content() == Content::Null {
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

/// A value as Go prints it.
fn go_text(root: JsonRef<'_>) -> String {
    enum Task<'a> {
        Value(JsonRef<'a>),
        Text(String),
    }
    let mut out = String::new();
    let mut tasks = vec![Task::Value(root)];
    while let Some(task) = tasks.pop() {
        let value = match task {
            Task::Value(value) => value,
            Task::Text(text) => {
                out.push_str(&text);
                continue;
            }
        };
        let mut inner = Vec::new();
        match value.content() {
            Content::Null => out.push_str("<nil>"),
            Content::Bool(flag) => out.push_str(&flag.to_string()),
            Content::Int(number) => out.push_str(&number.to_string()),
            Content::Float(number) if number.fract() == 0.0 && number.abs() < 9.3e18 => {
                out.push_str(&number.to_string());
            }
            Content::Float(number) => out.push_str(&shortest(number)),
            Content::String(text) => out.push_str(text),
            Content::Array => {
                out.push('[');
                for (at, item) in value.items().enumerate() {
                    if at > 0 {
                        inner.push(Task::Text(" ".to_owned()));
                    }
                    inner.push(Task::Value(item));
                }
                inner.push(Task::Text("]".to_owned()));
            }
            Content::Object => {
                out.push_str("map[");
                let mut fields: Vec<_> = value.fields().collect();
                fields.sort_by_key(|(key, _)| *key);
                for (at, (key, value)) in fields.into_iter().enumerate() {
                    let space = if at > 0 { " " } else { "" };
                    inner.push(Task::Text(format!("{space}{key}:")));
                    inner.push(Task::Value(value));
                }
                inner.push(Task::Text("]".to_owned()));
            }
        }
        tasks.extend(inner.into_iter().rev());
    }
    out
}

fn go_type(content: Content<'_>) -> &'static str {
    match content {
        Content::Null => "<nil>",
        Content::Bool(_) => "bool",
        Content::Int(_) => "int64",
        Content::Float(_) => "float64",
        Content::String(_) => "string",
        Content::Array => "[]interface {}",
        Content::Object => "map[string]interface {}",
    }
}
