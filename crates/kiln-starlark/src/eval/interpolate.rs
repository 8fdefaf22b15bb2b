//! `format % values`.

use super::context::Context;
use super::operators::to_float;
use crate::builder::TextBuilder;
use crate::error::{Failure, fail};
use crate::text::decode_char;
use crate::usage::Usage;
use crate::value::{Repr, Value, as_i32, format_float, int, number_to_int, write_repr};

pub(super) fn interpolate(
    ctx: &Context<'_>,
    format: &[u8],
    values: &Value,
) -> Result<Value, Failure> {
    let usage = ctx.usage;
    let mut out = TextBuilder::new(usage);
    let mut rest = format;
    let mut used = 0;
    let count = match &values.0 {
        Repr::Tuple(tuple) => tuple.0.len(),
        _ => 1,
    };
    while let Some(percent) = memchr::memchr(b'%', rest) {
        let (before, after) = rest.split_at(percent);
        out.push(before)?;
        rest = after.get(1..).unwrap_or_default();
        if rest.first() == Some(&b'%') {
            out.push(b"%")?;
            rest = rest.get(1..).unwrap_or_default();
            continue;
        }
        let value = if let Some(key) = rest.strip_prefix(b"(") {
            let Some(end) = memchr::memchr(b')', key) else {
                return fail("incomplete format key");
            };
            let (name, behind) = key.split_at(end);
            rest = behind.get(1..).unwrap_or_default();
            by_key(usage, values, name)?
        } else if used >= count {
            return fail("not enough arguments for format string");
        } else {
            match &values.0 {
                Repr::Tuple(tuple) => tuple.0.get(used).cloned().unwrap_or(Value::NONE),
                _ => values.clone(),
            }
        };
        let Some((conversion, behind)) = rest.split_first() else {
            return fail("incomplete format");
        };
        convert(usage, *conversion, &value, &mut out)?;
        rest = behind;
        used += 1;
    }
    out.push(rest)?;
    let is_mapping = match &values.0 {
        Repr::Dict(_) => true,
        Repr::Object(object) => object.lookup(&Value::NONE).is_some(),
        _ => false,
    };
    if used < count && !is_mapping {
        return fail("too many arguments for format string");
    }
    out.into_string()
}

fn by_key(usage: &Usage<'_>, values: &Value, name: &[u8]) -> Result<Value, Failure> {
    let key = Value::string(name);
    let found = match &values.0 {
        Repr::Dict(dict) => dict.get(usage, &key)?,
        Repr::Object(object) => match object.lookup(&key) {
            Some(found) => found.ok().flatten(),
            None => return fail("format requires a mapping"),
        },
        _ => return fail("format requires a mapping"),
    };
    match found {
        Some(value) => Ok(value),
        None => fail(format!("key not found: {}", String::from_utf8_lossy(name))),
    }
}

fn convert(
    usage: &Usage<'_>,
    conversion: u8,
    value: &Value,
    out: &mut TextBuilder<'_>,
) -> Result<(), Failure> {
    let shown = char::from(conversion);
    match conversion {
        b's' | b'r' => match value.as_str_bytes() {
            Some(text) if conversion == b's' => out.push(text),
            _ => write_repr(value, out),
        },
        b'd' | b'i' | b'o' | b'x' | b'X' => {
            let number = number_to_int(value)
                .map_err(|failure| failure.within(&format!("%{shown} format requires integer")))?;
            out.charge_bits(int::bits(&number))?;
            let number = int::big(&number);
            let text = match conversion {
                b'o' => number.to_str_radix(8),
                b'x' => number.to_str_radix(16),
                b'X' => number.to_str_radix(16).to_ascii_uppercase(),
                _ => number.to_string(),
            };
            out.push(text.as_bytes())
        }
        b'e' | b'f' | b'g' | b'E' | b'F' | b'G' => {
            let is_number = matches!(value.0, Repr::Int(_) | Repr::Big(_) | Repr::Float(_));
            if !is_number {
                let type_name = value.type_name();
                return fail(format!("%{shown} format requires float, not {type_name}"));
            }
            let float = to_float(usage, value).unwrap_or(match value.truth() {
                true if *int::big(value) < num_bigint::BigInt::ZERO => f64::NEG_INFINITY,
                _ => f64::INFINITY,
            });
            out.push(format_float(float, conversion).as_bytes())
        }
        b'c' => out.push(character(value)?.encode_utf8(&mut [0; 4]).as_bytes()),
        b'%' => out.push(b"%"),
        _ => fail(format!("unknown conversion %{shown}")),
    }
}

fn character(value: &Value) -> Result<char, Failure> {
    match &value.0 {
        Repr::Int(_) | Repr::Big(_) => {
            let number = as_i32(value)
                .ok()
                .and_then(|number| u32::try_from(number).ok());
            match number {
                Some(number) if number <= 0x0010_FFFF => {
                    Ok(char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER))
                }
                _ => {
                    let wanted = "%c format requires a valid Unicode code point";
                    fail(format!("{wanted}, got {}", int::big(value)))
                }
            }
        }
        Repr::String(text) => {
            let (char, length) = decode_char(text);
            if length != text.len() || text.is_empty() {
                return fail("%c format requires a single-character string");
            }
            Ok(char)
        }
        _ => {
            let wanted = "%c format requires int or single-character string";
            fail(format!("{wanted}, not {}", value.type_name()))
        }
    }
}
