//! Values of flags: booleans and times as Go writes them, and sizes.

use std::time::Duration;

/// The spellings of a truth value that Go's flags take.
pub(crate) fn go_bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => Err(format!(
            "strconv.ParseBool: parsing {text:?}: invalid syntax"
        )),
    }
}

/// A time as Go writes it: numbers with units, one after the other.
pub(crate) fn go_time(text: &str) -> Result<Duration, String> {
    let invalid = || format!("{text:?} is not a time such as 90s, 5m or 1h30m");
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let number = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .and_then(|end| rest.split_at_checked(end));
        let (number, tail) = number.ok_or_else(invalid)?;
        let unit_end = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at_checked(unit_end).ok_or_else(invalid)?;
        let seconds = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return Err(invalid()),
        };
        let number: f64 = number.parse().map_err(|_| invalid())?;
        let part = Duration::try_from_secs_f64(number * seconds).map_err(|_| invalid())?;
        total = total.checked_add(part).ok_or_else(invalid)?;
        rest = tail;
    }
    match total {
        Duration::ZERO => Err(invalid()),
        total => Ok(total),
    }
}

pub(crate) fn size(text: &str) -> Result<u64, String> {
    let invalid = || format!("{text:?} is not a size such as 1000, 64K, 512M or 2G");
    let (number, unit) = match text.char_indices().next_back() {
        Some((at, 'K' | 'k')) => (text.get(..at), 1 << 10),
        Some((at, 'M' | 'm')) => (text.get(..at), 1 << 20),
        Some((at, 'G' | 'g')) => (text.get(..at), 1 << 30),
        _ => (Some(text), 1),
    };
    let number: u64 = number
        .and_then(|number| number.parse().ok())
        .ok_or_else(invalid)?;
    number.checked_mul(unit).ok_or_else(invalid)
}
