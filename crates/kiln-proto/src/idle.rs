//! How long a server has been idle, reported with its health.
//!
//! Several clients may call one server without knowledge of each other. A client that wants to stop the server can
//! check first.

use std::time::Duration;

use tonic::metadata::{MetadataMap, MetadataValue};

/// The milliseconds since the last call ended, zero while one runs; in the metadata of the response to a health check.
pub const IDLE_METADATA: &str = "kiln-idle-ms";

/// Adds the idle time to a response.
pub fn set_idle_time(metadata: &mut MetadataMap, idle: Duration) {
    let millis = u64::try_from(idle.as_millis()).unwrap_or(u64::MAX);
    metadata.insert(IDLE_METADATA, MetadataValue::from(millis));
}

/// The idle time in a response, if there is one.
pub fn idle_time(metadata: &MetadataMap) -> Option<Duration> {
    let millis = metadata.get(IDLE_METADATA)?.to_str().ok()?;
    millis.parse().ok().map(Duration::from_millis)
}
