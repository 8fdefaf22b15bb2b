//! Logs, metrics and traces of servers.
//!
//! A program chooses level, format and output of its log ([`LogOptions`]); the OTEL variables choose the exporters
//! (`Exporters::from_variables`, with the feature `exporters`). All settings are checked before anything starts. Events and
//! spans of `tracing` become log records and traces; calls of the server's `Observer` become metrics.
//!
//! Nothing here can fail or delay a call: metrics are counters in memory, and spans wait in a bounded queue for their own
//! thread. Deliberately absent: metrics and logs over OTLP.

mod build_info;
mod level;
mod log;

#[cfg(feature = "exporters")]
mod call_history;
#[cfg(feature = "exporters")]
mod exporters;
#[cfg(feature = "exporters")]
mod image_labels;
#[cfg(feature = "exporters")]
mod metrics;
#[cfg(feature = "exporters")]
mod observer;
#[cfg(feature = "exporters")]
mod page_server;
#[cfg(feature = "exporters")]
mod process_usage;
#[cfg(feature = "exporters")]
mod traces;

use tracing::Dispatch;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::registry::Registry;

pub use build_info::{BuildInfo, BuiltIn};
#[cfg(feature = "exporters")]
pub use call_history::{
    CallHistory, CallWindow, EndedCall, FailedCall, FailureMessages, FunctionCalls,
    HistorySnapshot, LaneLoad, TimeBucket, UnfinishedCall,
};
#[cfg(feature = "exporters")]
pub use exporters::{Exporters, Telemetry, TelemetryError, VariableError};
pub use level::{LogLevel, LogLevelError};
pub use log::{LogFormat, LogFormatError, LogOutput};
#[cfg(feature = "exporters")]
pub use page_server::{PageFuture, PageHandler, PageServer};
#[cfg(feature = "exporters")]
pub use process_usage::{ProcessUsage, process_usage};
#[cfg(feature = "exporters")]
pub use traces::outgoing_context;

/// Level, format and output of a log.
pub struct LogOptions {
    pub level: LogLevel,
    pub format: LogFormat,
    /// Programs pass standard error.
    pub output: LogOutput,
}

/// Logging can be initialized only once per process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("logging is already initialized")]
pub struct AlreadyInitialized;

/// Initializes logging for the whole process.
pub fn init(options: LogOptions) -> Result<(), AlreadyInitialized> {
    install(&dispatch(options))
}

fn dispatch(options: LogOptions) -> Dispatch {
    Dispatch::new(Registry::default().with(log_layer(options)))
}

fn install(dispatch: &Dispatch) -> Result<(), AlreadyInitialized> {
    tracing::dispatcher::set_global_default(dispatch.clone()).map_err(|_| AlreadyInitialized)
}

fn log_layer<S>(options: LogOptions) -> impl tracing_subscriber::Layer<S> + Send + Sync
where
    S: tracing::Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
{
    let level = options.level;
    let enabled = filter_fn(move |metadata| level.enables(metadata));
    log::LogLayer::new(level, options.format, options.output).with_filter(enabled)
}
