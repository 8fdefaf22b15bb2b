//! Everything besides logs: read from variables, checked, started, ended.

mod variables;

use std::sync::Arc;
use std::time::Duration;

use kiln_server::Observer;
use tracing::Dispatch;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::Registry;

use crate::metrics::{Endpoint, Metrics};
use crate::observer::CallObserver;
use crate::traces::{TraceSettings, Traces};
use crate::{AlreadyStarted, Logs, install, log_layer};
pub use variables::VariableError;
use variables::Variables;

/// What is exported besides logs.
#[derive(Clone, Debug)]
pub struct Exporters {
    /// Where metrics can be asked for, host and port.
    prometheus: Option<(String, u16)>,
    traces: Option<TraceSettings>,
    /// Who we are, for both.
    resource: Vec<(String, String)>,
}

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The port for metrics is not to be had.
    #[error(
        "cannot serve metrics on {host}:{port} (OTEL_EXPORTER_PROMETHEUS_HOST, OTEL_EXPORTER_PROMETHEUS_PORT)"
    )]
    Prometheus {
        /// Where metrics were to be served.
        host: String,
        /// And on which port.
        port: u16,
        /// What is in the way.
        source: std::io::Error,
    },
    /// Traces cannot be sent as told.
    #[error("cannot send traces to {endpoint}: {reason}")]
    Traces {
        /// Where to.
        endpoint: String,
        /// What is wrong.
        reason: String,
    },
    /// Exporting needs a runtime.
    #[error("there is no runtime that could export anything")]
    NoRuntime,
    /// This process logs already.
    #[error(transparent)]
    AlreadyStarted(#[from] AlreadyStarted),
}

impl Exporters {
    /// Reads the OTEL variables. `program` is what the service is called unless they say otherwise; `variable` gives the
    /// value of a variable.
    pub fn from_variables(
        program: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Exporters, VariableError> {
        Variables::new(variable).exporters(program)
    }

    /// Exports nothing.
    pub fn none() -> Exporters {
        Exporters {
            prometheus: None,
            traces: None,
            resource: Vec::new(),
        }
    }
}

/// What runs as long as the program does.
pub struct Telemetry {
    metrics: Option<Arc<Metrics>>,
    endpoint: Option<Endpoint>,
    traces: Option<Traces>,
}

impl Telemetry {
    /// Starts logs and exporters for the whole process. To be called inside a tokio runtime, in which exporting is done.
    pub fn init(logs: Logs, exporters: Exporters) -> Result<Telemetry, StartError> {
        let (telemetry, dispatch) = Telemetry::start(logs, exporters)?;
        install(&dispatch)?;
        Ok(telemetry)
    }

    /// Starts the same for those who choose themselves where it holds, such as tests.
    pub fn start(logs: Logs, exporters: Exporters) -> Result<(Telemetry, Dispatch), StartError> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| StartError::NoRuntime)?;
        let traces = match exporters.traces {
            Some(settings) => Some(Traces::start(settings, &exporters.resource, runtime)?),
            None => None,
        };
        let mut metrics = None;
        let mut endpoint = None;
        if let Some((host, port)) = exporters.prometheus {
            let counted = Arc::new(Metrics::new(&exporters.resource));
            let served = Endpoint::bind(&host, port, Arc::clone(&counted));
            endpoint =
                Some(served.map_err(|source| StartError::Prometheus { host, port, source })?);
            metrics = Some(counted);
        }
        let dispatch = Dispatch::new(
            Registry::default()
                .with(log_layer(logs))
                .with(traces.as_ref().map(Traces::layer)),
        );
        let telemetry = Telemetry {
            metrics,
            endpoint,
            traces,
        };
        Ok((telemetry, dispatch))
    }

    /// What a server is to tell about its calls.
    pub fn observer(&self) -> Arc<dyn Observer> {
        Arc::new(CallObserver::new(
            self.metrics.clone(),
            self.traces.is_some(),
        ))
    }

    /// Where metrics are served, if they are.
    pub fn metrics_address(&self) -> Option<std::net::SocketAddr> {
        self.endpoint.as_ref().map(Endpoint::address)
    }

    /// Sends what has not been sent yet, as far as that takes no longer than `patience`.
    pub async fn shutdown(self, patience: Duration) {
        if let Some(traces) = self.traces {
            traces.shutdown(patience).await;
        }
    }
}
