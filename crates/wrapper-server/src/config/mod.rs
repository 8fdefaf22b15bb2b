//! The command line of the server: flags, then `--`, then the function's entrypoint.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use kiln_go::{FlagSet, GoDuration, Key, Parsed, Stop};
use kiln_proto::DEFAULT_MAX_MESSAGE_SIZE;
use kiln_server::{
    AdmissionOptions, BearerToken, ConnectionOptions, DEFAULT_CONNECTION_IDLE_TIMEOUT,
    DEFAULT_DRAIN_TIMEOUT, DEFAULT_MAX_HELD_BYTES, DEFAULT_MAX_QUEUE, DEFAULT_REQUEST_TIMEOUT,
    Options, Tls, TlsFiles, Words,
};

const DEFAULT_PORT: i64 = 9446;
const DEFAULT_VERBOSITY: i64 = 2;

pub(crate) struct ServerFlags {
    set: FlagSet,
    port: Key<i64>,
    max_request_body_size: Key<i64>,
    verbosity: Key<i64>,
    max_concurrent_evaluations: Key<i64>,
    max_queued_evaluations: Key<i64>,
    max_held_bytes: Key<i64>,
    max_connections: Key<i64>,
    connection_idle_timeout: Key<GoDuration>,
    request_timeout: Key<GoDuration>,
    drain_timeout: Key<GoDuration>,
    tls_cert: Key<String>,
    tls_key: Key<String>,
    tls_client_ca: Key<String>,
    token_file: Key<String>,
    require_tls: Key<bool>,
}

/// The validated command line.
pub(crate) struct ServerConfig {
    pub(crate) port: u16,
    pub(crate) verbosity: i64,
    pub(crate) entrypoint: Vec<String>,
    max_message_size: usize,
    max_held_bytes: usize,
    connections: ConnectionOptions,
    admission: AdmissionOptions,
    drain_timeout: Duration,
    tls: Option<TlsFiles>,
    token_file: Option<PathBuf>,
}

impl ServerFlags {
    pub(crate) fn new() -> ServerFlags {
        let mut set = FlagSet::new("wrapper-server");
        let admission = AdmissionOptions::default();
        ServerFlags {
            port: set.add("port", DEFAULT_PORT, "The server port"),
            max_request_body_size: set.add(
                "max-request-body-size",
                saturate(DEFAULT_MAX_MESSAGE_SIZE),
                "Maximum size of grpc messages in bytes.",
            ),
            verbosity: set.add("verbosity", DEFAULT_VERBOSITY, "Verbosity of logs, 0 to 5."),
            max_concurrent_evaluations: set.add(
                "max-concurrent-evaluations",
                saturate(admission.processes.get()),
                "Maximum number of calls that run at once",
            ),
            max_queued_evaluations: set.add(
                "max-queued-evaluations",
                saturate(DEFAULT_MAX_QUEUE),
                "Maximum number of waiting calls",
            ),
            max_held_bytes: set.add(
                "max-held-bytes",
                saturate(DEFAULT_MAX_HELD_BYTES),
                "Maximum number of bytes of requests and responses in memory; one request is always accepted",
            ),
            max_connections: set.add(
                "max-connections",
                saturate(ConnectionOptions::default().max.get()),
                "Maximum number of connections with calls",
            ),
            connection_idle_timeout: set.add(
                "connection-idle-timeout",
                GoDuration::from(DEFAULT_CONNECTION_IDLE_TIMEOUT),
                "Time that a connection may stay open without a request",
            ),
            request_timeout: set.add(
                "request-timeout",
                GoDuration::from(DEFAULT_REQUEST_TIMEOUT),
                "Time limit for receiving a request, plus a second for every 64 KiB of it",
            ),
            drain_timeout: set.add(
                "drain-timeout",
                GoDuration::from(DEFAULT_DRAIN_TIMEOUT),
                "Time for running calls to finish at shutdown",
            ),
            tls_cert: set.text("tls-cert", "", "The `file` with the server's certificate chain, PEM"),
            tls_key: set.text("tls-key", "", "The `file` with the server's private key, PEM"),
            tls_client_ca: set.text(
                "tls-client-ca",
                "",
                "The `file` with the CA certificates for client certificates, PEM; makes client certificates mandatory",
            ),
            token_file: set.text(
                "auth-token-file",
                "",
                "The `file` with the bearer token that callers must send",
            ),
            require_tls: set.add("require-tls", false, "Refuse to start without TLS"),
            set,
        }
    }

