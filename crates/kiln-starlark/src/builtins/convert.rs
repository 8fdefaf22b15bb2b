//! Functions that convert between types.

use std::rc::Rc;

use super::dict::update;
use super::universe::only_one;
use crate::builder::TextBuilder;
use crate::error::{Failure, fail};
use crate::eval::{Arguments, Context};
use crate::text;
use crate::value::{Dict, Iter, Repr, Value, as_byte, as_i32, write_repr};

pub(super) fn bool(_: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(0, 1)?;
    Ok(Value::from(args.get(0).is_some_and(Value::truth)))
}

pub(super) fn bytes(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let value = only_one(args, "exactly 1")?;
    match &value.0 {
        Repr::Bytes(_) => Ok(value.clone()),
        Repr::String(bytes) => {
            // A byte that is not UTF-8 becomes three, and the text is copied.
            ctx.allocate(bytes.len().saturating_mul(6))?;
            Ok(Value::bytes(text::transcode(bytes)))
        }
        _ => {
            let Some(iter) = Iter::new(value) else {
                let type_name = value.type_name();
                return args.fail(format!(
                    "got {type_name}, want string, bytes, or iterable of ints"
                ));
            };
            let mut out = Vec::new();
            for (i, element) in iter.enumerate() {
                ctx.allocate(3)?;
                ctx.charge(1)?;
                let byte = as_byte(&element);
                out.push(byte.map_err(|failure| {
                    Failure::new(format!("bytes: at index {i}, {}", failure.message()))
                })?);
            }
            Ok(Value::bytes(out))
        }
    }
}

pub(super) fn chr(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let value = only_one(args, "1")?;
    let number = args.naming(as_i32(value))?;
    if number < 0 {
        return args.fail(format!("Unicode code point {number} out of range (<0)"));
    }
    if number > 0x0010_FFFF {
        return args.fail(format!(
            "Unicode code point U+{number:X} out of range (>0x10FFFF)"
        ));
    }
    let char = u32::try_from(number).ok().and_then(char::from_u32);
    let char = char.unwrap_or(char::REPLACEMENT_CHARACTER);
    Value::new_string(ctx.usage, char.encode_utf8(&mut [0; 4]))
}

pub(super) fn ord(_: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let value = only_one(args, "1")?;
    match &value.0 {
        Repr::String(bytes) => {
            let (char, length) = text::decode_char(bytes);
            if bytes.is_empty() || length != bytes.len() {
                let count = text::chars(bytes).count();
                return args.fail(format!(
                    "string encodes {count} Unicode code points, want 1"
                ));
            }
            Ok(Value::from(i64::from(u32::from(char))))
        }
        Repr::Bytes(bytes) => match &**bytes {
            [byte] => Ok(Value::from(i64::from(*byte))),
            _ => args.fail(format!("bytes has length {}, want 1", bytes.len())),
        },
        _ => args.fail(format!("got {}, want string or bytes", value.type_name())),
    }
}

pub(super) fn dict(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let given = args.positional.len();
    if given > 1 {
        return args.fail(format!("got {given} arguments, want at most 1"));
    }
    ctx.allocate(128)?;
    let dict = Rc::new(Dict::default());
    update(ctx, &dict, args)?;
    Ok(Value(Repr::Dict(dict)))
}

pub(super) fn repr(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(1, 1)?;
    shown(ctx, &args.value(0))
}

pub(super) fn str(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let value = only_one(args, "exactly 1")?;
    match &value.0 {
        Repr::String(_) => Ok(value.clone()),
        Repr::Bytes(bytes) => {
            ctx.allocate(bytes.len().saturating_mul(6))?;
            Ok(Value::string(text::transcode(bytes)))
        }
        _ => shown(ctx, value),
    }
}

fn shown(ctx: &Context<'_>, value: &Value) -> Result<Value, Failure> {
    let mut out = TextBuilder::new(ctx.usage);
    write_repr(value, &mut out)?;
    out.into_string()
}

pub(super) fn type_name(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    Value::new_string(ctx.usage, only_one(args, "exactly 1")?.type_name())
}

/// The elements of an iterable argument.
pub(super) fn iterate(value: &Value) -> Result<Iter, Failure> {
    match Iter::new(value) {
        Some(iter) => Ok(iter),
        None => fail(format!("got {}, want iterable", value.type_name())),
    }
}
