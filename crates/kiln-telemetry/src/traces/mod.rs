//! Spans of calls, sent to a collector over OTLP.
//!
//! Spans wait in a bounded queue for the thread that sends them; spans that do not fit are dropped. No call waits for the
//! collector.

mod context;
mod otlp_exporter;
mod otlp_http;
mod outage;

use std::path::PathBuf;
use std::time::Duration;

use ::http::{HeaderName, HeaderValue, Uri};
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::TelemetryResourceDetector;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracerProvider,
};
use tokio::runtime::Handle;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use crate::exporters::TelemetryError;
use crate::level::is_kiln;
pub use context::outgoing_context;
pub(crate) use context::{continue_trace, keep_incoming_context, record_outcome, trace_id};
use otlp_exporter::{OtlpExporter, RetrySwitch};

#[derive(Clone, Debug)]
pub(crate) struct TraceSettings {
    pub(crate) protocol: OtlpProtocol,
    pub(crate) endpoint: Uri,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// For all attempts at one batch together.
    pub(crate) timeout: Duration,
    /// A PEM file with trusted CA certificates; those of the system if not set.
    pub(crate) ca_certificate: Option<PathBuf>,
    pub(crate) client_certificate: Option<PathBuf>,
    pub(crate) client_key: Option<PathBuf>,
    pub(crate) sampler: SamplerSettings,
    pub(crate) batches: BatchSettings,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BatchSettings {
    /// The longest time between two batches.
    pub(crate) delay: Duration,
    /// The largest number of waiting spans; further spans are dropped.
    pub(crate) queue_size: usize,
    /// The largest number of spans in a batch.
    pub(crate) batch_size: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OtlpProtocol {
    Http,
    Grpc,
}

/// The sampler of traces.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct SamplerSettings {
    /// The share of the traces that start here.
    pub(crate) ratio: f64,
    /// Whether traces that a caller started are sampled when the caller samples them.
    pub(crate) follow_parent: bool,
}

impl SamplerSettings {
    fn sampler(self) -> Sampler {
        let root = match self.ratio {
            ratio if ratio >= 1.0 => Sampler::AlwaysOn,
            ratio if ratio <= 0.0 => Sampler::AlwaysOff,
            ratio => Sampler::TraceIdRatioBased(ratio),
        };
        if self.follow_parent {
            Sampler::ParentBased(Box::new(root))
        } else {
            root
        }
    }
}

/// The running exporter of traces.
pub(crate) struct Traces {
    provider: SdkTracerProvider,
    retries: RetrySwitch,
}

impl Traces {
    /// Starts the export thread; nothing is connected yet. Requests run in `runtime`.
    pub(crate) fn start(
        settings: TraceSettings,
        resource: &[(String, String)],
        runtime: Handle,
    ) -> Result<Traces, TelemetryError> {
        let sampler = settings.sampler.sampler();
        let batches = settings.batches;
        let exporter = OtlpExporter::new(settings, runtime)?;
        let retries = exporter.retries();
        let attributes = resource
            .iter()
            .map(|(name, value)| KeyValue::new(name.clone(), value.clone()));
        let resource = Resource::builder_empty()
            .with_detector(Box::new(TelemetryResourceDetector))
            .with_attributes(attributes)
            .build();
        let config = BatchConfigBuilder::default()
            .with_scheduled_delay(batches.delay)
            .with_max_queue_size(batches.queue_size)
            .with_max_export_batch_size(batches.batch_size)
            .build();
        let processor = BatchSpanProcessor::builder(exporter)
            .with_batch_config(config)
            .build();
        let provider = SdkTracerProvider::builder()
            .with_span_processor(processor)
            .with_sampler(sampler)
            .with_resource(resource)
            .build();
        Ok(Traces { provider, retries })
    }

    /// The layer that turns spans of `tracing` into spans of traces. Only kiln's spans: spans of the libraries that send traces
    /// would produce more spans. Events go to the log only.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + Send + Sync + use<S>
    where
        S: tracing::Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
    {
        let is_kiln_span = filter_fn(|metadata| metadata.is_span() && is_kiln(metadata.target()));
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("kiln"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_level(false)
            .with_tracked_inactivity(false)
            .with_filter(is_kiln_span)
    }

    /// Sends the remaining spans, for at most `timeout`.
    pub(crate) async fn shutdown(self, timeout: Duration) {
        let Traces { provider, retries } = self;
        retries.disable();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        // The call blocks; on a thread of the runtime it would delay the end of the runtime.
        let thread = std::thread::Builder::new().spawn(move || {
            let _ = sender.send(provider.shutdown_with_timeout(timeout));
        });
        if thread.is_err() {
            return;
        }
        match tokio::time::timeout(timeout, receiver).await {
            Ok(Ok(Ok(()))) => {}
            _ => tracing::warn!("the last spans were not sent"),
        }
    }
}
