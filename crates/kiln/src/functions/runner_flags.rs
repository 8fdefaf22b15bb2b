//! The flags for a function runner.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use kiln_remote::{Address, RemoteEvaluator, RemoteOptions, TlsFiles};

use crate::environment::{TRACEPARENT, TRACESTATE};
use crate::flag_values::size;

#[derive(Args, Debug)]
pub(crate) struct RunnerFlags {
    /// Run images that are not built in on this function runner: HOST:PORT, https://HOST:PORT or unix:PATH
    #[arg(
        long,
        value_name = "ADDRESS",
        visible_alias = "function-runner-address"
    )]
    runner: Option<Address>,
    /// Size limit for messages to and from the runner, in bytes, or with K, M or G. Default: 6M, or 64M if the runner is kiln's
    #[arg(long, value_name = "SIZE", value_parser = size, visible_alias = "function-runner-grpc-max-message-size")]
    runner_max_message_size: Option<u64>,
    /// Use TLS and trust the CA certificates in this file
    #[arg(long, value_name = "FILE")]
    runner_tls_ca: Option<PathBuf>,
    /// Client certificate for the runner
    #[arg(long, value_name = "FILE", requires = "runner_tls_key")]
    runner_tls_cert: Option<PathBuf>,
    /// Private key of the client certificate
    #[arg(long, value_name = "FILE", requires = "runner_tls_cert")]
    runner_tls_key: Option<PathBuf>,
    /// Server name in the certificate of the runner. Default: its host
    #[arg(long, value_name = "NAME")]
    runner_tls_server_name: Option<String>,
    /// File with a bearer token for the runner
    #[arg(long, value_name = "FILE")]
    runner_token_file: Option<PathBuf>,
}

impl RunnerFlags {
    pub(crate) fn is_given(&self) -> bool {
        self.runner.is_some()
    }

    /// The evaluator of the runner, if the flags name one.
    pub(crate) fn check(&self) -> Result<Option<RemoteEvaluator>> {
        let tls_flags = [
            ("--runner-tls-ca", self.runner_tls_ca.is_some()),
            ("--runner-tls-cert", self.runner_tls_cert.is_some()),
            (
                "--runner-tls-server-name",
                self.runner_tls_server_name.is_some(),
            ),
        ];
        let other_flags = [
            (
                "--runner-max-message-size",
                self.runner_max_message_size.is_some(),
            ),
            ("--runner-token-file", self.runner_token_file.is_some()),
        ];
        let Some(address) = &self.runner else {
            let mut flags = tls_flags.iter().chain(&other_flags);
            return match flags.find(|(_, given)| *given) {
                Some((flag, _)) => bail!("{flag} requires --runner"),
                None => Ok(None),
            };
        };
        let mut options = RemoteOptions::new(address.clone());
        if let Some(size) = self.runner_max_message_size {
            options.max_message_size = usize::try_from(size).unwrap_or(usize::MAX);
        }
        if tls_flags.iter().any(|(_, given)| *given) {
            let identity = self
                .runner_tls_cert
                .clone()
                .zip(self.runner_tls_key.clone());
            options.tls = Some(TlsFiles {
                ca: self.runner_tls_ca.clone(),
                identity,
                server_name: self.runner_tls_server_name.clone(),
            });
        }
        options.token_file = self.runner_token_file.clone();
        options.trace_context = Some(trace_context);
        let remote = RemoteEvaluator::new(options).context("cannot use the function runner")?;
        Ok(Some(remote))
    }
}

/// The trace context of the environment.
fn trace_context() -> Vec<(&'static str, String)> {
    let headers = [("traceparent", TRACEPARENT), ("tracestate", TRACESTATE)];
    let given = headers.map(|(header, variable)| Some((header, std::env::var(variable).ok()?)));
    given.into_iter().flatten().collect()
}
