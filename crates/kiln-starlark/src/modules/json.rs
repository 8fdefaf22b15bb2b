//! `encoding/json.star`: encoding and indenting.

use std::rc::Rc;

use super::json_decode::{decode, indent};
use super::module as make_module;
use crate::error::{Failure, fail};
use crate::eval::{Arguments, Context};
use crate::text;
use crate::value::{Iter, Repr, Value, format_float};

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
    let out = write(ctx, &args.value(0)).map_err(|failure| args.named_failure(failure))?;
    Ok(Value::string(out))
}

fn encode_indent(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let (prefix, unit) = super::json_decode::indentation(args)?;
    let positional = Arguments {
        named: &[],
        ..*args
    };
    positional.count(1, 1)?;
    let text = write(ctx, &args.value(0)).map_err(|failure| args.named_failure(failure))?;
    super::json_decode::reindent(ctx, &text, &prefix, &unit)
}

/// What is still to be written.
enum Task {
    Value(Value),
    Text(&'static [u8]),
    Key(Value),
    /// What the values that follow are elements of, for messages.
    Enter(String),
    Leave,
    /// The end of a container, which may now come again.
    Close,
}

fn write(ctx: &mut Context<'_>, value: &Value) -> Result<Vec<u8>, Failure> {
    let mut out = Vec::new();
    let mut tasks = vec![Task::Value(value.clone())];
    let mut open: Vec<*const ()> = Vec::new();
    let mut places: Vec<String> = Vec::new();
    while let Some(task) = tasks.pop() {
        match task {
            Task::Text(text) => out.extend_from_slice(text),
            Task::Key(key) => {
                quote(key.as_str_bytes().unwrap_or_default(), &mut out);
                out.push(b':');
            }
            Task::Enter(place) => places.push(place),
            Task::Leave => {
                places.pop();
            }
            Task::Close => {
                open.pop();
            }
            Task::Value(value) => {
                ctx.charge(1)?;
                let written = write_one(&value, &mut out, &mut tasks, &mut open);
                written.map_err(|failure| {
                    places
                        .iter()
                        .rev()
                        .fold(failure, |failure, place| failure.within(place))
                })?;
            }
        }
    }
    ctx.allocate(out.len())?;
    Ok(out)
}

fn write_one(
    value: &Value,
    out: &mut Vec<u8>,
    tasks: &mut Vec<Task>,
    open: &mut Vec<*const ()>,
) -> Result<(), Failure> {
    let place = match &value.0 {
        Repr::List(list) => Some(Rc::as_ptr(list).cast::<()>()),
        Repr::Dict(dict) => Some(Rc::as_ptr(dict).cast()),
        Repr::Set(set) => Some(Rc::as_ptr(set).cast()),
        Repr::Struct(structure) => Some(Rc::as_ptr(structure).cast()),
        _ => None,
    };
    if let Some(place) = place {
        if open.contains(&place) {
            return fail("cycle in JSON structure");
        }
        open.push(place);
        tasks.push(Task::Close);
    }
    match &value.0 {
        Repr::None => out.extend_from_slice(b"null"),
        Repr::Bool(true) => out.extend_from_slice(b"true"),
        Repr::Bool(false) => out.extend_from_slice(b"false"),
        Repr::Int(_) | Repr::Big(_) => out.extend_from_slice(&value.repr()),
        Repr::Float(float) if !float.is_finite() => {
            return fail(format!(
                "cannot encode non-finite float {}",
                format_float(*float, b'g')
            ));
        }
        Repr::Float(float) => out.extend_from_slice(format_float(*float, b'g').as_bytes()),
        Repr::String(text) => quote(text, out),
        Repr::Dict(dict) => {
            let mut items = dict.items();
            for (key, _) in &items {
                if key.as_str_bytes().is_none() {
                    return fail(format!("dict has {} key, want string", key.type_name()));
                }
            }
            items.sort_by(|(a, _), (b, _)| a.as_str_bytes().cmp(&b.as_str_bytes()));
            let entries = items.into_iter().map(|(key, value)| {
                let place = format!("in dict key {}", key.shown());
                (place, Some(key), value)
            });
            push_all(b"{", b"}", entries.collect(), out, tasks);
        }
        Repr::Struct(structure) => {
            let entries = structure.fields().map(|(name, value)| {
                (
                    format!("in field .{name}"),
                    Some(Value::string(name)),
                    value.clone(),
                )
            });
            push_all(b"{", b"}", entries.collect(), out, tasks);
        }
        _ => {
            let type_name = value.type_name().to_owned();
            let Some(iter) = Iter::new(value) else {
                return fail(format!("cannot encode {type_name} as JSON"));
            };
            let entries = iter
                .enumerate()
                .map(|(i, value)| (format!("at {type_name} index {i}"), None, value));
            push_all(b"[", b"]", entries.collect(), out, tasks);
        }
    }
    Ok(())
}

fn push_all(
    begin: &'static [u8],
    end: &'static [u8],
    entries: Vec<(String, Option<Value>, Value)>,
    out: &mut Vec<u8>,
    tasks: &mut Vec<Task>,
) {
    out.extend_from_slice(begin);
    tasks.push(Task::Text(end));
    for (i, (place, key, value)) in entries.into_iter().enumerate().rev() {
        tasks.push(Task::Leave);
        tasks.push(Task::Value(value));
        tasks.push(Task::Enter(place));
        tasks.extend(key.map(Task::Key));
        if i > 0 {
            tasks.push(Task::Text(b","));
        }
    }
}

/// A string as JSON. Plain ASCII is quoted as Go quotes it; all else as Go's encoder does, which escapes what HTML
/// could misunderstand.
fn quote(bytes: &[u8], out: &mut Vec<u8>) {
    if bytes.iter().all(|byte| (0x20..0x80).contains(byte)) {
        text::quote(bytes, false, out);
        return;
    }
    out.push(b'"');
    for (place, char) in text::chars(bytes) {
        match char {
            '"' | '\\' => {
                out.push(b'\\');
                text::push_char(out, char);
            }
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\x08' => out.extend_from_slice(b"\\b"),
            '\x0C' => out.extend_from_slice(b"\\f"),
            '\0'..' ' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.extend_from_slice(format!("\\u{:04x}", u32::from(char)).as_bytes());
            }
            // Only what was not UTF-8 is escaped, not the character itself.
            char::REPLACEMENT_CHARACTER if bytes.get(place) != Some(&0xEF) => {
                out.extend_from_slice(b"\\ufffd");
            }
            _ => text::push_char(out, char),
        }
    }
    out.push(b'"');
}
