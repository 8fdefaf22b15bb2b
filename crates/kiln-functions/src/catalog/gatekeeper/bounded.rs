//! The built-in functions of the engine, with limits.
//!
//! Most are called as they are, and their results are charged. Functions whose result or work can be much larger than
//! their arguments are measured first, or implemented here. The engine looks up added functions before its own, so
//! that these replace its own.

use std::collections::BTreeSet;
use std::sync::Arc;

use regorus::unstable::{BUILTINS, BuiltinFcn, Expr, Ref, Span};
use regorus::{Engine, Source, Value};

use super::limits::{
    HUGE_NUMBER, MAX_COMPARISONS, MAX_NUMBER_BITS, Meter, OverLimit, bits, is_overflow,
};
use super::scan::is_short_number;
use super::{pattern, sprintf};

/// `None` stands for undefined.
pub(super) type BuiltinResult = Result<Option<Value>, OverLimit>;

/// Bytes that a value takes in an array, and approximately in a set or object.
pub(super) const SLOT: u64 = 48;

/// A function of the engine.
#[derive(Clone)]
struct Original {
    function: BuiltinFcn,
    span: Span,
    params: Vec<Ref<Expr>>,
}

/// Adds all functions of the engine, with limits.
pub(super) fn add(engine: &mut Engine, meter: &Arc<Meter>) -> Result<(), String> {
    let source = Source::from_contents(String::new(), " ".to_owned());
    let source = source.map_err(|error| error.to_string())?;
    let span = Span {
        source,
        line: 1,
        col: 1,
        start: 0,
        end: 0,
    };
    for (name, function) in BUILTINS.iter() {
        // The engine caches the results of these, which it does not for added functions; the results are small.
        if regorus::unstable::must_cache(name).is_some() {
            continue;
        }
        let argument = |_| {
            Ref::new(Expr::Null {
                span: span.clone(),
                value: Value::Null,
                eidx: 0,
            })
        };
        let original = Original {
            function: *function,
            span: span.clone(),
            params: (0..function.1).map(argument).collect(),
        };
        let meter = meter.clone();
        let extension = move |args: Vec<Value>| match call(name, &original, &args, &meter) {
            Ok(value) => Ok(value.unwrap_or(Value::Undefined)),
            Err(over) => Err(over.into()),
        };
        let added = engine.add_extension((*name).to_owned(), function.1, Box::new(extension));
        added.map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn call(name: &str, original: &Original, args: &[Value], meter: &Meter) -> BuiltinResult {
    meter.check()?;
    let own = match (name, args) {
        ("product", [items]) => Some(product(items, meter)?),
        ("numbers.range", [from, to]) => Some(range(from, to, &Value::from(1_u64), meter)?),
        ("numbers.range_step", [from, to, step]) => Some(range(from, to, step, meter)?),
        ("sprintf", [format, values]) => Some(sprintf::call(format, values, meter)?),
        ("indexof_n", [text, part]) => Some(positions(text, part, meter)?),
        ("strings.count", [text, part]) => Some(count(text, part)),
        ("trim", [text, cut]) => Some(trim(text, cut, (true, true))),
        ("trim_left", [text, cut]) => Some(trim(text, cut, (true, false))),
        ("trim_right", [text, cut]) => Some(trim(text, cut, (false, true))),
        ("indexof", [text, part]) => Some(position(text, part)),
        ("strings.replace_n", [parts, text]) => Some(replace_all(parts, text, meter)?),
        ("upper", [text]) => Some(mapped(text, kiln_go::to_upper)),
        ("lower", [text]) => Some(mapped(text, kiln_go::to_lower)),
        ("regex.match", [pattern, text]) => Some(pattern::matches(pattern, text, meter)?),
        ("regex.is_valid", [pattern]) => Some(pattern::is_valid(pattern, meter)?),
        ("regex.find_n", [pattern, text, count]) => {
            Some(pattern::find(pattern, text, count, meter)?)
        }
        ("regex.find_all_string_submatch_n", [pattern, text, count]) => {
            Some(pattern::find_groups(pattern, text, count, meter)?)
        }
        ("regex.replace", [text, pattern, by]) => Some(pattern::replace(text, pattern, by, meter)?),
        ("regex.split", [pattern, text]) => Some(pattern::split(pattern, text, meter)?),
        ("regex.template_match", [template, text, start, end]) => Some(pattern::template_match(
            template,
            text,
            (start, end),
            meter,
        )?),
        _ => None,
    };
    let value = match own {
        Some(value) => value,
        None => match measure(name, args, meter)? {
            true => original.call(args, meter)?,
            false => None,
        },
    };
    if let Some(value) = &value {
        meter.fits_number(bits(value))?;
        meter.charge(shallow_size(value))?;
    }
    Ok(value)
}

impl Original {
    fn call(&self, args: &[Value], meter: &Meter) -> BuiltinResult {
        match (self.function.0)(&self.span, &self.params, args, false) {
            Ok(value) => Ok(Some(value)),
            Err(error) => match error.downcast_ref::<regorus::LimitError>() {
                Some(limit) => Err(meter.record(OverLimit::new(&limit.to_string()))),
                None if is_overflow(&error.to_string()) => {
                    Err(meter.record(OverLimit::new(HUGE_NUMBER)))
                }
                // Calls with invalid arguments are undefined.
                None => Ok(None),
            },
        }
    }
}

/// Checks the cost of a call before it is made. Returns false for invalid arguments.
fn measure(name: &str, args: &[Value], meter: &Meter) -> Result<bool, OverLimit> {
    match (name, args) {
        ("concat", [between, items]) => {
            let texts = items_of(items).map(|item| length(item) + length(between));
            meter.fits(texts.sum())?;
        }
        ("replace", [text, old, new]) => meter.fits(replaced_length(text, old, new))?,
        ("split", [text, between]) => {
            let (Value::String(text), Value::String(between)) = (text, between) else {
                return Ok(false);
            };
            let parts = text.matches(&**between).count() as u64 + 2;
            meter.charge(parts * SLOT + text.len() as u64)?;
        }
        ("bits.lsh", [number, shift]) => {
            let shift = shift.as_u64().unwrap_or_default();
            meter.fits_number(shift.saturating_add(bits(number)))?;
        }
        ("to_number" | "units.parse" | "units.parse_bytes", [Value::String(text)])
            if !is_short_number(text) =>
        {
            meter.fits_number(u64::MAX)?;
        }
        ("json.unmarshal" | "json.is_valid", [Value::String(text)]) => {
            if !has_short_numbers(text) {
                meter.fits_number(u64::MAX)?;
            }
            let parts = text.bytes().filter(|byte| b"[{,:".contains(byte)).count() as u64;
            meter.charge(parts * 3 * SLOT + text.len() as u64)?;
        }
        ("json.marshal" | "json.marshal_with_options", [value, ..]) => {
            let size = meter.size(value)?.printable(meter)?;
            // Each byte of a string can take six bytes. Options can prefix and indent each line.
            let options = args.get(1).map(|options| meter.size(options)).transpose()?;
            let option = options.map_or(0, |options| 64 + options.text);
            let lines = (size.paths + 2 * size.parts).saturating_mul(2 * option);
            meter.fits((size.text * 6 + size.parts * 8).saturating_add(lines))?;
        }
        ("net.cidr_expand", [Value::String(network)]) => {
            meter.charge(hosts(network).saturating_mul(2 * SLOT))?;
        }
        ("walk", [value]) => {
            let size = meter.size(value)?;
            meter.charge((size.parts * 3 + size.paths) * SLOT)?;
        }
        ("graph.reachable_paths", _) => {
            let over = OverLimit::new("a policy calls graph.reachable_paths");
            return Err(meter.record(over));
        }
        ("glob.quote_meta", [pattern]) => pattern::fits(pattern, meter)?,
        ("glob.match", [pattern, delimiters, text]) => {
            pattern::fits(pattern, meter)?;
            let delimiters = items_of(delimiters).count() as u64;
            let text = length(pattern) + length(text);
            meter.fits(text.saturating_mul(4 + 2 * delimiters))?;
        }
        ("strings.any_prefix_match" | "strings.any_suffix_match", [left, right]) => {
            let pairs = items_of(left).count() as u64 * items_of(right).count() as u64;
            fits_comparisons(pairs, meter)?;
        }
        ("object.subset", [whole, part]) => {
            let (whole, part) = (meter.size(whole)?, meter.size(part)?);
            fits_comparisons(whole.parts.saturating_mul(part.parts), meter)?;
        }
        ("json.filter" | "json.remove" | "object.filter" | "object.remove", [value, paths]) => {
            let (value, paths) = (meter.size(value)?, meter.size(paths)?);
            meter.charge((value.parts + paths.parts) * SLOT)?;
        }
        (
            "object.union" | "object.union_n" | "union" | "intersection" | "graph.reachable"
            | "sort" | "array.concat",
            values,
        ) => {
            for value in values {
                meter.charge(meter.size(value)?.parts * SLOT)?;
            }
        }
        _ => {}
    }
    Ok(true)
}

fn fits_comparisons(count: u64, meter: &Meter) -> Result<(), OverLimit> {
    match count <= MAX_COMPARISONS {
        true => Ok(()),
        false => Err(meter.record(OverLimit::new("a policy compares too many values"))),
    }
}

/// The bytes of a result, without the values that it contains.
pub(super) fn shallow_size(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64,
        Value::Array(items) => items.len() as u64 * SLOT,
        Value::Set(items) => items.len() as u64 * SLOT,
        Value::Object(fields) => fields.len() as u64 * 2 * SLOT,
        value => bits(value) / 8,
    }
}

pub(super) fn items_of(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(items) => Box::new(items.iter()),
        Value::Set(items) => Box::new(items.iter()),
        _ => Box::new(std::iter::empty()),
    }
}

