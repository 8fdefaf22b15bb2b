//! How a pass through JSON changes a resource: no comments, no styles, keys in go-yaml's order, and numbers are
//! floats, written with an exponent from a million on.

use kiln_krm::write::json::to_json;
use kiln_yaml::{Document, NodeId, NodeRef, Style};

use super::number::shortest;
use crate::port::go_json::{JsonContent, JsonError, JsonRef, Scalars, read};
use crate::port::go_yaml::{compare_keys, is_other};

/// A resource that JSON cannot represent.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotJson(pub(super) String);

/// What happens to `<<` below the top of a resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MergeKeys {
    Merged,
    /// go-yaml before v3.0.1 does not take a mapping with `<<` for one whose keys are strings.
    Refused,
}

/// Changes a resource like a filter that works on JSON parsed as YAML: the change gets quoted strings and flow style,
/// and the resource is the output of JSON afterwards.
pub(crate) fn through_json<E: From<NotJson>>(
    document: &Document,
    merge_keys: MergeKeys,
    change: impl FnOnce(&mut Document) -> Result<(), E>,
) -> Result<Document, E> {
    if merge_keys == MergeKeys::Refused && has_inner_merge_key(document) {
        return Err(NotJson(JsonError::Key.to_string()).into());
    }
    let json = to_json(document).map_err(|error| NotJson(error.0.to_string()))?;
    let json = kiln_yaml::parse(&json).map_err(|error| NotJson(error.to_string()))?;
    let mut json = json.unwrap_or_else(Document::new_mapping);
    change(&mut json)?;
    Ok(round_trip(&json)?)
}

fn has_inner_merge_key(document: &Document) -> bool {
    let mut open: Vec<NodeRef<'_>> = document.root().children().collect();
    while let Some(node) = open.pop() {
        if node.entries().any(|(key, _)| key.tag() == "!!merge") {
            return true;
        }
        open.extend(node.children());
    }
    false
}

/// How numbers are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Numbers {
    /// All as floats.
    Floats,
    /// Integers as integers.
    Kept,
}

/// The resource after a pass through JSON.
pub(crate) fn round_trip(document: &Document) -> Result<Document, NotJson> {
    out_of_json(document, Numbers::Floats)
}

/// The same, with numbers of either form.
pub(crate) fn out_of_json(document: &Document, numbers: Numbers) -> Result<Document, NotJson> {
    let json =
        read(document.root(), Scalars::Yaml12).map_err(|error| NotJson(error.to_string()))?;
    let mut out = Document::new_mapping();
    let mut open = Vec::new();
    let root = begin(&mut out, json.root(), numbers, &mut open);
    while let Some((node, value)) = open.pop() {
        for item in value.items() {
            let item = begin(&mut out, item, numbers, &mut open);
            out.push_item(node, item);
        }
        let mut fields: Vec<_> = value.fields().collect();
        fields.sort_by(|(a, _), (b, _)| compare_keys(a, b));
        for (key, value) in fields {
            let key = string(&mut out, key);
            let value = begin(&mut out, value, numbers, &mut open);
            out.push_entry(node, key, value);
        }
    }
    out.set_root(root);
    Ok(out)
}

/// The node of a value; collections are filled later.
fn begin<'a>(
    out: &mut Document,
    value: JsonRef<'a>,
    numbers: Numbers,
    open: &mut Vec<(NodeId, JsonRef<'a>)>,
) -> NodeId {
    let node = match value.content() {
        JsonContent::Null => return out.new_scalar("null", ""),
        JsonContent::Bool(flag) => return out.new_scalar(if flag { "true" } else { "false" }, ""),
        JsonContent::Int(number) if numbers == Numbers::Kept => {
            return out.new_scalar(&number.to_string(), "");
        }
        JsonContent::Int(number) => return out.new_scalar(&shortest(number as f64), ""),
        JsonContent::Float(number) if numbers == Numbers::Kept && is_whole(number) => {
            return out.new_scalar(&number.to_string(), "");
        }
        JsonContent::Float(number) => return out.new_scalar(&shortest(number), ""),
        JsonContent::String(text) => return string(out, text),
        JsonContent::Array => out.new_sequence_node(),
        JsonContent::Object => out.new_mapping_node(),
    };
    open.push((node, value));
    node
}

/// Whether Go's JSON writes a float as an integer that go-yaml can parse.
fn is_whole(number: f64) -> bool {
    number.fract() == 0.0 && number > -9.3e18 && number < 1.85e19
}

fn string(out: &mut Document, text: &str) -> NodeId {
    let node = out.new_string(text);
    if text.contains('\n') {
        out.set_style(node, Style::LITERAL);
    } else if is_other(text) {
        out.set_style(node, Style::DOUBLE_QUOTED);
    }
    node
}
