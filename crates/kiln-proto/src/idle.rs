//! How long a server has had nothing to do, which it tells those who ask for its health.
//!
//! Several may call one server and not know of each other. Whoever wants to end it can ask first.

use std::time::Duration;

use tonic::metadata::{MetadataMap, MetadataValue};

/// The milliseconds since the last call was over, zero while one runs; in the metadata of the answer to a health check.
pub const IDLE_METADATA: &str = "kiln-idle-ms";

/// Says it.
pub fn tell_idle(metadata: &mut MetadataMap, idle: Duration) {
    let millis = u64::try_from(idle.as_millis()).unwrap_or(u64::MAX);
    metadata.insert(IDLE_METADATA, MetadataValue::from(millis));
}

/// What was said; none if nothing was.
pub fn told_idle(metadata: &MetadataMap) -> Option<Duration> {
    let millis = metadata.get(IDLE_METADATA)?.to_str().ok()?;
    millis.parse().ok().map(Duration::from_millis)
}