fn length(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64,
        _ => 0,
    }
}

fn replaced_length(text: &Value, old: &Value, new: &Value) -> u64 {
    let (Value::String(text), Value::String(old)) = (text, old) else {
        return 0;
    };
    let times = text.matches(&**old).count() as u64;
    text.len() as u64 + times.saturating_mul(length(new))
}

/// Whether all numbers of a JSON text have short exponents. Strings are skipped.
fn has_short_numbers(text: &str) -> bool {
    let mut is_string = false;
    let mut is_escaped = false;
    let mut word = 0..0;
    for (at, byte) in text.bytes().enumerate() {
        match (is_string, byte) {
            (true, _) if is_escaped => is_escaped = false,
            (true, b'\\') => is_escaped = true,
            (_, b'"') => is_string = !is_string,
            (false, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E') => {
                match word.end == at {
                    true => word.end = at + 1,
                    false => word = at..at + 1,
                }
                continue;
            }
            _ => {}
        }
        if !text.get(word.clone()).is_none_or(is_short_number) {
            return false;
        }
        word = 0..0;
    }
    text.get(word).is_none_or(is_short_number)
}

/// How many addresses a network has.
fn hosts(network: &str) -> u64 {
    let (address, prefix) = network.split_once('/').unwrap_or((network, ""));
    let bits: u32 = if address.contains(':') { 128 } else { 32 };
    let prefix = prefix.parse().unwrap_or(bits).min(bits);
    1_u64.checked_shl(bits - prefix).unwrap_or(u64::MAX)
}

