//! `encoding/json.star`: encoding and indenting.

use super::json_decode::{decode, indent};
use super::module as make_module;
use crate::builder::TextBuilder;
use crate::error::{Failure, fail};
use crate::eval::{Arguments, Context};
use crate::text;
use crate::usage::Usage;
use crate::value::{Ancestors, Iter, Repr, Value, ValueChildren, format_float, write_repr};

pub(super) fn module() -> Value {
    make_module(
        "json",
        &[
            ("encode", "json.encode", encode),
            ("encode_indent", "json.encode_indent", encode_indent),
            ("decode", "json.decode", decode),
            ("indent", "json.indent", indent),
        ],
    )
}

fn encode(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(1, 1)?;
    let out = args.naming(write(ctx.usage, &args.value(0)))?;
    Value::new_string(ctx.usage, out)
}

fn encode_indent(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let (prefix, unit) = super::json_decode::indentation(args)?;
    let positional = Arguments {
        named: &[],
        ..*args
    };
    positional.count(1, 1)?;
    let text = args.naming(write(ctx.usage, &args.value(0)))?;
    super::json_decode::reindent(ctx.usage, &text, &prefix, &unit)
}

/// A container that is being written.
struct OpenContainer {
    /// The entries of a dict, sorted by key; for other containers the parts in order.
    entries: Entries,
    end: &'static [u8],
    /// The key that is being written.
    key: Option<Value>,
}

enum Entries {
    Sorted(std::vec::IntoIter<(Value, Value)>),
    Unsorted(ValueChildren),
}

fn write(usage: &Usage<'_>, value: &Value) -> Result<Vec<u8>, Failure> {
    let mut out = TextBuilder::new(usage);
    let mut open: Vec<OpenContainer> = Vec::new();
    let mut ancestors = Ancestors::default();
    let mut next = Some(value.clone());
    loop {
        if let Some(value) = next.take() {
            usage.charge(1)?;
            let begun = begin(usage, &value, &mut out, &mut ancestors);
            match begun {
                Ok(None) => {}
                Ok(Some(container)) => {
                    usage.allocate(2 * size_of::<OpenContainer>())?;
                    open.push(container);
                }
                Err(failure) => return Err(within(usage, failure, &open)?),
            }
        }
        let Some(container) = open.last_mut() else {
            return Ok(out.into_bytes());
        };
        let is_first = container.is_first();
        let child = match &mut container.entries {
            Entries::Sorted(entries) => entries.next().map(|(key, value)| (Some(key), value)),
            Entries::Unsorted(children) => children.next().map(|child| (child.key, child.value)),
        };
        let Some((key, value)) = child else {
            out.push(container.end)?;
            open.pop();
            ancestors.leave();
            continue;
        };
        if !is_first {
            out.push(b",")?;
        }
        if let Some(key) = &key {
            write_string(key.as_str_bytes().unwrap_or_default(), &mut out)?;
            out.push(b":")?;
        }
        container.key = key;
        next = Some(value);
    }
}

impl OpenContainer {
    fn is_first(&self) -> bool {
        match &self.entries {
            Entries::Sorted(_) => self.key.is_none(),
            Entries::Unsorted(children) => children.returned() == 0,
        }
    }

    /// The path of the part that is being written, for messages.
    fn place(&self, usage: &Usage<'_>) -> Result<String, Failure> {
        Ok(match (&self.entries, &self.key) {
            (Entries::Sorted(_), Some(key)) => format!("in dict key {}", key.shown(usage)?),
            (Entries::Unsorted(_), Some(name)) => {
                let name = String::from_utf8_lossy(name.as_str_bytes().unwrap_or_default());
                format!("in field .{name}")
            }
            (Entries::Unsorted(children), None) => {
                let type_name = children.container().type_name();
                let index = children.returned().saturating_sub(1);
                format!("at {type_name} index {index}")
            }
            (Entries::Sorted(_), None) => String::new(),
        })
    }
}

