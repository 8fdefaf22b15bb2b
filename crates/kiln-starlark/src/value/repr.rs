//! Values in the notation of the language.

use super::{Ancestors, Repr, Value, ValueChildren, int};
use crate::builder::TextBuilder;
use crate::error::Failure;
use crate::text;

/// Appends the notation of a value. A list or dict inside itself is written as three dots.
pub(crate) fn write_repr(value: &Value, out: &mut TextBuilder<'_>) -> Result<(), Failure> {
    let mut open: Vec<ValueChildren> = Vec::new();
    let mut ancestors = Ancestors::default();
    begin(value, out, &mut open, &mut ancestors)?;
    while let Some(children) = open.last_mut() {
        let is_first = children.returned() == 0;
        let Some(child) = children.next() else {
            out.push(end(children.container(), children.returned()))?;
            open.pop();
            ancestors.leave();
            continue;
        };
        let is_struct = matches!(children.container().0, Repr::Struct(_));
        if !is_first {
            out.push(b", ")?;
        }
        match child.key {
            Some(name) if is_struct => {
                out.push(name.as_str_bytes().unwrap_or_default())?;
                out.push(b" = ")?;
                begin(&child.value, out, &mut open, &mut ancestors)?;
            }
            // A key may be a tuple, which is written in turn, so that the value has to wait.
            Some(key) if matches!(key.0, Repr::Tuple(_) | Repr::Struct(_)) => {
                write_repr(&key, out)?;
                out.push(b": ")?;
                begin(&child.value, out, &mut open, &mut ancestors)?;
            }
            Some(key) => {
                begin(&key, out, &mut open, &mut ancestors)?;
                out.push(b": ")?;
                begin(&child.value, out, &mut open, &mut ancestors)?;
            }
            None => begin(&child.value, out, &mut open, &mut ancestors)?,
        }
    }
    Ok(())
}

/// The end of the notation of a container.
fn end(container: &Value, length: usize) -> &'static [u8] {
    match &container.0 {
        Repr::List(_) => b"]",
        Repr::Tuple(_) if length == 1 => b",)",
        Repr::Dict(_) => b"}",
        Repr::Set(_) => b"])",
        _ => b")",
    }
}

/// Writes a value, or the beginning of a container.
fn begin(
    value: &Value,
    out: &mut TextBuilder<'_>,
    open: &mut Vec<ValueChildren>,
    ancestors: &mut Ancestors,
) -> Result<(), Failure> {
    let (start, inside_itself): (&[u8], &[u8]) = match &value.0 {
        Repr::List(_) => (b"[", b"[...]"),
        Repr::Tuple(_) => (b"(", b""),
        Repr::Dict(_) => (b"{", b"{...}"),
        Repr::Set(_) => (b"set([", b"set([...])"),
        Repr::Struct(_) => (b"struct(", b""),
        _ => return write_one(value, out),
    };
    if !ancestors.enter(value) {
        return out.push(inside_itself);
    }
    out.allocate(size_of::<ValueChildren>())?;
    open.push(ValueChildren::new(value));
    out.push(start)
}

/// Writes a value that is not a container.
fn write_one(value: &Value, out: &mut TextBuilder<'_>) -> Result<(), Failure> {
    match &value.0 {
        Repr::Bool(true) => out.push(b"True"),
        Repr::Bool(false) => out.push(b"False"),
        Repr::Int(int) => out.push(int.to_string().as_bytes()),
        Repr::Big(big) => {
            out.charge_bits(int::bits(value))?;
            out.push(big.to_string().as_bytes())
        }
        Repr::Float(float) => out.push(format_float(*float, b'g').as_bytes()),
        Repr::String(bytes) => write_quoted(bytes, false, out),
        Repr::Bytes(bytes) => write_quoted(bytes, true, out),
        Repr::Range(range) => out.push(range.shown().as_bytes()),
        Repr::Function(function) => {
            out.push(b"<function ")?;
            out.push(function.code.name.as_bytes())?;
            out.push(b">")
        }
        Repr::Builtin(builtin) => {
            let name = builtin.name();
            let shown = match &builtin.receiver {
                Some(receiver) => {
                    format!("<built-in method {name} of {} value>", receiver.type_name())
                }
                None => format!("<built-in function {name}>"),
            };
            out.push(shown.as_bytes())
        }
        Repr::Module(module) => {
            out.push(format!("<module {}>", kiln_go::quote(&module.name)).as_bytes())
        }
        Repr::View(view) => {
            write_quoted(&view.bytes, view.is_of_bytes(), out)?;
            out.push(view.method())
        }
        Repr::Object(object) => out.push(&object.repr()),
        Repr::None => out.push(b"None"),
        _ => Ok(()),
    }
}

/// Writes a string or bytes in quotes.
pub(crate) fn write_quoted(
    bytes: &[u8],
    is_bytes: bool,
    out: &mut TextBuilder<'_>,
) -> Result<(), Failure> {
    // The longest escape of a byte has four.
    let most = bytes.len().saturating_mul(4) + 3;
    out.push_with(most, |out| text::quote(bytes, is_bytes, out))
}

/// A float in the format of Go's `strconv.FormatFloat`: with `g` and `G` as short as possible but always with a point
/// or an exponent, otherwise with six decimals.
pub fn format_float(float: f64, conversion: u8) -> String {
    if float.is_nan() {
        return "nan".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { "+inf" } else { "-inf" }.to_owned();
    }
    let text = match conversion {
        b'f' | b'F' => return format!("{float:.6}"),
        b'e' | b'E' => with_exponent(&format!("{float:.6e}")),
        _ => shortest(float),
    };
    if conversion.is_ascii_uppercase() {
        text.to_ascii_uppercase()
    } else {
        text
    }
}

fn shortest(float: f64) -> String {
    let scientific = format!("{float:e}");
    let exponent = scientific
        .split_once('e')
        .and_then(|(_, exponent)| exponent.parse().ok());
    let exponent: i32 = exponent.unwrap_or(0);
    // Where Go switches to exponents for the shortest form.
    if !(-4..6).contains(&exponent) {
        return with_exponent(&scientific);
    }
    let mut text = format!("{float}");
    if !text.contains('.') {
        text.push_str(".0");
    }
    text
}

/// Adds a sign and at least two digits to an exponent.
fn with_exponent(text: &str) -> String {
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return text.to_owned();
    };
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{digits:0>2}")
}