fn product(items: &Value, meter: &Meter) -> BuiltinResult {
    if !matches!(items, Value::Array(_) | Value::Set(_)) {
        return Ok(None);
    }
    let mut product = Value::from(1_u64);
    for item in items_of(items) {
        let (Value::Number(left), Value::Number(right)) = (&product, item) else {
            return Ok(None);
        };
        meter.fits_number(bits(&product).saturating_add(bits(item)))?;
        let Ok(next) = left.mul(right) else {
            return Err(meter.record(OverLimit::new(HUGE_NUMBER)));
        };
        product = Value::from(next);
    }
    Ok(Some(product))
}

fn range(from: &Value, to: &Value, step: &Value, meter: &Meter) -> BuiltinResult {
    let whole = |value: &Value| match value {
        Value::Number(number) => number.as_i64(),
        _ => None,
    };
    let (Some(from), Some(to), Some(step)) = (whole(from), whole(to), whole(step)) else {
        return Ok(None);
    };
    if step <= 0 {
        return Ok(None);
    }
    let steps = from.abs_diff(to) / step.unsigned_abs();
    meter.charge(steps.saturating_add(1).saturating_mul(SLOT))?;
    let step = if from <= to { step } else { -step };
    let mut numbers = Vec::new();
    let mut next = Some(from);
    for _ in 0..=steps {
        numbers.extend(next.map(Value::from));
        next = next.and_then(|number| number.checked_add(step));
    }
    Ok(Some(Value::from(numbers)))
}

