//! Logs on standard error.

use std::io;

use tracing::level_filters::LevelFilter;

/// Sends events to standard error, as many as `level` says: 0 errors, 1 warnings, 2 and 3 what happens, 4 details, 5
/// everything. Only the first call counts.
pub fn init_logging(level: u8) {
    let filter = match level {
        0 => LevelFilter::ERROR,
        1 => LevelFilter::WARN,
        2 | 3 => LevelFilter::INFO,
        4 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(filter)
        .with_writer(io::stderr)
        .with_target(false)
        .finish();
    // Somebody else may have set one, and then that is what counts.
    let _ = tracing::subscriber::set_global_default(subscriber);
}
