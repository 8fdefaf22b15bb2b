//! Logging on standard error.

use std::io;

use kiln_telemetry::{LogFormat, LogLevel, LogOptions};

/// Starts logging, with klog's levels of verbosity.
pub(crate) fn init(verbosity: i64) {
    // Only a second call can fail, and there is none.
    let _ = kiln_telemetry::init(LogOptions {
        level: LogLevel::clamped(verbosity),
        format: LogFormat::Text,
        output: Box::new(io::stderr()),
    });
}
