//! Logs, metrics and traces of programs that serve: one [`init`] for all of them.
//!
//! A program says what it logs and where ([`Logs`]); what it exports besides comes from the usual OTEL variables
//! (`Exporters::from_variables`, with the feature `exporters`). Everything is checked before anything begins. What libraries
//! tell `tracing` becomes records and spans, what a server tells its `Observer` becomes metrics; no other crate knows how.
//!
//! Nothing here can fail or delay a call: metrics are counters in memory, and traces wait in a bounded queue for a thread
//! of their own. Deliberately absent: metrics and logs over OTLP.

mod level;
mod log;

#[cfg(feature = "exporters")]
mod exporters;
#[cfg(feature = "exporters")]
mod metrics;
#[cfg(feature = "exporters")]
mod observer;
#[cfg(feature = "exporters")]
mod traces;

use tracing::Dispatch;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::registry::Registry;

#[cfg(feature = "exporters")]
pub use exporters::{Exporters, StartError, Telemetry, VariableError};
pub use level::{LogLevel, LogLevelError};
pub use log::{LogFormat, LogFormatError, LogOutput};
#[cfg(feature = "exporters")]
pub use traces::outgoing_context;

/// What is logged, and where to.
pub struct Logs {
    /// How much.
    pub level: LogLevel,
    /// In which form.
    pub format: LogFormat,
    /// Where to; programs give standard error.
    pub output: LogOutput,
}

/// A process can be told only once what to do with what it tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("logs have been set up already")]
pub struct AlreadyStarted;

/// Logs, for the whole process.
pub fn init(logs: Logs) -> Result<(), AlreadyStarted> {
    install(&dispatch(logs))
}

/// Logs for those who choose themselves where they hold, such as tests.
pub fn dispatch(logs: Logs) -> Dispatch {
    Dispatch::new(Registry::default().with(log_layer(logs)))
}

fn install(dispatch: &Dispatch) -> Result<(), AlreadyStarted> {
    tracing::dispatcher::set_global_default(dispatch.clone()).map_err(|_| AlreadyStarted)
}

fn log_layer<S>(logs: Logs) -> impl tracing_subscriber::Layer<S> + Send + Sync
where
    S: tracing::Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
{
    let level = logs.level;
    let shown = filter_fn(move |metadata| level.shows(metadata));
    log::LogLayer::new(level, logs.format, logs.output).with_filter(shown)
}
