//! The server: read the command line, bind, serve, drain.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use kiln_runtime::EvaluatorChain;
use kiln_runtime::process::adopt_orphans;
use kiln_server::{Server, build_runtime, stop_on_signals};

use crate::config::{Config, Flags};
use crate::entrypoint::Entrypoint;
use crate::environment::PATH;
use crate::log;

/// Serves until it is told to end.
pub(crate) fn main(arguments: impl Iterator<Item = String>) -> ExitCode {
    let config = match Flags::new().parse(arguments) {
        Ok(config) => config,
        Err(stop) => {
            say(stop.text());
            return ExitCode::from(stop.exit_code());
        }
    };
    log::init(config.verbosity);
    match serve(&config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("unexpected error: {error:#}\n"));
            ExitCode::FAILURE
        }
    }
}

fn serve(config: &Config) -> Result<()> {
    let options = config.options()?;
    let search_path = std::env::var_os(PATH).unwrap_or_default();
    let entrypoint = Entrypoint::new(&config.entrypoint, search_path);
    let entrypoint = entrypoint.context("no entrypoint")?;
    adopt_orphans();
    let evaluators = EvaluatorChain::new(vec![("entrypoint", Arc::new(entrypoint))]);
    // One thread serves connections, which is little work; functions have threads of their own.
    let runtime = build_runtime(&mut tokio::runtime::Builder::new_current_thread());
    let runtime = runtime.context("failed to start")?;
    runtime.block_on(async {
        let server = Server::bind_all(config.port, evaluators, options).await;
        let server = server.context("failed to listen")?;
        if config.is_plaintext() {
            tracing::warn!("serving in plain text; --tls-cert and --tls-key encrypt");
        }
        // Before anybody hears that there is a server to be ended.
        tokio::spawn(stop_on_signals(server.stop())?);
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

/// Prints on standard error; there is nobody to tell if that fails.
pub(crate) fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
