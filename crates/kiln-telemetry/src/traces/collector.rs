//! Sends batches of spans to a collector, over HTTP or gRPC.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::http::Uri;
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

use super::http1::{HttpSender, SendError};
use super::outage::Outage;
use super::{Protocol, TraceSettings};
use crate::exporters::StartError;

/// How long to wait before the second attempt; before later ones it is twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// The exporter that the processor of spans calls, one batch at a time.
pub(super) struct Collector {
    runtime: Handle,
    resource: ResourceAttributesWithSchema,
    shared: Arc<Shared>,
}

struct Shared {
    endpoint: Uri,
    timeout: Duration,
    sender: Sender,
    outage: Outage,
    stop: Stop,
}

enum Sender {
    Http(HttpSender),
    Grpc(Channel, MetadataMap),
}

/// Tells the collector's client that the end is near.
#[derive(Clone, Default, Debug)]
pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// From now on every batch has one attempt.
    pub(super) fn no_more_attempts(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_near(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Collector({})", self.shared.endpoint)
    }
}

impl Collector {
    /// Reads certificates; connects to nobody yet.
    pub(super) fn new(settings: TraceSettings, runtime: Handle) -> Result<Collector, StartError> {
        let endpoint = settings.endpoint.clone();
        let timeout = settings.timeout;
        let error = |reason: String| StartError::Traces {
            endpoint: endpoint.to_string(),
            reason,
        };
        let sender = match settings.protocol {
            Protocol::Http => Sender::Http(HttpSender::new(settings).map_err(error)?),
            Protocol::Grpc => {
                let _entered = runtime.enter();
                let metadata = settings.headers.iter().cloned().collect();
                let metadata = MetadataMap::from_headers(metadata);
                Sender::Grpc(channel(&settings).map_err(error)?, metadata)
            }
        };
        Ok(Collector {
            runtime,
            resource: ResourceAttributesWithSchema::default(),
            shared: Arc::new(Shared {
                endpoint,
                timeout,
                sender,
                outage: Outage::default(),
                stop: Stop::default(),
            }),
        })
    }

    pub(super) fn stop(&self) -> Stop {
        self.shared.stop.clone()
    }
}

impl SpanExporter for Collector {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let request = ExportTraceServiceRequest {
            resource_spans: group_spans_by_resource_and_scope(batch, &self.resource),
        };
        let shared = Arc::clone(&self.shared);
        // We are called on a thread that knows no runtime.
        let sent = self
            .runtime
            .spawn(async move { shared.send(request).await });
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

impl Shared {
    /// Sends a batch, again if there is hope and time.
    async fn send(&self, request: ExportTraceServiceRequest) -> Result<(), SendError> {
        let end = Instant::now() + self.timeout;
        let mut pause = FIRST_PAUSE;
        loop {
            let attempt = tokio::time::timeout_at(end, self.attempt(&request)).await;
            let error = match attempt.unwrap_or_else(|_| Err(SendError::timed_out(self.timeout))) {
                Ok(()) => {
                    if self.outage.ends() {
                        tracing::info!(endpoint = %self.endpoint, "traces can be sent again");
                    }
                    return Ok(());
                }
                Err(error) => error,
            };
            if self.outage.begins() {
                tracing::warn!(
                    endpoint = %self.endpoint,
                    %error,
                    "traces cannot be sent and are dropped; calls are not affected"
                );
            }
            let next = Instant::now() + pause;
            if !error.may_pass || next >= end || self.stop.is_near() {
                return Err(error);
            }
            tokio::time::sleep_until(next).await;
            pause *= 2;
        }
    }

    async fn attempt(&self, request: &ExportTraceServiceRequest) -> Result<(), SendError> {
        match &self.sender {
            Sender::Http(sender) => sender.send(request.encode_to_vec().into()).await,
            Sender::Grpc(channel, metadata) => {
                let mut call = tonic::Request::new(request.clone());
                *call.metadata_mut() = metadata.clone();
                let mut client = TraceServiceClient::new(channel.clone());
                let answer = client.export(call).await;
                answer.map(|_| ()).map_err(|status| of_status(&status))
            }
        }
    }
}

/// What OTLP says may be tried again.
fn of_status(status: &Status) -> SendError {
    let may_pass = matches!(
        status.code(),
        Code::Cancelled
            | Code::DeadlineExceeded
            | Code::Aborted
            | Code::OutOfRange
            | Code::Unavailable
            | Code::DataLoss
    );
    let mut text = status.message().to_owned();
    let mut source = std::error::Error::source(status);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    SendError { text, may_pass }
}

fn channel(settings: &TraceSettings) -> Result<Channel, String> {
    let endpoint = Endpoint::from(settings.endpoint.clone()).connect_timeout(settings.timeout);
    if settings.endpoint.scheme_str() != Some("https") {
        return Ok(endpoint.connect_lazy());
    }
    let read = |path: &std::path::Path| {
        std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let mut tls = match &settings.ca {
        Some(path) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read(path)?)),
        None => ClientTlsConfig::new().with_native_roots(),
    };
    if let (Some(certificate), Some(key)) = (&settings.client_certificate, &settings.client_key) {
        tls = tls.identity(Identity::from_pem(read(certificate)?, read(key)?));
    }
    let endpoint = endpoint
        .tls_config(tls)
        .map_err(|error| error.to_string())?;
    Ok(endpoint.connect_lazy())
}
