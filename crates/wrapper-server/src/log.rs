//! How much is told on standard error.

use std::io;

use kiln_telemetry::{LogFormat, LogLevel, LogOptions};

/// Begins to tell what happens, as much as users of klog expect of a verbosity.
pub(crate) fn init(verbosity: i64) {
    // Only the first can begin, and there is no other.
    let _ = kiln_telemetry::init(LogOptions {
        level: LogLevel::clamped(verbosity),
        format: LogFormat::Text,
        output: Box::new(io::stderr()),
    });
}
