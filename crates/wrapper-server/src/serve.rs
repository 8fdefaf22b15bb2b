//! The server: read the command line, bind, serve, drain.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use kiln_runtime::EvaluatorChain;
use kiln_runtime::process::adopt_orphans;
use kiln_server::{Server, StopSignals, build_runtime};
use kiln_telemetry::BuildInfo;

use crate::config::{ServerConfig, ServerFlags};
use crate::entrypoint::Entrypoint;
use crate::environment::PATH;
use crate::log;

/// Serves until it is stopped.
pub(crate) fn main(arguments: impl Iterator<Item = String>) -> ExitCode {
    let arguments: Vec<String> = arguments.collect();
    if let Some(text) = BuildInfo::this().answer("wrapper-server", &arguments, &[]) {
        // An error here cannot be reported.
        let _ = io::stdout().write_all(text.as_bytes());
        return ExitCode::SUCCESS;
    }
    let config = match ServerFlags::new().parse(arguments.into_iter()) {
        Ok(config) => config,
        Err(stop) => {
            print_error(stop.text());
            return ExitCode::from(stop.exit_code());
        }
    };
    log::init(config.verbosity);
    match serve(&config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&format!("unexpected error: {error:#}\n"));
            ExitCode::FAILURE
        }
    }
}

fn serve(config: &ServerConfig) -> Result<()> {
    let options = config.options()?;
    let search_path = std::env::var_os(PATH).unwrap_or_default();
    let entrypoint = Entrypoint::new(&config.entrypoint, search_path);
    let entrypoint = entrypoint.context("no entrypoint")?;
    adopt_orphans();
    let evaluators = EvaluatorChain::new(vec![("entrypoint", Arc::new(entrypoint))]);
    // One thread serves connections, which is little work; functions run on other threads.
    let runtime = build_runtime(&mut tokio::runtime::Builder::new_current_thread());
    let runtime = runtime.context("failed to start")?;
    runtime.block_on(async {
        let signals = StopSignals::listen()?;
        let server = Server::bind_all(config.port, evaluators, options).await;
        let server = server.context("failed to listen")?;
        if config.is_plaintext() {
            tracing::warn!("serving without TLS; enable it with --tls-cert and --tls-key");
        }
        tokio::spawn(signals.stop(server.stop()));
        tracing::info!(
            entrypoint = ?config.entrypoint,
            "Listening on :{}",
            server.address().port()
        );
        server.run().await;
        tracing::info!("Shut down");
        Ok(())
    })
}

/// Prints to standard error; a failure cannot be reported.
pub(crate) fn print_error(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
