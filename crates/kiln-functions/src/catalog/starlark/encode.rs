//! Converts values to trees, as go-yaml v3 marshals them and reads them again.

use std::cmp::Ordering;

use kiln_starlark::{
    Ancestors, Dict, Failure, Usage, Value, ValueChildren, ValueKind, format_float, stable_sort,
};
use kiln_yaml::{Document, NodeId, Style};

use super::time::Time;
use crate::port::go_yaml::{compare_keys, is_other};

pub(super) struct EncodedItem {
    pub(super) document: Document,
    /// Whether its text may be parsed as another tree.
    pub(super) is_unsettled: bool,
}

/// Bytes of a document node in addition to its text, in the tree and in its output.
pub(super) const NODE_BYTES: usize = 160;

/// How deep written values may nest, which is the limit of the YAML parser.
const MAX_DEPTH: usize = 10_000;

pub(super) fn has_items(resource_list: &Value) -> bool {
    matches!(resource_list.kind(), ValueKind::Dict(list) if list.get_str("items").is_some())
}

/// The items of the list after the script, if all of them can be written.
pub(super) fn items(usage: &Usage<'_>, resource_list: &Value) -> Result<Vec<Value>, Failure> {
    check(usage, resource_list)?;
    let ValueKind::Dict(list) = resource_list.kind() else {
        return Ok(Vec::new());
    };
    let Some(items) = list.get_str("items") else {
        let message = "wrong Node Kind for  expected: SequenceNode was : value: {}";
        return Err(Failure::new(message));
    };
    let items: Vec<Value> = match items.kind() {
        ValueKind::List(_) | ValueKind::Tuple(_) => {
            let mut values = Vec::new();
            for child in ValueChildren::new(&items) {
                usage.allocate(2 * size_of::<Value>())?;
                values.push(child.value);
            }
            values
        }
        ValueKind::None => Vec::new(),
        _ => {
            let message = "wrong Node Kind for items expected: SequenceNode";
            return Err(Failure::new(message));
        }
    };
    let is_mapping = |value: &Value| matches!(value.kind(), ValueKind::Dict(_));
    match items.iter().all(is_mapping) {
        true => Ok(items),
        false => Err(Failure::new(
            "failed to extract objects: wrong node kind: expected Mapping",
        )),
    }
}

/// An item that [`items`] has checked.
pub(super) fn item(usage: &Usage<'_>, value: &Value) -> Result<EncodedItem, Failure> {
    write(usage, value, is_other)
}

/// A single value. `is_other` returns which texts are not strings unless quoted.
pub(super) fn document(
    usage: &Usage<'_>,
    value: &Value,
    is_other: fn(&str) -> bool,
) -> Result<Document, Failure> {
    check(usage, value)?;
    Ok(write(usage, value, is_other)?.document)
}

fn write(
    usage: &Usage<'_>,
    value: &Value,
    is_other: fn(&str) -> bool,
) -> Result<EncodedItem, Failure> {
    let mut writer = ValueEncoder {
        usage,
        document: Document::new_mapping(),
        is_other,
        is_unsettled: false,
        open: Vec::new(),
    };
    let root = writer.begin(value, 0)?;
    while let Some((node, value, depth)) = writer.open.pop() {
        writer.fill(node, &value, depth + 1)?;
    }
    writer.document.set_root(root);
    Ok(EncodedItem {
        document: writer.document,
        is_unsettled: writer.is_unsettled,
    })
}

/// A collection that is being checked.
struct OpenCollection {
    children: ValueChildren,
    /// A key, which is checked after its value.
    key: Option<Value>,
    is_dict: bool,
}

