//! Sends batches of spans to a collector, over HTTP or gRPC.
//!
//! `opentelemetry-otlp` 0.33 does not replace this module, because of these gaps:
//! - It has no `OTEL_EXPORTER_OTLP_CERTIFICATE`, `CLIENT_CERTIFICATE` and `CLIENT_KEY`, and its HTTP client without reqwest has no
//!   TLS: the TLS configuration, the gRPC channel and the HTTP client below would remain.
//! - It reads the process environment itself and offers no switch for it: headers of the environment replace the checked ones,
//!   and invalid headers are dropped without an error.
//! - Its timeout limits when a retry may start, not the request that is running, and shutdown cannot turn retries off.
//!
//! This comes from reading its source; it was not tried under the tests of this crate.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::http::Uri;
use kiln_go::error_chain;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use prost::Message as _;
use tokio::runtime::Handle;
use tokio::time::Instant;
use tonic::metadata::MetadataMap;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Status};

use super::otlp_http::{ExportError, OtlpHttpClient, read_file};
use super::outage::Outage;
use super::{OtlpProtocol, TraceSettings};
use crate::exporters::TelemetryError;

/// The delay before the second attempt; each further delay is twice as long.
const FIRST_DELAY: Duration = Duration::from_millis(500);

/// The exporter that the span processor calls, one batch at a time.
pub(super) struct OtlpExporter {
    runtime: Handle,
    resource: ResourceAttributesWithSchema,
    state: Arc<ExporterState>,
}

struct ExporterState {
    endpoint: Uri,
    timeout: Duration,
    transport: OtlpTransport,
    outage: Outage,
    retries: RetrySwitch,
}

enum OtlpTransport {
    Http(OtlpHttpClient),
    Grpc(Channel, MetadataMap),
}

/// Disables retries at shutdown.
#[derive(Clone, Default, Debug)]
pub(super) struct RetrySwitch {
    is_disabled: Arc<AtomicBool>,
}

impl RetrySwitch {
    /// From now on every batch has one attempt.
    pub(super) fn disable(&self) {
        self.is_disabled.store(true, Ordering::Relaxed);
    }

    fn is_disabled(&self) -> bool {
        self.is_disabled.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for OtlpExporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OtlpExporter({})", self.state.endpoint)
    }
}

impl OtlpExporter {
    /// Reads certificates; does not connect yet.
    pub(super) fn new(
        settings: TraceSettings,
        runtime: Handle,
    ) -> Result<OtlpExporter, TelemetryError> {
        let endpoint = settings.endpoint.clone();
        let timeout = settings.timeout;
        let error = |reason: String| TelemetryError::Traces {
            endpoint: endpoint.to_string(),
            reason,
        };
        let transport = match settings.protocol {
            OtlpProtocol::Http => {
                OtlpTransport::Http(OtlpHttpClient::new(settings).map_err(error)?)
            }
            OtlpProtocol::Grpc => {
                let _entered = runtime.enter();
                let metadata = settings.headers.iter().cloned().collect();
                let metadata = MetadataMap::from_headers(metadata);
                OtlpTransport::Grpc(grpc_channel(&settings).map_err(error)?, metadata)
            }
        };
        Ok(OtlpExporter {
            runtime,
            resource: ResourceAttributesWithSchema::default(),
            state: Arc::new(ExporterState {
                endpoint,
                timeout,
                transport,
                outage: Outage::default(),
                retries: RetrySwitch::default(),
            }),
        })
    }

    pub(super) fn retries(&self) -> RetrySwitch {
        self.state.retries.clone()
    }
}

impl SpanExporter for OtlpExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let request = ExportTraceServiceRequest {
            resource_spans: group_spans_by_resource_and_scope(batch, &self.resource),
        };
        let state = Arc::clone(&self.state);
        // The calling thread has no tokio runtime.
        let sent = self.runtime.spawn(async move { state.send(request).await });
        match sent.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(OTelSdkError::InternalFailure(error.to_string())),
            Err(_) => Err(OTelSdkError::InternalFailure(
                "the runtime has ended".to_owned(),
            )),
        }
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.resource = resource.into();
    }
}

impl ExporterState {
    /// Sends a batch, with retries until the timeout.
    async fn send(&self, request: ExportTraceServiceRequest) -> Result<(), ExportError> {
        let deadline = Instant::now() + self.timeout;
        let mut delay = FIRST_DELAY;
        loop {
            let attempt = tokio::time::timeout_at(deadline, self.send_once(&request)).await;
            let error = match attempt.unwrap_or_else(|_| Err(ExportError::timed_out(self.timeout)))
            {
                Ok(()) => {
                    if self.outage.ends() {
                        tracing::info!(endpoint = %self.endpoint, "sending traces works again");
                    }
                    return Ok(());
                }
                Err(error) => error,
            };
            if self.outage.begins() {
                tracing::warn!(
                    endpoint = %self.endpoint,
                    %error,
                    "cannot send traces, dropping them; calls are not affected"
                );
            }
            let next = Instant::now() + delay;
            if !error.is_transient || next >= deadline || self.retries.is_disabled() {
                return Err(error);
            }
            tokio::time::sleep_until(next).await;
            delay *= 2;
        }
    }

    async fn send_once(&self, request: &ExportTraceServiceRequest) -> Result<(), ExportError> {
        match &self.transport {
            OtlpTransport::Http(client) => client.send(request.encode_to_vec().into()).await,
            OtlpTransport::Grpc(channel, metadata) => {
                let mut call = tonic::Request::new(request.clone());
                *call.metadata_mut() = metadata.clone();
                let mut client = TraceServiceClient::new(channel.clone());
                let response = client.export(call).await;
                response.map(|_| ()).map_err(|status| status_error(&status))
            }
        }
    }
}

/// The OTLP specification lists the status codes that may be retried.
fn status_error(status: &Status) -> ExportError {
    let is_transient = matches!(
        status.code(),
        Code::Cancelled
            | Code::DeadlineExceeded
            | Code::Aborted
            | Code::OutOfRange
            | Code::Unavailable
            | Code::DataLoss
    );
    let text = match std::error::Error::source(status) {
        Some(cause) => format!("{}: {}", status.message(), error_chain(cause)),
        None => status.message().to_owned(),
    };
    ExportError { text, is_transient }
}

fn grpc_channel(settings: &TraceSettings) -> Result<Channel, String> {
    let endpoint = Endpoint::from(settings.endpoint.clone()).connect_timeout(settings.timeout);
    if settings.endpoint.scheme_str() != Some("https") {
        return Ok(endpoint.connect_lazy());
    }
    let mut tls = match &settings.ca_certificate {
        Some(path) => {
            ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read_file(path)?))
        }
        None => ClientTlsConfig::new().with_native_roots(),
    };
    if let (Some(certificate), Some(key)) = (&settings.client_certificate, &settings.client_key) {
        tls = tls.identity(Identity::from_pem(read_file(certificate)?, read_file(key)?));
    }
    let endpoint = endpoint
        .tls_config(tls)
        .map_err(|error| error.to_string())?;
    Ok(endpoint.connect_lazy())
}
