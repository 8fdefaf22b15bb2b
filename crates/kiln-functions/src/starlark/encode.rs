//! Values to trees, as go-yaml v3 marshals them and reads them again.

use kiln_starlark::{Kind, Value};
use kiln_yaml::{Document, NodeId, Style};

use super::time::Time;
use crate::sdk::go_yaml::{compare_keys, is_other};

/// An item as it is to be written.
pub(super) struct Item {
    pub(super) document: Document,
    /// Whether its text may be read as another tree.
    pub(super) is_unsettled: bool,
}

/// The items of the list that a script has left, if all of them can be written.
pub(super) fn items(resource_list: &Value) -> Result<Vec<Value>, String> {
    check(resource_list)?;
    let Kind::Dict(list) = resource_list.kind() else {
        return Ok(Vec::new());
    };
    let Some(items) = list.get_str("items") else {
        return Err("wrong Node Kind for  expected: SequenceNode was : value: {}".to_owned());
    };
    let values: Vec<Value> = match items.kind() {
        Kind::List(items) => items.elements().clone(),
        Kind::Tuple(items) => items.to_vec(),
        Kind::None => Vec::new(),
        _ => {
            return Err("wrong Node Kind for items expected: SequenceNode".to_owned());
        }
    };
    match values
        .iter()
        .all(|value| matches!(value.kind(), Kind::Dict(_)))
    {
        true => Ok(values),
        false => Err("failed to extract objects: wrong node kind: expected Mapping".to_owned()),
    }
}

/// An item that [`items`] has found to be good.
pub(super) fn item(value: &Value) -> Item {
    write(value, is_other)
}

/// A value by itself. `is_other` says of which texts that are no strings must be quoted.
pub(super) fn document(value: &Value, is_other: fn(&str) -> bool) -> Result<Document, String> {
    check(value)?;
    Ok(write(value, is_other).document)
}

fn write(value: &Value, is_other: fn(&str) -> bool) -> Item {
    let mut writer = Writer {
        document: Document::new_mapping(),
        is_other,
        is_unsettled: false,
        open: Vec::new(),
    };
    let root = writer.begin(value);
    while let Some((node, value)) = writer.open.pop() {
        writer.fill(node, &value);
    }
    writer.document.set_root(root);
    Item {
        document: writer.document,
        is_unsettled: writer.is_unsettled,
    }
}

/// Looks for what Go could not convert, in the order in which it converts, and for values inside of themselves, on which the
/// original would run for ever.
fn check(value: &Value) -> Result<(), String> {
    enum Task {
        Value(Value),
        Key(Value),
        Leave,
    }
    let mut tasks = vec![Task::Value(value.clone())];
    // For each collection around: what it is, and whether it is a dict.
    let mut around: Vec<(*const (), bool)> = Vec::new();
    while let Some(task) = tasks.pop() {
        let (value, is_key) = match task {
            Task::Leave => {
                around.pop();
                continue;
            }
            Task::Value(value) => (value, false),
            Task::Key(key) => (key, true),
        };
        let place = match value.kind() {
            Kind::Dict(dict) => Some(std::rc::Rc::as_ptr(dict).cast::<()>()),
            Kind::List(list) => Some(std::rc::Rc::as_ptr(list).cast()),
            _ => None,
        };
        let problem = match value.kind() {
            _ if place.is_some_and(|place| around.iter().any(|(other, _)| *other == place)) => {
                Some("value contains itself".to_owned())
            }
            Kind::BigInt(big) => Some(format!(
                "{big} out of range (want value in signed 64-bit range)"
            )),
            Kind::Set(_) => Some("sets aren't yet supported".to_owned()),
            Kind::Struct(_) => Some(
                "constructor object from *starlarkstruct.Struct not supported Marshaler to \
                 starlark object: string"
                    .to_owned(),
            ),
            Kind::Bytes(_) | Kind::Other => {
                Some(format!("unrecognized starlark type: {}", value.type_name()))
            }
            Kind::Object(object) if object.as_any().downcast_ref::<Time>().is_none() => {
                Some(format!("unrecognized starlark type: {}", value.type_name()))
            }
            _ => None,
        };
        if let Some(problem) = problem {
            let dicts = around.iter().filter(|(_, is_dict)| *is_dict).count();
            let values = if is_key {
                dicts.saturating_sub(1)
            } else {
                dicts
            };
            let key = if is_key {
                "unmarshaling starlark key: "
            } else {
                ""
            };
            return Err(format!(
                "{}{key}{problem}",
                "unmarshaling starlark value: ".repeat(values)
            ));
        }
        match value.kind() {
            Kind::Dict(dict) => {
                around.push((std::rc::Rc::as_ptr(dict).cast(), true));
                tasks.push(Task::Leave);
                for (key, value) in dict.items().into_iter().rev() {
                    tasks.push(Task::Key(key));
                    tasks.push(Task::Value(value));
                }
            }
            Kind::List(list) => {
                around.push((std::rc::Rc::as_ptr(list).cast(), false));
                tasks.push(Task::Leave);
                tasks.extend(list.elements().iter().rev().cloned().map(Task::Value));
            }
            Kind::Tuple(elements) => {
                tasks.extend(elements.iter().rev().cloned().map(Task::Value));
            }
            _ => {}
        }
    }
    Ok(())
}

