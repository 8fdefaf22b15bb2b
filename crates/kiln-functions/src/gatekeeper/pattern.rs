//! Functions of Rego that apply a regular expression again and again, with a look at the clock for every match.

use regex::Regex;
use regorus::Value;

use super::bounded::{Answer, SLOT};
use super::limits::Meter;

/// A pattern as the engine compiles it.
fn compile(pattern: &Value) -> Option<Regex> {
    match pattern {
        Value::String(pattern) => Regex::new(pattern).ok(),
        _ => None,
    }
}

pub(super) fn find(pattern: &Value, text: &Value, count: &Value, meter: &Meter) -> Answer {
    let (Some(regex), Value::String(text), Value::Number(count)) = (compile(pattern), text, count)
    else {
        return Ok(None);
    };
    if !count.is_integer() {
        return Ok(None);
    }
    let count = count.as_i64().and_then(|count| usize::try_from(count).ok());
    let mut found = Vec::new();
    for part in regex.find_iter(text).take(count.unwrap_or(usize::MAX)) {
        meter.charge(2 * SLOT + part.len() as u64)?;
        found.push(Value::from(part.as_str()));
    }
    Ok(Some(Value::from(found)))
}

pub(super) fn split(pattern: &Value, text: &Value, meter: &Meter) -> Answer {
    let (Some(regex), Value::String(text)) = (compile(pattern), text) else {
        return Ok(None);
    };
    let mut parts = Vec::new();
    for part in regex.split(text) {
        meter.charge(2 * SLOT + part.len() as u64)?;
        parts.push(Value::from(part));
    }
    Ok(Some(Value::from(parts)))
}

pub(super) fn replace(text: &Value, pattern: &Value, by: &Value, meter: &Meter) -> Answer {
    let (Value::String(text), Some(regex), Value::String(by)) = (text, compile(pattern), by) else {
        return Ok(None);
    };
    // A replacement can repeat groups as often as it has room for their names.
    let groups = by.matches('$').count() as u64;
    let mut replaced = String::new();
    let mut rest = 0;
    for captures in regex.captures_iter(text) {
        let Some(whole) = captures.get(0) else {
            continue;
        };
        replaced.push_str(text.get(rest..whole.start()).unwrap_or_default());
        let expanded = by.len() as u64 + groups.saturating_mul(whole.len() as u64);
        meter.fits(expanded.saturating_add(replaced.len() as u64))?;
        captures.expand(by, &mut replaced);
        rest = whole.end();
    }
    replaced.push_str(text.get(rest..).unwrap_or_default());
    Ok(Some(Value::from(replaced)))
}

/// Whether a text matches a template in which patterns stand between delimiters.
pub(super) fn template_match(
    template: &Value,
    text: &Value,
    (start, end): (&Value, &Value),
    meter: &Meter,
) -> Answer {
    let (Value::String(template), Value::String(text)) = (template, text) else {
        return Ok(None);
    };
    let (Value::String(open), Value::String(close)) = (start, end) else {
        return Ok(None);
    };
    let (mut template, mut text): (&str, &str) = (template, text);
    while let (Some(start), Some(end)) = (template.find(&**open), template.find(&**close)) {
        meter.check()?;
        let pattern = template.get(start + open.len()..end);
        let Some(pattern) = pattern.filter(|_| !open.is_empty() && !close.is_empty()) else {
            return Ok(None);
        };
        let Some(rest) = text.strip_prefix(&template[..start]) else {
            return Ok(Some(Value::from(false)));
        };
        let Ok(regex) = Regex::new(pattern) else {
            return Ok(None);
        };
        let Some(found) = regex.find(rest).filter(|found| found.start() == 0) else {
            return Ok(Some(Value::from(false)));
        };
        text = &rest[found.end()..];
        template = &template[end + close.len()..];
    }
    Ok(Some(Value::from(template == text)))
}
