//! The probe: checks the health of a server and reports it in the exit code, like `grpc_health_probe`.

mod config;
mod tls;

use std::fmt;
use std::future::Future;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use kiln_go::GoDuration;
use kiln_proto::go_code_name;
use tonic::metadata::{AsciiMetadataKey, AsciiMetadataValue};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tonic_health::ServingStatus;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::serve::print_error;
use config::{ProbeCommand, ProbeConfig, ProbeFlags};

/// Delay before connecting again.
const PAUSE: Duration = Duration::from_millis(50);

/// The result of a probe; the numbers are the exit codes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProbeResult {
    Serving = 0,
    InvalidArguments = 1,
    ConnectionFailure = 2,
    RpcFailure = 3,
    Unhealthy = 4,
}

/// Checks once.
pub(crate) fn main(arguments: impl Iterator<Item = String>) -> ExitCode {
    let verdict = match ProbeFlags::new().parse(arguments) {
        Ok(ProbeCommand::Version) => {
            let version = format!("kiln {}\n", env!("CARGO_PKG_VERSION"));
            // An error here cannot be reported.
            let _ = io::stdout().write_all(version.as_bytes());
            ProbeResult::Serving
        }
        Ok(ProbeCommand::Probe(config)) => probe(&config),
        Err(text) => {
            print_error(&text);
            ProbeResult::InvalidArguments
        }
    };
    ExitCode::from(verdict as u8)
}

fn probe(config: &ProbeConfig) -> ProbeResult {
    let endpoints = match tls::endpoints(config) {
        Ok(endpoints) => endpoints,
        Err(error) => {
            line(format_args!(
                "failed to initialize tls credentials. error={error:#}"
            ));
            return ProbeResult::InvalidArguments;
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            line(format_args!("error: cannot start: {error}"));
            return ProbeResult::ConnectionFailure;
        }
    };
    runtime.block_on(check(config, &endpoints))
}

async fn check(config: &ProbeConfig, endpoints: &[Endpoint]) -> ProbeResult {
    if config.verbose {
        line(format_args!("establishing connection"));
    }
    let started = Instant::now();
    let connected = within(config.connect_timeout, connect(endpoints)).await;
    let Some(channel) = connected else {
        line(format_args!(
            "timeout: failed to connect service {:?} within {}",
            config.address,
            GoDuration::from(config.connect_timeout)
        ));
        return ProbeResult::ConnectionFailure;
    };
    let connecting = started.elapsed();
    if config.verbose {
        line(format_args!("connection established (took {connecting:?})"));
    }
    let started = Instant::now();
    let answer = within(config.rpc_timeout, request(config, channel)).await;
    match answer.unwrap_or_else(|| Err(Status::deadline_exceeded(""))) {
        Ok(ServingStatus::Serving) => {
            if config.verbose {
                let rpc = started.elapsed();
                line(format_args!(
                    "time elapsed: connect={connecting:?} rpc={rpc:?}"
                ));
            }
            line(format_args!("status: SERVING"));
            ProbeResult::Serving
        }
        Ok(status) => {
            let name = match status {
                ServingStatus::NotServing => "NOT_SERVING",
                _ => "UNKNOWN",
            };
            line(format_args!("service unhealthy (responded with {name:?})"));
            ProbeResult::Unhealthy
        }
        Err(status) => {
            print_failure(config, &status);
            ProbeResult::RpcFailure
        }
    }
}

fn print_failure(config: &ProbeConfig, status: &Status) {
    match status.code() {
        Code::Unimplemented => line(format_args!(
            "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): {}",
            status.message()
        )),
        // The second is the transport's message for a timeout.
        code if code == Code::DeadlineExceeded || status.message() == "Timeout expired" => {
            line(format_args!(
                "timeout: health rpc did not complete within {}",
                GoDuration::from(config.rpc_timeout)
            ))
        }
        code => line(format_args!(
            "error: health rpc failed: rpc error: code = {} desc = {}",
            go_code_name(code),
            status.message()
        )),
    }
}

/// Connects to the first address that accepts, and repeats until one does.
async fn connect(endpoints: &[Endpoint]) -> Channel {
    loop {
        for endpoint in endpoints {
            if let Ok(channel) = endpoint.connect().await {
                return channel;
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn request(config: &ProbeConfig, channel: Channel) -> Result<ServingStatus, Status> {
    let mut request = Request::new(HealthCheckRequest {
        service: config.service.clone(),
    });
    request.set_timeout(config.rpc_timeout);
    for (name, value) in &config.headers {
        let name = name.parse::<AsciiMetadataKey>();
        let value = value.parse::<AsciiMetadataValue>();
        let (Ok(name), Ok(value)) = (name, value) else {
            return Err(Status::internal("a header cannot be sent"));
        };
        request.metadata_mut().append(name, value);
    }
    let answer = HealthClient::new(channel).check(request).await?;
    // Both enums have the same numbers.
    Ok(match answer.into_inner().status {
        1 => ServingStatus::Serving,
        2 => ServingStatus::NotServing,
        _ => ServingStatus::Unknown,
    })
}

async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(limit, work).await.ok()
}

fn line(text: fmt::Arguments<'_>) {
    print_error(&format!("{text}\n"));
}
