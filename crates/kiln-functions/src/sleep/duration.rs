//! Go's durations: how they are written, read and complained about.

use std::fmt;
use std::time::Duration;

use kiln_yaml::go_quote;

/// Nanoseconds; may be below zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct GoDuration(i64);

/// A text is not a duration, or not a number.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum ParseError {
    #[error("time: invalid duration {}", go_quote(.0))]
    Invalid(String),
    #[error("time: missing unit in duration {}", go_quote(.0))]
    NoUnit(String),
    #[error("time: unknown unit {} in duration {}", go_quote(.unit), go_quote(.text))]
    UnknownUnit { unit: String, text: String },
    #[error("strconv.Atoi: parsing {}: {why}", go_quote(.text))]
    NotANumber { text: String, why: &'static str },
}

impl GoDuration {
    pub(super) fn seconds(seconds: i64) -> GoDuration {
        GoDuration(seconds.wrapping_mul(1_000_000_000))
    }

    /// How long to wait.
    pub(super) fn length(self) -> Duration {
        Duration::from_nanos(u64::try_from(self.0).unwrap_or_default())
    }

    pub(super) fn parse(text: &str) -> Result<GoDuration, ParseError> {
        let invalid = || ParseError::Invalid(text.to_owned());
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        if unsigned == "0" {
            return Ok(GoDuration(0));
        }
        let mut rest = unsigned;
        let mut total: i64 = 0;
        if rest.is_empty() {
            return Err(invalid());
        }
        while !rest.is_empty() {
            let (whole, after) = digits(rest);
            let (fraction, after) = match after.strip_prefix('.') {
                Some(after) => digits(after),
                None => ("", after),
            };
            if whole.is_empty() && fraction.is_empty() {
                return Err(invalid());
            }
            let end = after.find(|c: char| c == '.' || c.is_ascii_digit());
            let (unit, after) = after.split_at(end.unwrap_or(after.len()));
            let unit = match unit {
                "" => return Err(ParseError::NoUnit(text.to_owned())),
                "ns" => 1,
                "us" | "µs" | "μs" => 1_000,
                "ms" => 1_000_000,
                "s" => 1_000_000_000,
                "m" => 60_000_000_000,
                "h" => 3_600_000_000_000_i64,
                unit => {
                    return Err(ParseError::UnknownUnit {
                        unit: unit.to_owned(),
                        text: text.to_owned(),
                    });
                }
            };
            let whole: i64 = match whole {
                "" => 0,
                whole => whole.parse().map_err(|_| invalid())?,
            };
            let fraction: f64 = format!("0.{fraction}0").parse().unwrap_or_default();
            let part = whole
                .checked_mul(unit)
                .and_then(|part| part.checked_add((fraction * unit as f64) as i64));
            total = part
                .and_then(|part| total.checked_add(part))
                .ok_or_else(invalid)?;
            rest = after;
        }
        let is_negative = text.starts_with('-');
        Ok(GoDuration(if is_negative { -total } else { total }))
    }
}

/// A number of seconds.
pub(super) fn parse_seconds(text: &str) -> Result<GoDuration, ParseError> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_number = !unsigned.is_empty() && unsigned.bytes().all(|b| b.is_ascii_digit());
    let refused = |why| ParseError::NotANumber {
        text: text.to_owned(),
        why,
    };
    if !is_number {
        return Err(refused("invalid syntax"));
    }
    let seconds = text.parse().map_err(|_| refused("value out of range"))?;
    Ok(GoDuration::seconds(seconds))
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

/// `1h0m2.5s`, `12ms`, `0s`
impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let nanos = self.0.unsigned_abs();
        let (unit, name) = match nanos {
            0 => return f.write_str("0s"),
            1..1_000 => (1, "ns"),
            1_000..1_000_000 => (1_000, "µs"),
            1_000_000..1_000_000_000 => (1_000_000, "ms"),
            _ => (1_000_000_000, "s"),
        };
        f.write_str(sign)?;
        let whole = nanos / unit;
        let width = unit.ilog10() as usize;
        let fraction = match nanos % unit {
            0 => String::new(),
            rest => format!(".{rest:0width$}").trim_end_matches('0').to_owned(),
        };
        match (name, whole / 3600, whole / 60 % 60, whole % 60) {
            ("s", 0, 0, seconds) => write!(f, "{seconds}{fraction}s"),
            ("s", 0, minutes, seconds) => write!(f, "{minutes}m{seconds}{fraction}s"),
            ("s", hours, minutes, seconds) => write!(f, "{hours}h{minutes}m{seconds}{fraction}s"),
            (name, ..) => write!(f, "{whole}{fraction}{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{GoDuration, parse_seconds};

    #[test]
    fn durations_are_read_and_written_as_go_does() {
        for (text, shown) in [
            ("0", "0s"),
            ("1s", "1s"),
            ("90s", "1m30s"),
            ("1.5h", "1h30m0s"),
            ("100ms", "100ms"),
            ("1500us", "1.5ms"),
            ("1ns", "1ns"),
            ("-2s", "-2s"),
            ("1h1m1.5s", "1h1m1.5s"),
            (".5s", "500ms"),
        ] {
            assert_eq!(
                GoDuration::parse(text).unwrap().to_string(),
                shown,
                "{text}"
            );
        }
        for (text, message) in [
            ("", r#"time: invalid duration """#),
            ("x", r#"time: invalid duration "x""#),
            ("5", r#"time: missing unit in duration "5""#),
            ("5x", r#"time: unknown unit "x" in duration "5x""#),
            ("9999999999h", r#"time: invalid duration "9999999999h""#),
        ] {
            assert_eq!(GoDuration::parse(text).unwrap_err().to_string(), message);
        }
        let error = parse_seconds("x").unwrap_err().to_string();
        assert_eq!(error, r#"strconv.Atoi: parsing "x": invalid syntax"#);
        assert_eq!(parse_seconds("-3").unwrap().to_string(), "-3s");
    }
}