/// Checks for values that Go cannot convert, in Go's order, and for values that contain themselves, on which the
/// original would not end.
fn check(usage: &Usage<'_>, value: &Value) -> Result<(), Failure> {
    let mut open: Vec<OpenCollection> = Vec::new();
    let mut ancestors = Ancestors::default();
    let mut next = Some((value.clone(), false));
    let mut nodes: usize = 0;
    loop {
        if let Some((value, is_key)) = next.take() {
            usage.charge(1)?;
            nodes += 1;
            // A value with shared parts may have far more nodes than can be written.
            usage.check_room(nodes.saturating_mul(NODE_BYTES))?;
            if let Some(problem) = problem(&value) {
                return Err(blame(&open, is_key, &problem));
            }
            let is_dict = matches!(value.kind(), ValueKind::Dict(_));
            if is_dict || matches!(value.kind(), ValueKind::List(_) | ValueKind::Tuple(_)) {
                if !ancestors.enter(&value) {
                    return Err(blame(&open, is_key, "value contains itself"));
                }
                if ancestors.len() > MAX_DEPTH {
                    let message = format!("yaml: exceeded max depth of {MAX_DEPTH}");
                    return Err(Failure::new(message));
                }
                open.push(OpenCollection {
                    children: ValueChildren::new(&value),
                    key: None,
                    is_dict,
                });
            }
        }
        let Some(collection) = open.last_mut() else {
            return Ok(());
        };
        if let Some(key) = collection.key.take() {
            next = Some((key, true));
        } else if let Some(child) = collection.children.next() {
            collection.key = child.key;
            next = Some((child.value, false));
        } else {
            open.pop();
            ancestors.leave();
        }
    }
}

/// Why Go cannot convert a value, regardless of its content.
fn problem(value: &Value) -> Option<String> {
    match value.kind() {
        ValueKind::BigInt(big) => Some(format!(
            "{big} out of range (want value in signed 64-bit range)"
        )),
        ValueKind::Set(_) => Some("sets aren't yet supported".to_owned()),
        ValueKind::Struct(_) => Some(
            "constructor object from *starlarkstruct.Struct not supported Marshaler to \
             starlark object: string"
                .to_owned(),
        ),
        ValueKind::Bytes(_) | ValueKind::Other => {
            Some(format!("unrecognized starlark type: {}", value.type_name()))
        }
        ValueKind::Object(object) if object.as_any().downcast_ref::<Time>().is_none() => {
            Some(format!("unrecognized starlark type: {}", value.type_name()))
        }
        _ => None,
    }
}

/// An error with the text that Go adds for each enclosing dict.
fn blame(open: &[OpenCollection], is_key: bool, problem: &str) -> Failure {
    let dicts = open.iter().filter(|collection| collection.is_dict).count();
    let (values, key) = match is_key {
        true => (dicts.saturating_sub(1), "unmarshaling starlark key: "),
        false => (dicts, ""),
    };
    let values = "unmarshaling starlark value: ".repeat(values);
    Failure::new(format!("{values}{key}{problem}"))
}

struct ValueEncoder<'a> {
    usage: &'a Usage<'a>,
    document: Document,
    is_other: fn(&str) -> bool,
    is_unsettled: bool,
    /// Collections to fill, and their depth.
    open: Vec<(NodeId, Value, usize)>,
}

