//! The exporters of metrics and traces: settings, start, shutdown.

mod variables;

use std::sync::Arc;
use std::time::Duration;

use kiln_server::Observer;
use tracing::Dispatch;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::Registry;

use crate::call_history::CallHistory;
use crate::metrics::{Metrics, MetricsServer};
use crate::observer::CallObserver;
use crate::traces::{TraceSettings, Traces};
use crate::{AlreadyInitialized, LogOptions, install, log_layer};
pub use variables::VariableError;
use variables::Variables;

/// The exporters of a program.
#[derive(Clone, Debug)]
pub struct Exporters {
    /// Host and port of the metrics server.
    prometheus: Option<(String, u16)>,
    traces: Option<TraceSettings>,
    /// Attributes of the service, for metrics and traces.
    resource: Vec<(String, String)>,
}

/// Why telemetry cannot start.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error(
        "cannot serve metrics on {host}:{port} (OTEL_EXPORTER_PROMETHEUS_HOST, OTEL_EXPORTER_PROMETHEUS_PORT)"
    )]
    Prometheus {
        host: String,
        port: u16,
        source: std::io::Error,
    },
    #[error("cannot send traces to {endpoint}: {reason}")]
    Traces { endpoint: String, reason: String },
    #[error("exporters need a tokio runtime")]
    NoRuntime,
    #[error(transparent)]
    AlreadyInitialized(#[from] AlreadyInitialized),
}

impl Exporters {
    /// Reads the OTEL variables. `program` is the default name of the service; `variable` returns the value of a variable.
    pub fn from_variables(
        program: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Exporters, VariableError> {
        Variables::new(variable).exporters(program)
    }

    fn none() -> Exporters {
        Exporters {
            prometheus: None,
            traces: None,
            resource: Vec::new(),
        }
    }
}

/// The running exporters.
pub struct Telemetry {
    metrics: Option<Arc<Metrics>>,
    metrics_server: Option<MetricsServer>,
    traces: Option<Traces>,
}

impl Telemetry {
    /// Starts logging and exporters for the whole process. Must be called in a tokio runtime, which runs the exporters.
    pub fn init(
        log_options: LogOptions,
        exporters: Exporters,
    ) -> Result<Telemetry, TelemetryError> {
        let (telemetry, dispatch) = Telemetry::start(log_options, exporters)?;
        install(&dispatch)?;
        Ok(telemetry)
    }

    /// Starts logging and exporters for the part of the process that uses the returned dispatch.
    pub fn start(
        log_options: LogOptions,
        exporters: Exporters,
    ) -> Result<(Telemetry, Dispatch), TelemetryError> {
        let runtime =
            tokio::runtime::Handle::try_current().map_err(|_| TelemetryError::NoRuntime)?;
        let traces = match exporters.traces {
            Some(settings) => Some(Traces::start(settings, &exporters.resource, runtime)?),
            None => None,
        };
        let mut metrics = None;
        let mut metrics_server = None;
        if let Some((host, port)) = exporters.prometheus {
            let registered = Arc::new(Metrics::new(&exporters.resource));
            let server = MetricsServer::bind(&host, port, Arc::clone(&registered));
            metrics_server =
                Some(server.map_err(|source| TelemetryError::Prometheus { host, port, source })?);
            metrics = Some(registered);
        }
        let dispatch = Dispatch::new(
            Registry::default()
                .with(log_layer(log_options))
                .with(traces.as_ref().map(Traces::layer)),
        );
        let telemetry = Telemetry {
            metrics,
            metrics_server,
            traces,
        };
        Ok((telemetry, dispatch))
    }

    /// The observer to pass to a server. It also keeps the history of calls, if that is wanted.
    pub fn observer(&self, history: Option<Arc<CallHistory>>) -> Arc<dyn Observer> {
        Arc::new(CallObserver::new(
            self.metrics.clone(),
            history,
            self.traces.is_some(),
        ))
    }

    /// The address of the metrics server, if there is one.
    pub fn metrics_address(&self) -> Option<std::net::SocketAddr> {
        self.metrics_server.as_ref().map(MetricsServer::address)
    }

    /// Sends the remaining spans, for at most `timeout`.
    pub async fn shutdown(self, timeout: Duration) {
        if let Some(traces) = self.traces {
            traces.shutdown(timeout).await;
        }
    }
}
