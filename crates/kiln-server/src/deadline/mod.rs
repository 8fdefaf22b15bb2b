//! `grpc-timeout`: how long a caller waits.

use std::time::Duration;

use tonic::metadata::MetadataMap;

/// A value that is not a timeout: up to eight digits and a unit.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("malformed grpc-timeout: {0:?}")]
pub(crate) struct MalformedTimeout(String);

/// How long the caller waits, if it sets a timeout.
pub(crate) fn timeout(metadata: &MetadataMap) -> Result<Option<Duration>, MalformedTimeout> {
    let Some(value) = metadata.get("grpc-timeout") else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default();
    read(text)
        .map(Some)
        .ok_or_else(|| MalformedTimeout(text.to_owned()))
}

fn read(text: &str) -> Option<Duration> {
    let unit = text.chars().next_back()?;
    let digits = text.strip_suffix(unit)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    Some(match unit {
        'H' => Duration::from_secs(count * 60 * 60),
        'M' => Duration::from_secs(count * 60),
        'S' => Duration::from_secs(count),
        'm' => Duration::from_millis(count),
        'u' => Duration::from_micros(count),
        'n' => Duration::from_nanos(count),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
