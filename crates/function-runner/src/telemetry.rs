//! Logs on standard error, and the exporters that the OTEL variables enable.

use std::io;

use anyhow::Result;
use kiln_telemetry::{Exporters, LogOptions, Telemetry};

use crate::config::RunnerConfig;
use crate::environment::Environment;

/// The default service name.
const SERVICE: &str = "function-runner";

/// Starts both, for the whole process.
pub(crate) fn start(config: &RunnerConfig, environment: &Environment) -> Result<Telemetry> {
    let variable = |name: &str| {
        let value = environment.get(name)?;
        Some(value.to_string_lossy().into_owned())
    };
    let exporters = Exporters::from_variables(SERVICE, &variable)?;
    let log_options = LogOptions {
        level: config.log_level,
        format: config.log_format,
        output: Box::new(io::stderr()),
    };
    let telemetry = Telemetry::init(log_options, exporters)?;
    if let Some(address) = telemetry.metrics_address() {
        tracing::info!(%address, "metrics are at /metrics");
    }
    Ok(telemetry)
}
