//! How much is told on standard error.

use std::io;

use tracing::Level;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Begins to tell what happens, as much as users of klog expect of a verbosity.
pub(crate) fn init(verbosity: i64) {
    let level = level(verbosity);
    let targets = Targets::new()
        .with_target("wrapper_server", level)
        .with_target("kiln_server", level)
        .with_target("kiln_runtime", level)
        .with_default(LevelFilter::WARN);
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(io::stderr);
    // Only the first can begin, and there is no other.
    let _ = tracing_subscriber::registry()
        .with(lines)
        .with(targets)
        .try_init();
}

/// Errors and warnings are always told; 4 tells what went into a function that failed, 5 everything.
fn level(verbosity: i64) -> Level {
    match verbosity {
        ..=0 => Level::WARN,
        1..=3 => Level::INFO,
        4 => Level::DEBUG,
        _ => Level::TRACE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_is_told_with_every_step() {
        let levels: Vec<Level> = (0..=6).map(level).collect();
        assert!(levels.is_sorted_by(|one, next| one <= next), "{levels:?}");
        assert_eq!(level(2), Level::INFO);
        assert_eq!(level(-1), Level::WARN);
    }
}