/// The failure with the path before its message.
fn within(usage: &Usage<'_>, failure: Failure, open: &[OpenContainer]) -> Result<Failure, Failure> {
    const SHOWN: usize = 500;
    let mut message = TextBuilder::new(usage);
    for (i, container) in open.iter().enumerate() {
        // The path to a very deep value is shown in part.
        if (SHOWN..open.len().saturating_sub(SHOWN)).contains(&i) {
            continue;
        }
        message.push(container.place(usage)?.as_bytes())?;
        message.push(b": ")?;
    }
    message.push(failure.message().as_bytes())?;
    let message = message.into_bytes();
    Ok(Failure::new(String::from_utf8_lossy(&message)))
}

/// Writes a value, or the beginning of a container, whose parts are still to be written.
fn begin(
    usage: &Usage<'_>,
    value: &Value,
    out: &mut TextBuilder<'_>,
    ancestors: &mut Ancestors,
) -> Result<Option<OpenContainer>, Failure> {
    match &value.0 {
        Repr::None => out.push(b"null")?,
        Repr::Bool(true) => out.push(b"true")?,
        Repr::Bool(false) => out.push(b"false")?,
        Repr::Int(_) | Repr::Big(_) => write_repr(value, out)?,
        Repr::Float(float) if !float.is_finite() => {
            return fail(format!(
                "cannot encode non-finite float {}",
                format_float(*float, b'g')
            ));
        }
        Repr::Float(float) => out.push(format_float(*float, b'g').as_bytes())?,
        Repr::String(text) => write_string(text, out)?,
        Repr::Dict(dict) => {
            enter(ancestors, value)?;
            usage.allocate(dict.len().saturating_mul(4 * size_of::<Value>()))?;
            usage.charge(dict.len())?;
            let mut entries = dict.items();
            if let Some((key, _)) = entries.iter().find(|(key, _)| key.as_str_bytes().is_none()) {
                return fail(format!("dict has {} key, want string", key.type_name()));
            }
            entries.sort_by(|(a, _), (b, _)| a.as_str_bytes().cmp(&b.as_str_bytes()));
            out.push(b"{")?;
            return Ok(Some(OpenContainer {
                entries: Entries::Sorted(entries.into_iter()),
                end: b"}",
                key: None,
            }));
        }
        Repr::Struct(_) => {
            enter(ancestors, value)?;
            out.push(b"{")?;
            return Ok(Some(OpenContainer {
                entries: Entries::Unsorted(ValueChildren::new(value)),
                end: b"}",
                key: None,
            }));
        }
        _ => {
            if Iter::new(value).is_none() {
                return fail(format!("cannot encode {} as JSON", value.type_name()));
            }
            enter(ancestors, value)?;
            out.push(b"[")?;
            return Ok(Some(OpenContainer {
                entries: Entries::Unsorted(ValueChildren::new(value)),
                end: b"]",
                key: None,
            }));
        }
    }
    Ok(None)
}

fn enter(ancestors: &mut Ancestors, value: &Value) -> Result<(), Failure> {
    match ancestors.enter(value) {
        true => Ok(()),
        false => fail("cycle in JSON structure"),
    }
}

fn write_string(text: &[u8], out: &mut TextBuilder<'_>) -> Result<(), Failure> {
    // The longest escape of a byte has six.
    let most = text.len().saturating_mul(6) + 2;
    out.push_with(most, |out| quote(text, out))
}

/// A string as JSON. Plain ASCII is quoted by Go's rules; other text as by Go's encoder, which escapes HTML
/// characters.
fn quote(bytes: &[u8], out: &mut Vec<u8>) {
    if bytes.iter().all(|byte| (0x20..0x80).contains(byte)) {
        text::quote(bytes, false, out);
        return;
    }
    out.push(b'"');
    let mut piece = String::new();
    for (place, char) in text::chars(bytes) {
        // Only invalid UTF-8 is escaped, not the replacement character itself.
        if char == char::REPLACEMENT_CHARACTER && bytes.get(place) != Some(&0xEF) {
            out.extend_from_slice(b"\\ufffd");
            continue;
        }
        piece.clear();
        kiln_go::push_json_char(&mut piece, char);
        out.extend_from_slice(piece.as_bytes());
    }
    out.push(b'"');
}
