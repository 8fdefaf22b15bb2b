//! Regular expressions in Go's syntax, compiled within limits, and the functions of Rego that use them. Those that apply
//! one repeatedly check the clock for every match.

use kiln_go::regexp::{GoRegexp, ReplacementPart, SplitRanges, replacement_parts};
use regex::{Captures, Regex};
use regorus::Value;

use crate::budget::pattern_bytes;
use crate::port::go_regexp;

use super::bounded::{BuiltinResult, SLOT};
use super::limits::{Meter, OverLimit};

/// The longest pattern that is compiled outside of policies, where nothing is charged.
const MAX_PATTERN: usize = 64 * 1024;

/// Compiles a pattern that is not part of a policy. An invalid pattern matches everything.
pub(super) fn compile(pattern: &str) -> Option<Regex> {
    let pattern = Some(pattern).filter(|pattern| pattern.len() <= MAX_PATTERN);
    pattern.and_then(|pattern| go_regexp::compile(pattern).ok())
}

/// Checks that a policy may compile a pattern.
pub(super) fn fits(pattern: &Value, meter: &Meter) -> Result<(), OverLimit> {
    match pattern {
        Value::String(pattern) => meter.fits(pattern_bytes(pattern) as u64),
        _ => Ok(()),
    }
}

struct PolicyPattern {
    expression: GoRegexp,
    regex: Regex,
}

/// A compiled pattern; `None` if it is invalid.
fn compiled(pattern: &Value, meter: &Meter) -> Result<Option<PolicyPattern>, OverLimit> {
    fits(pattern, meter)?;
    let Value::String(pattern) = pattern else {
        return Ok(None);
    };
    let Ok(expression) = GoRegexp::parse(pattern) else {
        return Ok(None);
    };
    match go_regexp::build(&expression) {
        Ok(regex) => Ok(Some(PolicyPattern { expression, regex })),
        Err(error) => Err(meter.record(OverLimit::new(&error.to_string()))),
    }
}

/// Whether a text contains a match.
pub(super) fn matches(pattern: &Value, text: &Value, meter: &Meter) -> BuiltinResult {
    let (Value::String(text), Some(pattern)) = (text, compiled(pattern, meter)?) else {
        return Ok(None);
    };
    Ok(Some(Value::from(pattern.regex.is_match(text))))
}

pub(super) fn is_valid(pattern: &Value, meter: &Meter) -> BuiltinResult {
    let is_valid = compiled(pattern, meter)?.is_some();
    Ok(Some(Value::from(is_valid)))
}

/// The number of requested matches; a negative number means all.
fn most(count: &Value) -> Option<usize> {
    let Value::Number(count) = count else {
        return None;
    };
    let most = count.as_i64().and_then(|count| usize::try_from(count).ok());
    count.is_integer().then(|| most.unwrap_or(usize::MAX))
}

pub(super) fn find(pattern: &Value, text: &Value, count: &Value, meter: &Meter) -> BuiltinResult {
    let (Some(pattern), Value::String(text), Some(most)) =
        (compiled(pattern, meter)?, text, most(count))
    else {
        return Ok(None);
    };
    let mut found = Vec::new();
    for part in pattern.regex.find_iter(text).take(most) {
        meter.charge(2 * SLOT + part.len() as u64)?;
        found.push(Value::from(part.as_str()));
    }
    Ok(Some(Value::from(found)))
}

/// Every match with its groups.
pub(super) fn find_groups(
    pattern: &Value,
    text: &Value,
    count: &Value,
    meter: &Meter,
) -> BuiltinResult {
    let (Some(pattern), Value::String(text), Some(most)) =
        (compiled(pattern, meter)?, text, most(count))
    else {
        return Ok(None);
    };
    let mut found = Vec::new();
    for captures in pattern.regex.captures_iter(text).take(most) {
        let groups = captures
            .iter()
            .map(|group| group.map_or("", |group| group.as_str()));
        let groups: Vec<&str> = groups.collect();
        let bytes: usize = groups.iter().map(|group| group.len()).sum();
        meter.charge((1 + groups.len() as u64) * 2 * SLOT + bytes as u64)?;
        let groups: Vec<Value> = groups.into_iter().map(Value::from).collect();
        found.push(Value::from(groups));
    }
    Ok(Some(Value::from(found)))
}

pub(super) fn split(pattern: &Value, text: &Value, meter: &Meter) -> BuiltinResult {
    let (Some(pattern), Value::String(text)) = (compiled(pattern, meter)?, text) else {
        return Ok(None);
    };
    let matches = pattern.regex.find_iter(text).map(|found| found.range());
    let mut parts = Vec::new();
    for range in SplitRanges::new(pattern.expression.source(), text.len(), None, matches) {
        let part = text.get(range).unwrap_or_default();
        meter.charge(2 * SLOT + part.len() as u64)?;
        parts.push(Value::from(part));
    }
    Ok(Some(Value::from(parts)))
}

pub(super) fn replace(text: &Value, pattern: &Value, by: &Value, meter: &Meter) -> BuiltinResult {
    let (Value::String(text), Some(pattern), Value::String(by)) =
        (text, compiled(pattern, meter)?, by)
    else {
        return Ok(None);
    };
    // A replacement can repeat groups as often as their names fit into it.
    let groups = by.matches('$').count() as u64;
    let mut replaced = String::new();
    let mut rest = 0;
    for captures in pattern.regex.captures_iter(text) {
        let Some(whole) = captures.get(0) else {
            continue;
        };
        replaced.push_str(text.get(rest..whole.start()).unwrap_or_default());
        let expanded = by.len() as u64 + groups.saturating_mul(whole.len() as u64);
        meter.fits(expanded.saturating_add(replaced.len() as u64))?;
        for part in replacement_parts(by.as_bytes()) {
            replaced.push_str(pattern.expand(part, &captures));
        }
        rest = whole.end();
    }
    replaced.push_str(text.get(rest..).unwrap_or_default());
    Ok(Some(Value::from(replaced)))
}

impl PolicyPattern {
    fn expand<'t>(&self, part: ReplacementPart<'t>, captures: &Captures<'t>) -> &'t str {
        let group = |number| captures.get(number).map(|group| group.as_str());
        let text = match part {
            // The parts of a string are strings.
            ReplacementPart::Text(text) => std::str::from_utf8(text).ok(),
            ReplacementPart::Number(number) => group(number),
            ReplacementPart::Name(name) => self.expression.groups_named(name).find_map(group),
        };
        text.unwrap_or_default()
    }
}

/// Whether a text matches a template that contains patterns between delimiters.
pub(super) fn template_match(
    template: &Value,
    text: &Value,
    (start, end): (&Value, &Value),
    meter: &Meter,
) -> BuiltinResult {
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
        let Some(pattern) = compiled(&Value::from(pattern), meter)? else {
            return Ok(None);
        };
        let Some(found) = pattern.regex.find(rest).filter(|found| found.start() == 0) else {
            return Ok(Some(Value::from(false)));
        };
        text = &rest[found.end()..];
        template = &template[end + close.len()..];
    }
    Ok(Some(Value::from(template == text)))
}
