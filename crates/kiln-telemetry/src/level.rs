//! How much is logged, in the numbers that users of klog know.

use std::fmt;
use std::str::FromStr;

use tracing::{Level, Metadata};

/// How much is logged: what a level shows, all above it show too.
///
/// | level | shows |
/// |---|---|
/// | 0 | errors and warnings |
/// | 1 | the life of the server: start, end, files read again |
/// | 2 | every call |
/// | 3 | the steps of every call, and details |
/// | 4 | all that kiln has to say |
/// | 5 | what libraries have to say, too |
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LogLevel(u8);

/// Why a text is no level.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{text:?} is not a log level; it is a number from 0 (errors and warnings) to 5 (everything)"
)]
pub struct LogLevelError {
    text: String,
}

impl LogLevel {
    /// The level of those who do not say.
    pub const DEFAULT: LogLevel = LogLevel(2);

    /// The level of a number, which klog does not limit: less than nothing is nothing, more than everything everything.
    pub fn clamped(number: i64) -> LogLevel {
        LogLevel(u8::try_from(number.clamp(0, 5)).unwrap_or(5))
    }

    /// Whether what happens inside a call is shown when nothing is wrong with it.
    pub(crate) fn shows_calls(self) -> bool {
        self.0 >= 2
    }

    /// Whether the end of a step of a call is shown.
    pub(crate) fn shows_steps(self) -> bool {
        self.0 >= 3
    }

    /// Whether something may be shown, by what is known before it happens.
    ///
    /// The spans of our calls are kept at every level: a warning says to which call it belongs. Those of their steps are
    /// kept where steps are shown.
    pub(crate) fn shows(self, metadata: &Metadata<'_>) -> bool {
        if is_ours(metadata.target()) {
            let least = match metadata.is_span() {
                true => Level::INFO,
                false => Level::ERROR,
            };
            return *metadata.level() <= self.ours().max(least);
        }
        if self.0 >= 5 {
            return true;
        }
        let is_told_by_us = TOLD_BY_US
            .iter()
            .any(|who| metadata.target().starts_with(who));
        !is_told_by_us && *metadata.level() <= Level::WARN
    }

    fn ours(self) -> Level {
        match self.0 {
            0 => Level::WARN,
            1 | 2 => Level::INFO,
            3 => Level::DEBUG,
            _ => Level::TRACE,
        }
    }
}

/// What the exporter of traces and the client of Kubernetes run into is said once, in our words.
const TOLD_BY_US: [&str; 2] = ["opentelemetry", "kube_client"];

/// Whether a target is a module of this project.
pub(crate) fn is_ours(target: &str) -> bool {
    ["kiln", "function_runner", "wrapper_server"]
        .iter()
        .any(|ours| target.starts_with(ours))
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
