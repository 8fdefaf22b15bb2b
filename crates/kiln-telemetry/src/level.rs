//! Log levels, with the numbers of klog.

use std::fmt;
use std::str::FromStr;

use tracing::{Level, Metadata};

/// A log level. Each level includes the levels below it.
///
/// | level | logs |
/// |---|---|
/// | 0 | errors and warnings |
/// | 1 | start and end of the server, reloaded files |
/// | 2 | every call |
/// | 3 | the steps of every call, and details |
/// | 4 | all events of kiln |
/// | 5 | events of libraries, too |
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LogLevel(u8);

/// A text that is not a log level.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{text:?} is not a log level; it is a number from 0 (errors and warnings) to 5 (everything)"
)]
pub struct LogLevelError {
    text: String,
}

impl LogLevel {
    /// The level of programs without a setting.
    pub const DEFAULT: LogLevel = LogLevel(2);

    /// The level of any number; klog does not limit its levels.
    pub fn clamped(number: i64) -> LogLevel {
        LogLevel(u8::try_from(number.clamp(0, 5)).unwrap_or(5))
    }

    /// Whether events of successful calls are logged.
    pub(crate) fn includes_calls(self) -> bool {
        self.0 >= 2
    }

    /// Whether the end of each step of a call is logged.
    pub(crate) fn includes_steps(self) -> bool {
        self.0 >= 3
    }

    /// Whether an event or span is enabled, by its metadata.
    ///
    /// The spans of calls are enabled at every level, so that warnings have the fields of their call. The spans of steps are
    /// enabled where steps are logged.
    pub(crate) fn enables(self, metadata: &Metadata<'_>) -> bool {
        if is_kiln(metadata.target()) {
            let least = match metadata.is_span() {
                true => Level::INFO,
                false => Level::ERROR,
            };
            return *metadata.level() <= self.kiln_level().max(least);
        }
        if self.0 >= 5 {
            return true;
        }
        let is_reported_by_kiln = REPORTED_BY_KILN
            .iter()
            .any(|library| metadata.target().starts_with(library));
        !is_reported_by_kiln && *metadata.level() <= Level::WARN
    }

    fn kiln_level(self) -> Level {
        match self.0 {
            0 => Level::WARN,
            1 | 2 => Level::INFO,
            3 => Level::DEBUG,
            _ => Level::TRACE,
        }
    }
}

/// Libraries whose failures kiln logs itself, once per outage.
const REPORTED_BY_KILN: [&str; 2] = ["opentelemetry", "kube_client"];

/// Whether a target is a module of this project.
pub(crate) fn is_kiln(target: &str) -> bool {
    ["kiln", "function_runner", "wrapper_server"]
        .iter()
        .any(|program| target.starts_with(program))
}

impl Default for LogLevel {
    fn default() -> LogLevel {
        LogLevel::DEFAULT
    }
}

impl TryFrom<i64> for LogLevel {
    type Error = LogLevelError;

    fn try_from(number: i64) -> Result<LogLevel, LogLevelError> {
        match u8::try_from(number) {
            Ok(level @ 0..=5) => Ok(LogLevel(level)),
            _ => Err(LogLevelError {
                text: number.to_string(),
            }),
        }
    }
}

impl FromStr for LogLevel {
    type Err = LogLevelError;

    fn from_str(text: &str) -> Result<LogLevel, LogLevelError> {
        let number: Result<i64, _> = text.parse();
        number
            .map_err(|_| LogLevelError {
                text: text.to_owned(),
            })
            .and_then(LogLevel::try_from)
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
