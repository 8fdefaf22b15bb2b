//! Values of flags: booleans and times in Go's syntax, and sizes.

use std::time::Duration;

use kiln_go::GoDuration;
pub(crate) use kiln_go::parse_bool as go_bool;

/// A duration in Go's syntax.
pub(crate) fn go_time(text: &str) -> Result<Duration, String> {
    let duration = text.parse::<GoDuration>().ok();
    let duration = duration.and_then(GoDuration::to_std);
    duration.ok_or_else(|| format!("{text:?} is not a duration such as 90s, 5m or 1h30m"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        let nanoseconds = |text| go_time(text).ok().map(|time| time.as_nanos());
        for zero in ["0", "0s", "0h", "0h0m"] {
            assert_eq!(nanoseconds(zero), Some(0), "{zero}");
        }
        assert_eq!(nanoseconds("1m30s"), Some(90_000_000_000));
        for invalid in ["", "90", "-1s", "soon"] {
            assert_eq!(nanoseconds(invalid), None, "{invalid}");
        }
    }
}
