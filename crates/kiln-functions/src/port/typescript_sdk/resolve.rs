//! How js-yaml resolves plain scalars, and how it writes numbers and dates.

use std::sync::LazyLock;

use kiln_yaml::{Kind, NodeRef};
use regex::Regex;

/// The type of a value in JavaScript.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum JsType {
    Null,
    Boolean,
    Number,
    Date,
    String,
    Array,
    Object,
}

/// The type of a node of a document that has passed through js-yaml.
pub(crate) fn js_type(node: NodeRef<'_>) -> JsType {
    match node.kind() {
        Kind::Mapping => JsType::Object,
        Kind::Sequence => JsType::Array,
        Kind::Alias => JsType::Null,
        Kind::Scalar if node.style().is_quoted_or_block() => JsType::String,
        Kind::Scalar => match resolve(node.value()) {
            Plain::Null => JsType::Null,
            Plain::Boolean(_) => JsType::Boolean,
            Plain::Number(_) => JsType::Number,
            Plain::Date(_) => JsType::Date,
            Plain::String => JsType::String,
        },
    }
}

/// A resolved plain scalar.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Plain {
    Null,
    Boolean(bool),
    Number(f64),
    /// As it is written.
    Date(String),
    String,
}

pub(super) fn resolve(text: &str) -> Plain {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Plain::Null,
        "true" | "True" | "TRUE" => Plain::Boolean(true),
        "false" | "False" | "FALSE" => Plain::Boolean(false),
        _ => integer(text)
            .or_else(|| float(text))
            .map(Plain::Number)
            .or_else(|| date(text).map(Plain::Date))
            .unwrap_or(Plain::String),
    }
}

static DECIMAL: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^[1-9][0-9_]*(:[0-5]?[0-9])*$").ok());
static FLOAT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r"^(?:[-+]?(?:0|[1-9][0-9_]*)(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?|\.[0-9_]+(?:[eE][-+]?[0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$";
    Regex::new(pattern).ok()
});
static DATE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r"^([0-9]{4})-([0-9]{2})-([0-9]{2})$|^([0-9]{4})-([0-9][0-9]?)-([0-9][0-9]?)(?:[Tt]|[ \t]+)([0-9][0-9]?):([0-9]{2}):([0-9]{2})(?:\.([0-9]*))?(?:[ \t]*(?:Z|([-+])([0-9][0-9]?)(?::([0-9]{2}))?))?$";
    Regex::new(pattern).ok()
});

fn is_match(regex: &LazyLock<Option<Regex>>, text: &str) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

fn integer(text: &str) -> Option<f64> {
    let (sign, digits) = signed(text);
    if text.ends_with('_') {
        return None;
    }
    let in_base = |digits: &str, base: u32| {
        let mut value = None;
        for digit in digits.chars().filter(|digit| *digit != '_') {
            let digit = f64::from(digit.to_digit(base)?);
            value = Some(value.unwrap_or(0.0) * f64::from(base) + digit);
        }
        value
    };
    let value = if digits == "0" {
        0.0
    } else if let Some(digits) = digits.strip_prefix("0b") {
        in_base(digits, 2)?
    } else if let Some(digits) = digits.strip_prefix("0x") {
        in_base(digits, 16)?
    } else if let Some(digits) = digits.strip_prefix('0') {
        in_base(digits, 8)?
    } else if is_match(&DECIMAL, digits) {
        sixtieths(&digits.replace('_', ""))?
    } else {
        return None;
    };
    // Integers have no negative zero.
    Some(sign * value + 0.0)
}

fn float(text: &str) -> Option<f64> {
    if text.ends_with('_') || !is_match(&FLOAT, text) {
        return None;
    }
    let text = text.replace('_', "").to_lowercase();
    let (sign, digits) = signed(&text);
    match digits {
        ".inf" => Some(sign * f64::INFINITY),
        ".nan" => Some(f64::NAN),
        "." => Some(f64::NAN),
        digits => Some(sign * sixtieths(digits)?),
    }
}

fn signed(text: &str) -> (f64, &str) {
    match text.strip_prefix('-') {
        Some(digits) => (-1.0, digits),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// A number, or a base-60 number.
fn sixtieths(text: &str) -> Option<f64> {
    let mut value = 0.0;
    for part in text.split(':') {
        value = value * 60.0 + part.parse::<f64>().ok()?;
    }
    Some(value)
}

/// A number as js-yaml writes it.
pub(super) fn number_text(value: f64) -> String {
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    if value == 0.0 {
        return if value.is_sign_negative() {
            "-0.0"
        } else {
            "0"
        }
        .to_owned();
    }
    let text = javascript_text(value);
    let is_whole = value % 1.0 == 0.0;
    match text.split_once('e') {
        Some((digits, exponent)) if !is_whole && !digits.contains('.') => {
            format!("{digits}.e{exponent}")
        }
        _ => text,
    }
}

/// A number as JavaScript writes it: in digits, unless there are too many.
fn javascript_text(value: f64) -> String {
    let scientific = format!("{:e}", value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits = mantissa.replace('.', "");
    let point = exponent.parse::<i64>().unwrap_or(0) + 1;
    let count = i64::try_from(digits.len()).unwrap_or(i64::MAX);
    let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or(0));
    let text = if (count..=21).contains(&point) {
        format!("{digits}{}", zeros(point - count))
    } else if (1..=21).contains(&point) {
        let (whole, rest) = digits.split_at(usize::try_from(point).unwrap_or(0));
        format!("{whole}.{rest}")
    } else if (-5..=0).contains(&point) {
        format!("0.{}{digits}", zeros(-point))
    } else {
        let sign = if point > 0 { '+' } else { '-' };
        format!("{mantissa}e{sign}{}", (point - 1).abs())
    };
    match value < 0.0 {
        true => format!("-{text}"),
        false => text,
    }
}

/// A date or time as JavaScript writes it: in UTC, with milliseconds.
fn date(text: &str) -> Option<String> {
    let found = DATE.as_ref()?.captures(text)?;
    let number = |at: usize| -> Option<i64> { found.get(at)?.as_str().parse().ok() };
    if let (Some(year), Some(month), Some(day)) = (number(1), number(2), number(3)) {
        return Some(iso(days(year, month, day) * DAY));
    }
    let days = days(number(4)?, number(5)?, number(6)?);
    let seconds = number(7)? * 3600 + number(8)? * 60 + number(9)?;
    let fraction = found.get(10).map_or("", |part| part.as_str());
    let fraction: String = fraction.chars().chain("000".chars()).take(3).collect();
    let millis = fraction.parse::<i64>().ok()?;
    let shift = (number(12).unwrap_or(0) * 60 + number(13).unwrap_or(0)) * 60_000;
    let shift = match found.get(11).map(|sign| sign.as_str()) {
        Some("-") => -shift,
        _ => shift,
    };
    Some(iso(days * DAY + seconds * 1000 + millis - shift))
}

const DAY: i64 = 86_400_000;

/// Days since 1970; months and days may be too large.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let months = year * 12 + month - 1;
    // Years begin in March, so that the leap day is their last.
    let shifted = months - 2;
    let (year, month) = (shifted.div_euclid(12), shifted.rem_euclid(12));
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leaps + (month * 153 + 2) / 5 + day - 1 - 719_468
}

fn iso(millis: i64) -> String {
    let (days, rest) = (millis.div_euclid(DAY), millis.rem_euclid(DAY));
    let from_march = days + 719_468;
    let era = from_march.div_euclid(146_097);
    let of_era = from_march.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = era * 400 + year_of_era + next;
    let (seconds, millis) = (rest / 1000, rest % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}
