//! Values of flags: booleans and times in Go's syntax, and sizes.

use std::time::Duration;

use kiln_go::GoDuration;
pub(crate) use kiln_go::parse_bool as go_bool;

/// A duration in Go's syntax. Zero has to be written as `0`.
pub(crate) fn go_time(text: &str) -> Result<Duration, String> {
    let duration = text.parse::<GoDuration>().ok();
    let duration = duration.and_then(GoDuration::to_std);
    duration
        .filter(|duration| !duration.is_zero() || text == "0")
        .ok_or_else(|| format!("{text:?} is not a duration such as 90s, 5m or 1h30m"))
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
