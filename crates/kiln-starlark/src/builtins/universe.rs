//! The functions that every program can call: the table, and functions that belong to no other module.

use super::{Method, convert, find as find_in, methods, number, sequence};
use crate::builder::TextBuilder;
use crate::error::{Failure, fail};
use crate::eval::{Arguments, Context, Want, attribute, attribute_names, missing};
use crate::value::{Repr, Value, write_repr};

pub(super) const FUNCTIONS: &[Method] = methods! {
    abs: number::abs,
    all: sequence::all,
    any: sequence::any,
    bool: convert::bool,
    bytes: convert::bytes,
    chr: convert::chr,
    dict: convert::dict,
    dir: dir,
    enumerate: sequence::enumerate,
    fail: fail_function,
    float: number::float,
    getattr: getattr,
    hasattr: hasattr,
    hash: hash,
    int: number::int,
    len: sequence::len,
    list: sequence::list,
    max: sequence::extreme,
    min: sequence::extreme,
    ord: convert::ord,
    print: print,
    range: sequence::range,
    repr: convert::repr,
    reversed: sequence::reversed,
    set: sequence::set,
    sorted: sequence::sorted,
    str: convert::str,
    tuple: sequence::tuple,
    type: convert::type_name,
    zip: sequence::zip,
};

pub(super) fn find(name: &str) -> Option<&'static Method> {
    find_in(FUNCTIONS, name)
}

/// Rejects named arguments and any number of positional ones but one.
pub(super) fn only_one<'a>(args: &Arguments<'a>, wanted: &str) -> Result<&'a Value, Failure> {
    let name = args.name;
    if args.named().next().is_some() {
        return fail(format!("{name} does not accept keyword arguments"));
    }
    match args.positional {
        [value] => Ok(value),
        others => fail(format!(
            "{name}: got {} arguments, want {wanted}",
            others.len()
        )),
    }
}

fn dir(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let value = only_one(args, "1")?;
    let names = attribute_names(value);
    let names = names.iter().map(|name| Value::new_string(ctx.usage, name));
    let names = names.collect::<Result<Vec<_>, _>>()?;
    ctx.allocate_exactly(names.len())?;
    Ok(Value::list(names))
}

/// The arguments as text, with the separator between them.
fn joined(ctx: &Context<'_>, args: &Arguments<'_>, raw_bytes: bool) -> Result<Vec<u8>, Failure> {
    let [separator] = args.unpack_named([("sep?", Want::String)])?;
    let separator = separator
        .as_ref()
        .and_then(Value::as_str_bytes)
        .unwrap_or(b" ");
    let mut out = TextBuilder::new(ctx.usage);
    for (i, value) in args.positional.iter().enumerate() {
        if i > 0 {
            out.push(separator)?;
        }
        match &value.0 {
            Repr::String(text) => out.push(text)?,
            Repr::Bytes(bytes) if raw_bytes => out.push(bytes)?,
            _ => write_repr(value, &mut out)?,
        }
    }
    Ok(out.into_bytes())
}

fn fail_function(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let message = joined(ctx, args, false)?;
    fail(format!("fail: {}", String::from_utf8_lossy(&message)))
}

fn print(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let line = joined(ctx, args, true)?;
    // The host keeps the line until the end of the run, in a buffer with spare capacity.
    ctx.usage.keep(2 * (line.len() + 1))?;
    (ctx.host.print)(&line);
    Ok(Value::NONE)
}

fn getattr(_: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.check(&[Want::Any, Want::String, Want::Any], 2)?;
    let object = args.value(0);
    let name = String::from_utf8_lossy(args.text(1)?);
    match (attribute(&object, &name), args.get(2)) {
        (Some(value), _) => Ok(value),
        (None, Some(default)) => Ok(default.clone()),
        (None, None) => args.fail(missing(&object, &name)),
    }
}

fn hasattr(_: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.check(&[Want::Any, Want::String], 2)?;
    let name = String::from_utf8_lossy(args.text(1)?);
    Ok(Value::from(attribute(&args.value(0), &name).is_some()))
}

fn hash(_: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(1, 1)?;
    let value = args.value(0);
    match &value.0 {
        // Java's String.hashCode, except that characters are not split into surrogates.
        Repr::String(text) => {
            let chars = crate::text::chars(text).map(|(_, char)| u32::from(char) as i32);
            let hash = chars.fold(0i32, |hash, char| hash.wrapping_mul(31).wrapping_add(char));
            Ok(Value::from(i64::from(hash)))
        }
        // FNV-1a.
        Repr::Bytes(bytes) => {
            let hash = bytes.iter().fold(2_166_136_261u32, |hash, byte| {
                (hash ^ u32::from(*byte)).wrapping_mul(16_777_619)
            });
            Ok(Value::from(i64::from(hash)))
        }
        _ => args.fail(format!("got {}, want string or bytes", value.type_name())),
    }
}