struct Writer {
    document: Document,
    is_other: fn(&str) -> bool,
    is_unsettled: bool,
    /// Collections that are still to be filled.
    open: Vec<(NodeId, Value)>,
}

impl Writer {
    /// The node of a value; a collection is filled later.
    fn begin(&mut self, value: &Value) -> NodeId {
        let document = &mut self.document;
        let (node, length) = match value.kind() {
            Kind::Dict(dict) => (document.new_mapping_node(), dict.len()),
            Kind::List(list) => (document.new_sequence_node(), list.len()),
            Kind::Tuple(elements) => (document.new_sequence_node(), elements.len()),
            _ => return self.scalar(value),
        };
        match length {
            0 => document.set_style(node, Style::FLOW),
            _ => self.open.push((node, value.clone())),
        }
        node
    }

    fn fill(&mut self, node: NodeId, value: &Value) {
        match value.kind() {
            Kind::Dict(dict) => {
                let mut entries = dict.items();
                sort_entries(&mut entries);
                for (key, value) in entries {
                    let key = self.begin(&key);
                    let value = self.begin(&value);
                    self.document.push_entry(node, key, value);
                }
            }
            Kind::List(list) => {
                for element in list.elements().iter() {
                    let element = self.begin(element);
                    self.document.push_item(node, element);
                }
            }
            Kind::Tuple(elements) => {
                for element in elements {
                    let element = self.begin(element);
                    self.document.push_item(node, element);
                }
            }
            _ => {}
        }
    }

    fn scalar(&mut self, value: &Value) -> NodeId {
        let document = &mut self.document;
        match value.kind() {
            Kind::Bool(bool) => document.new_scalar(if bool { "true" } else { "false" }, ""),
            Kind::Int(int) => document.new_scalar(&int.to_string(), ""),
            Kind::Float(float) => document.new_scalar(&float_text(float), ""),
            Kind::String(text) => self.string(&String::from_utf8_lossy(text)),
            Kind::Object(object) => {
                let time = object.as_any().downcast_ref::<Time>();
                document.new_scalar(time.map_or("", |time| &time.text), "")
            }
            _ => document.new_scalar("null", ""),
        }
    }

    fn string(&mut self, text: &str) -> NodeId {
        let node = self.document.new_string(text);
        if text.contains('\n') {
            self.document.set_style(node, Style::LITERAL);
            self.is_unsettled |= !is_simple_literal(text);
        } else if (self.is_other)(text) {
            self.document.set_style(node, Style::DOUBLE_QUOTED);
        } else {
            self.is_unsettled |= !is_simple_plain(text);
        }
        node
    }
}

/// Sorts by key: numbers and booleans by value before all texts, which have an order of their own.
fn sort_entries(entries: &mut [(Value, Value)]) {
    let text = |key: &Value| match key.kind() {
        Kind::String(text) => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    };
    let number = |key: &Value| match key.kind() {
        Kind::Bool(bool) => f64::from(u8::from(bool)),
        Kind::Int(int) => int as f64,
        Kind::Float(float) => float,
        _ => f64::NEG_INFINITY,
    };
    entries.sort_by(|(a, _), (b, _)| match (text(a), text(b)) {
        (Some(a), Some(b)) => compare_keys(&a, &b),
        (Some(_), None) => std::cmp::Ordering::Greater,
        (None, Some(_)) => std::cmp::Ordering::Less,
        (None, None) => number(a).total_cmp(&number(b)),
    });
}

/// A float as Go prints it; a whole one looks like an integer.
pub(super) fn float_text(float: f64) -> String {
    if float.is_nan() {
        return ".nan".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let text = String::from_utf8_lossy(&Value::from(float).repr()).into_owned();
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Whether a text that is a string can surely stand without quotes.
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

/// Whether a text of several lines can surely stand as a literal block.
fn is_simple_literal(text: &str) -> bool {
    let is_plain = |byte: u8| (b' '..=b'~').contains(&byte) || byte == b'\n';
    text.bytes().all(is_plain)
        && !text.starts_with([' ', '\n'])
        && !text.contains(" \n")
        && !text.ends_with(' ')
}