impl ValueEncoder<'_> {
    /// The node of a value; collections are filled later.
    fn begin(&mut self, value: &Value, depth: usize) -> Result<NodeId, Failure> {
        // The text of the node is copied into the output, after its indentation.
        let text = match value.kind() {
            ValueKind::String(text) => text.len().saturating_mul(2),
            _ => 0,
        };
        self.usage.charge(1)?;
        self.usage
            .keep(text.saturating_add(NODE_BYTES + 2 * depth))?;
        let document = &mut self.document;
        let (node, length) = match value.kind() {
            ValueKind::Dict(dict) => (document.new_mapping_node(), dict.len()),
            ValueKind::List(list) => (document.new_sequence_node(), list.len()),
            ValueKind::Tuple(elements) => (document.new_sequence_node(), elements.len()),
            _ => return self.scalar(value, depth),
        };
        match length {
            0 => document.set_style(node, Style::FLOW),
            _ => self.open.push((node, value.clone(), depth)),
        }
        Ok(node)
    }

    fn fill(&mut self, node: NodeId, value: &Value, depth: usize) -> Result<(), Failure> {
        if let ValueKind::Dict(dict) = value.kind() {
            for (key, value) in sorted_entries(self.usage, dict)? {
                let key = self.begin(&key, depth)?;
                let value = self.begin(&value, depth)?;
                self.document.push_entry(node, key, value);
            }
            return Ok(());
        }
        for child in ValueChildren::new(value) {
            let element = self.begin(&child.value, depth)?;
            self.document.push_item(node, element);
        }
        Ok(())
    }

    fn scalar(&mut self, value: &Value, depth: usize) -> Result<NodeId, Failure> {
        let document = &mut self.document;
        Ok(match value.kind() {
            ValueKind::Bool(bool) => document.new_scalar(if bool { "true" } else { "false" }, ""),
            ValueKind::Int(int) => document.new_scalar(&int.to_string(), ""),
            ValueKind::Float(float) => document.new_scalar(&float_text(float), ""),
            ValueKind::String(text) => return self.string(&String::from_utf8_lossy(text), depth),
            ValueKind::Object(object) => {
                let time = object.as_any().downcast_ref::<Time>();
                document.new_scalar(time.map_or("", |time| &time.text), "")
            }
            _ => document.new_scalar("null", ""),
        })
    }

    fn string(&mut self, text: &str, depth: usize) -> Result<NodeId, Failure> {
        let node = self.document.new_string(text);
        let line_ends = text.bytes().filter(|byte| *byte == b'\n').count();
        if line_ends > 0 {
            self.usage.keep(line_ends.saturating_mul(2 * depth + 2))?;
            self.document.set_style(node, Style::LITERAL);
            self.is_unsettled |= !is_simple_literal(text);
        } else if (self.is_other)(text) {
            self.document.set_style(node, Style::DOUBLE_QUOTED);
        } else {
            self.is_unsettled |= !is_simple_plain(text);
        }
        Ok(node)
    }
}

/// The entries of a dict sorted by key: numbers and booleans by value, then strings in go-yaml's order.
fn sorted_entries(usage: &Usage<'_>, dict: &Dict) -> Result<Vec<(Value, Value)>, Failure> {
    usage.allocate(dict.len().saturating_mul(2 * size_of::<(Value, Value)>()))?;
    let mut entries = dict.items();
    let mut stopped = None;
    stable_sort(&mut entries, &mut |(a, _), (b, _)| {
        let length = |key: &Value| key.as_str_bytes().map_or(0, <[u8]>::len);
        match &stopped {
            Some(_) => return false,
            None => stopped = usage.charge(4 + (length(a) + length(b)) / 8).err(),
        }
        compare_entries(a, b).is_lt()
    });
    match stopped {
        Some(failure) => Err(failure),
        None => Ok(entries),
    }
}

fn compare_entries(a: &Value, b: &Value) -> Ordering {
    let number = |key: &Value| match key.kind() {
        ValueKind::Bool(bool) => f64::from(u8::from(bool)),
        ValueKind::Int(int) => int as f64,
        ValueKind::Float(float) => float,
        _ => f64::NEG_INFINITY,
    };
    match (a.as_str_bytes(), b.as_str_bytes()) {
        (Some(a), Some(b)) => {
            compare_keys(&String::from_utf8_lossy(a), &String::from_utf8_lossy(b))
        }
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => number(a).total_cmp(&number(b)),
    }
}

/// A float as Go prints it; an integral one looks like an integer.
pub(super) fn float_text(float: f64) -> String {
    if float.is_nan() {
        return ".nan".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let text = format_float(float, b'g');
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Whether a string surely needs no quotes.
fn is_simple_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let Some((first, last)) = bytes.first().zip(bytes.last()) else {
        return false;
    };
    let is_printable = bytes.iter().all(|byte| (b' '..=b'~').contains(byte));
    is_printable
        && !b" #,[]{}&*!|>'\"%@`-?:".contains(first)
        && !matches!(last, b' ' | b':')
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.starts_with("...")
}

/// Whether a string of several lines can surely be a literal block.
fn is_simple_literal(text: &str) -> bool {
    let is_plain = |byte: u8| (b' '..=b'~').contains(&byte) || byte == b'\n';
    text.bytes().all(is_plain)
        && !text.starts_with([' ', '\n'])
        && !text.contains(" \n")
        && !text.ends_with(' ')
}