fn position(text: &Value, part: &Value) -> Option<Value> {
    let (Value::String(text), Value::String(part)) = (text, part) else {
        return None;
    };
    Some(match text.find(&**part) {
        Some(at) => Value::from(text[..at].chars().count() as u64),
        None => Value::from(-1_i64),
    })
}

fn positions(text: &Value, part: &Value, meter: &Meter) -> BuiltinResult {
    let (Value::String(text), Value::String(part)) = (text, part) else {
        return Ok(None);
    };
    let mut found = Vec::new();
    for (number, (at, _)) in text.char_indices().enumerate() {
        if text[at..].starts_with(&**part) {
            meter.charge(SLOT)?;
            found.push(Value::from(number as u64));
        } else if number % 1024 == 0 {
            meter.check()?;
        }
    }
    Ok(Some(Value::from(found)))
}

fn count(text: &Value, part: &Value) -> Option<Value> {
    let (Value::String(text), Value::String(part)) = (text, part) else {
        return None;
    };
    Some(Value::from(text.matches(&**part).count() as u64))
}

fn trim(text: &Value, cut: &Value, (start, end): (bool, bool)) -> Option<Value> {
    let (Value::String(text), Value::String(cut)) = (text, cut) else {
        return None;
    };
    let cut: BTreeSet<char> = cut.chars().collect();
    let mut rest: &str = text;
    if start {
        rest = rest.trim_start_matches(|c| cut.contains(&c));
    }
    if end {
        rest = rest.trim_end_matches(|c| cut.contains(&c));
    }
    Some(Value::from(rest))
}

fn mapped(text: &Value, map: fn(&str) -> String) -> Option<Value> {
    match text {
        Value::String(text) => Some(Value::from(map(text))),
        _ => None,
    }
}

/// Replaces as Go's `strings.Replacer`: at each position the first of the sorted texts that matches, and never in a
/// replacement.
fn replace_all(parts: &Value, text: &Value, meter: &Meter) -> BuiltinResult {
    let (Value::Object(parts), Value::String(text)) = (parts, text) else {
        return Ok(None);
    };
    let mut pairs: Vec<(&str, &str)> = Vec::with_capacity(parts.len());
    for (old, new) in parts.iter_sorted() {
        let (Value::String(old), Value::String(new)) = (old, new) else {
            return Ok(None);
        };
        pairs.push((old, new));
    }
    fits_comparisons(
        (pairs.len() as u64).saturating_mul(text.len() as u64),
        meter,
    )?;
    let mut replaced = String::new();
    let mut rest: &str = text;
    // An empty text matches once at a position.
    let mut was_empty = false;
    loop {
        let found = pairs.iter().find(|(old, _)| {
            let is_allowed = !was_empty || !old.is_empty();
            is_allowed && rest.starts_with(old)
        });
        match found {
            Some((old, new)) => {
                meter.fits((replaced.len() + new.len()) as u64)?;
                replaced.push_str(new);
                rest = &rest[old.len()..];
                was_empty = old.is_empty();
            }
            None => {
                let mut chars = rest.chars();
                let Some(first) = chars.next() else {
                    return Ok(Some(Value::from(replaced)));
                };
                replaced.push(first);
                rest = chars.as_str();
                was_empty = false;
            }
        }
    }
}

/// The limit of integers is in bits, that of their text in digits.
const _: () = assert!(MAX_NUMBER_BITS / 4 > 400);
