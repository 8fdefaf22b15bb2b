//! Scalars as JSON: what YAML's plain words mean, and how Go prints numbers, times and strings.

use kiln_go::{parse_integer, push_json_string};
use kiln_yaml::NodeRef;

use super::Reason;
use crate::record::{decode_base64, explicit_tag_lie};

pub(super) fn push_scalar(out: &mut String, node: NodeRef<'_>) -> Result<(), Reason> {
    let text = node.value();
    let tag = node.tag();
    let plain = || text.replace('_', "");
    let word = match tag {
        "!!null" => matches!(text, "" | "~" | "null" | "Null" | "NULL").then(|| "null".to_owned()),
        "!!bool" => match text {
            "true" | "True" | "TRUE" => Some("true".to_owned()),
            "false" | "False" | "FALSE" => Some("false".to_owned()),
            _ => None,
        },
        "!!int" => parse_integer(&plain()).map(|number| number.to_string()),
        "!!float" => match float(&plain()) {
            Some(number) if number.is_nan() => return Err(Reason::Value("NaN")),
            Some(f64::INFINITY) => return Err(Reason::Value("+Inf")),
            Some(f64::NEG_INFINITY) => return Err(Reason::Value("-Inf")),
            Some(number) => Some(go_float(number)),
            None => None,
        },
        "!!timestamp" => timestamp(text).map(|time| format!("\"{time}\"")),
        "!!binary" => decode_base64(text).map(|data| {
            let mut word = String::new();
            push_json_string(&mut word, &data);
            word.replace('\u{fffd}', "\\ufffd")
        }),
        _ => {
            push_json_string(out, text);
            return Ok(());
        }
    };
    let word = word.ok_or_else(|| {
        let lie = explicit_tag_lie(node);
        Reason::Tag(lie.unwrap_or_else(|| format!("cannot decode `{text}` as a {tag}")))
    })?;
    out.push_str(&word);
    Ok(())
}

fn float(text: &str) -> Option<f64> {
    match text {
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Some(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Some(f64::NEG_INFINITY),
        ".nan" | ".NaN" | ".NAN" => return Some(f64::NAN),
        _ => {}
    }
    if let Some(number) = parse_integer(text) {
        return Some(number as f64);
    }
    let is_numeric = |byte: u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    let number: f64 = text.bytes().all(is_numeric).then(|| text.parse().ok())??;
    number.is_finite().then_some(number)
}

/// The shortest digits that mean this number; with an exponent only where Go's JSON has one.
fn go_float(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 || (1e-6..1e21).contains(&size) {
        return number.to_string();
    }
    let text = format!("{number:e}");
    match text.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
        _ => text,
    }
}

/// A time of one of YAML's forms in the form of RFC 3339.
fn timestamp(text: &str) -> Option<String> {
    let (date, rest) = match text.find(['T', 't', ' ']) {
        Some(at) => (text.get(..at)?, text.get(at..)?),
        None => (text, ""),
    };
    let mut parts = date.splitn(3, '-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let (month, day) = (two_digits(month)?, two_digits(day)?);
    if rest.is_empty() {
        return Some(format!("{year}-{month}-{day}T00:00:00Z"));
    }
    let (time, zone) = match rest.strip_prefix(' ') {
        Some(time) => (time, "Z"),
        None => {
            let time = rest.get(1..)?;
            let at = time.find(['Z', '+', '-'])?;
            (time.get(..at)?, time.get(at..)?)
        }
    };
    let zone = match zone {
        "+00:00" | "-00:00" => "Z",
        zone => zone,
    };
    let (time, fraction) = time.split_once(['.', ',']).unwrap_or((time, ""));
    let mut parts = time.splitn(3, ':');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next()?);
    let (hour, minute, second) = (two_digits(hour)?, two_digits(minute)?, two_digits(second)?);
    let fraction = fraction.get(..9).unwrap_or(fraction).trim_end_matches('0');
    let dot = if fraction.is_empty() { "" } else { "." };
    Some(format!(
        "{year}-{month}-{day}T{hour}:{minute}:{second}{dot}{fraction}{zone}"
    ))
}

fn two_digits(text: &str) -> Option<String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| format!("{text:0>2}"))
}