    /// Parses a command line without the program's name.
    pub(crate) fn parse(
        &self,
        arguments: impl Iterator<Item = String>,
    ) -> Result<ServerConfig, Stop> {
        let parsed = self.set.parse(arguments)?;
        let wrong = |message: &str| self.set.wrong(message);
        let port = u16::try_from(parsed.get(self.port))
            .map_err(|_| wrong("invalid value for flag -port: must be 0 to 65535"))?;
        let entrypoint = parsed.rest().to_vec();
        if entrypoint.first().is_none_or(String::is_empty) {
            return Err(wrong("no entrypoint: the function's command goes after --"));
        }
        let max_message_size =
            self.positive(&parsed, self.max_request_body_size, "max-request-body-size")?;
        let processes = self.positive(
            &parsed,
            self.max_concurrent_evaluations,
            "max-concurrent-evaluations",
        )?;
        let queue = usize::try_from(parsed.get(self.max_queued_evaluations)).map_err(|_| {
            wrong("invalid value for flag -max-queued-evaluations: must not be negative")
        })?;
        let max_held_bytes = self.positive(&parsed, self.max_held_bytes, "max-held-bytes")?;
        let connections = ConnectionOptions {
            max: self.positive(&parsed, self.max_connections, "max-connections")?,
            idle_timeout: self.time(
                &parsed,
                self.connection_idle_timeout,
                "connection-idle-timeout",
            )?,
            request_timeout: self.time(&parsed, self.request_timeout, "request-timeout")?,
        };
        let drain_timeout = parsed.get(self.drain_timeout).to_std();
        let drain_timeout = drain_timeout
            .ok_or_else(|| wrong("invalid value for flag -drain-timeout: must not be negative"))?;
        let file = |key: Key<String>| Some(parsed.get(key)).filter(|path| !path.is_empty());
        let tls = match (file(self.tls_cert), file(self.tls_key)) {
            (Some(certificate), Some(key)) => Some(TlsFiles {
                certificate: certificate.into(),
                key: key.into(),
                client_ca: file(self.tls_client_ca).map(PathBuf::from),
            }),
            (None, None) if file(self.tls_client_ca).is_some() => {
                return Err(wrong("-tls-client-ca requires -tls-cert and -tls-key"));
            }
            (None, None) if parsed.get(self.require_tls) => {
                return Err(wrong("-require-tls requires -tls-cert and -tls-key"));
            }
            (None, None) => None,
            _ => return Err(wrong("-tls-cert and -tls-key must be used together")),
        };
        Ok(ServerConfig {
            port,
            verbosity: parsed.get(self.verbosity),
            entrypoint,
            max_message_size: max_message_size.get(),
            max_held_bytes: max_held_bytes.max(max_message_size).get(),
            connections,
            admission: AdmissionOptions {
                processes,
                queue,
                ..AdmissionOptions::default()
            },
            drain_timeout,
            tls,
            token_file: file(self.token_file).map(PathBuf::from),
        })
    }

    fn positive(&self, parsed: &Parsed, key: Key<i64>, name: &str) -> Result<NonZeroUsize, Stop> {
        let value = usize::try_from(parsed.get(key)).ok();
        value.and_then(NonZeroUsize::new).ok_or_else(|| {
            let message = format!("invalid value for flag -{name}: must be greater than zero");
            self.set.wrong(&message)
        })
    }
}

impl ServerFlags {
    fn time(&self, parsed: &Parsed, key: Key<GoDuration>, name: &str) -> Result<Duration, Stop> {
        let time = parsed.get(key).to_std().filter(|time| !time.is_zero());
        time.ok_or_else(|| {
            let message = format!("invalid value for flag -{name}: must be greater than zero");
            self.set.wrong(&message)
        })
    }
}

impl ServerConfig {
    pub(crate) fn is_plaintext(&self) -> bool {
        self.tls.is_none()
    }

    /// The options of the server; reads files.
    pub(crate) fn options(&self) -> anyhow::Result<Options> {
        let tls = self.tls.clone().map(Tls::load).transpose()?;
        let token = self.token_file.clone().map(BearerToken::load).transpose();
        let token = token.context("invalid token file")?;
        Ok(Options {
            max_message_size: self.max_message_size,
            max_held_bytes: self.max_held_bytes,
            connections: self.connections,
            admission: self.admission,
            // The caller's deadline limits functions here.
            evaluation_timeout: None,
            drain_timeout: self.drain_timeout,
            tls: tls.map(Arc::new),
            token: token.map(Arc::new),
            words: Words::Wrapper,
            ..Options::default()
        })
    }
}

fn saturate(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
