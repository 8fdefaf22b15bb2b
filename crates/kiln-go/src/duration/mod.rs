//! Durations as Go's `time` reads and prints them: `30m`, `1h30m`, `1.5h`, `100ms`.

use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A duration, which may be negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct GoDuration {
    /// The whole of it.
    pub nanoseconds: i64,
}

/// Why a text is not a duration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DurationError {
    /// It does not consist of numbers with units, or is too long.
    Invalid(String),
    /// A number has no unit.
    MissingUnit(String),
    /// A number has a unit that does not exist.
    UnknownUnit { unit: String, text: String },
}

impl fmt::Display for DurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DurationError::Invalid(text) => write!(f, "time: invalid duration {}", quote(text)),
            DurationError::MissingUnit(text) => {
                write!(f, "time: missing unit in duration {}", quote(text))
            }
            DurationError::UnknownUnit { unit, text } => {
                let (unit, text) = (quote(unit), quote(text));
                write!(f, "time: unknown unit {unit} in duration {text}")
            }
        }
    }
}

impl Error for DurationError {}

/// The text in quotes as Go's `time` writes it, which has no `strconv`: bytes outside printable ASCII as numbers.
fn quote(text: &str) -> String {
    let mut out = String::from('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=0x7f => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

impl GoDuration {
    /// Whole seconds. Too many of them wrap around, as in Go.
    pub fn from_seconds(seconds: i64) -> GoDuration {
        GoDuration {
            nanoseconds: seconds.wrapping_mul(SECOND.cast_signed()),
        }
    }

    /// The whole milliseconds of a duration, for messages: measured times have digits that mean nothing.
    pub fn from_whole_millis(duration: Duration) -> GoDuration {
        let exact = GoDuration::from(duration).nanoseconds;
        GoDuration {
            nanoseconds: exact - exact % MILLISECOND.cast_signed(),
        }
    }

    /// The same duration as the standard library has it; none if it is negative.
    pub fn to_std(self) -> Option<Duration> {
        u64::try_from(self.nanoseconds)
            .ok()
            .map(Duration::from_nanos)
    }
}

impl From<Duration> for GoDuration {
    /// The longest duration if it is longer than that.
    fn from(duration: Duration) -> GoDuration {
        GoDuration {
            nanoseconds: i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX),
        }
    }
}

impl FromStr for GoDuration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<GoDuration, DurationError> {
        let invalid = || DurationError::Invalid(text.to_owned());
        let (negative, mut rest) = match text.as_bytes() {
            [b'-', ..] => (true, &text[1..]),
            [b'+', ..] => (false, &text[1..]),
            _ => (false, text),
        };
        if rest == "0" {
            return Ok(GoDuration::default());
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let (whole, after) = digits(rest);
            let (fraction, after) = match after.strip_prefix('.') {
                Some(after) => digits(after),
                None => ("", after),
            };
            if whole.is_empty() && fraction.is_empty() {
                return Err(invalid());
            }
            let whole = leading_integer(whole).ok_or_else(invalid)?;
            let end = after.find(|c: char| c == '.' || c.is_ascii_digit());
            let (unit, after) = after.split_at(end.unwrap_or(after.len()));
            if unit.is_empty() {
                return Err(DurationError::MissingUnit(text.to_owned()));
            }
            let nanoseconds = unit_of(unit).ok_or_else(|| DurationError::UnknownUnit {
                unit: unit.to_owned(),
                text: text.to_owned(),
            })?;
            let part = part(whole, fraction, nanoseconds).ok_or_else(invalid)?;
            total = total.checked_add(part).ok_or_else(invalid)?;
            rest = after;
        }
        // The earliest moment is one further away than the latest.
        let limit = i64::MAX as u64 + u64::from(negative);
        if total > limit {
            return Err(invalid());
        }
        let nanoseconds = if negative {
            0i64.wrapping_sub_unsigned(total)
        } else {
            total.cast_signed()
        };
        Ok(GoDuration { nanoseconds })
    }
}

/// The digits at the beginning, and what follows.
fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

fn unit_of(name: &str) -> Option<u64> {
    Some(match name {
        "ns" => 1,
        "us" | "\u{b5}s" | "\u{3bc}s" => MICROSECOND,
        "ms" => MILLISECOND,
        "s" => SECOND,
        "m" => MINUTE,
        "h" => HOUR,
        _ => return None,
    })
}

/// The value of digits; none if no duration has as many nanoseconds.
fn leading_integer(digits: &str) -> Option<u64> {
    let value = match digits {
        "" => 0,
        digits => digits.parse().ok()?,
    };
    (value <= 1 << 63).then_some(value)
}

/// A number with a fraction of a unit, in nanoseconds; none if that is too much.
fn part(whole: u64, fraction: &str, unit: u64) -> Option<u64> {
    let whole = whole.checked_mul(unit)?;
    let mut digits: u64 = 0;
    let mut scale = 1.0;
    for digit in fraction.bytes() {
        // Digits beyond what fits are less than a nanosecond.
        if digits > (i64::MAX as u64) / 10 {
            break;
        }
        digits = digits * 10 + u64::from(digit - b'0');
        scale *= 10.0;
    }
    // Go computes with floating point here, and a third of an hour is twenty minutes because of it.
    let nanoseconds = digits as f64 * (unit as f64 / scale);
    whole.checked_add(nanoseconds as u64)
}

impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanoseconds < 0 {
            f.write_str("-")?;
        }
        let total = self.nanoseconds.unsigned_abs();
        match total {
            0 => return f.write_str("0s"),
            _ if total < MICROSECOND => return write!(f, "{total}ns"),
            _ if total < MILLISECOND => return decimal(f, total, MICROSECOND, "\u{b5}s"),
            _ if total < SECOND => return decimal(f, total, MILLISECOND, "ms"),
            _ => {}
        }
        let (hours, minutes) = (total / HOUR, total / MINUTE % 60);
        if hours > 0 {
            write!(f, "{hours}h")?;
        }
        if hours > 0 || minutes > 0 {
            write!(f, "{minutes}m")?;
        }
        decimal(f, total % MINUTE, SECOND, "s")
    }
}

/// A number of units with as many decimals as it needs.
fn decimal(f: &mut fmt::Formatter<'_>, total: u64, unit: u64, name: &str) -> fmt::Result {
    let width = unit.ilog10() as usize;
    let fraction = format!("{:0width$}", total % unit);
    match fraction.trim_end_matches('0') {
        "" => write!(f, "{}{name}", total / unit),
        fraction => write!(f, "{}.{fraction}{name}", total / unit),
    }
}

#[cfg(test)]
mod tests;
