//! Spans of calls, sent to a collector over OTLP.
//!
//! Spans wait in a bounded queue for a thread that sends them; what does not fit is dropped. No call ever waits for a
//! collector.

mod collector;
mod context;
mod http1;
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

use crate::exporters::StartError;
use crate::level::is_ours;
use collector::Collector;
pub use context::outgoing_context;
pub(crate) use context::{continue_trace, describe, remember_trace};

/// How and where traces are sent.
#[derive(Clone, Debug)]
pub(crate) struct TraceSettings {
    pub(crate) protocol: Protocol,
    pub(crate) endpoint: Uri,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// For one batch, all attempts together.
    pub(crate) timeout: Duration,
    /// Whom to believe; those whom the system believes if not given.
    pub(crate) ca: Option<PathBuf>,
    pub(crate) client_certificate: Option<PathBuf>,
    pub(crate) client_key: Option<PathBuf>,
    pub(crate) sampler: SamplerSettings,
    pub(crate) batches: BatchSettings,
}

/// When spans are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BatchSettings {
    /// How long a span waits for others at most.
    pub(crate) delay: Duration,
    /// How many wait at most; others are dropped.
    pub(crate) queue: usize,
    /// How many are sent at once.
    pub(crate) size: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Protocol {
    Http,
    Grpc,
}

/// Which traces are kept.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct SamplerSettings {
    /// So many of those that begin here.
    pub(crate) ratio: f64,
    /// Whether those that a caller began are kept when the caller keeps them.
    pub(crate) follow_parent: bool,
}

impl SamplerSettings {
    fn sampler(self) -> Sampler {
        let own = match self.ratio {
            ratio if ratio >= 1.0 => Sampler::AlwaysOn,
            ratio if ratio <= 0.0 => Sampler::AlwaysOff,
            ratio => Sampler::TraceIdRatioBased(ratio),
        };
        if self.follow_parent {
            Sampler::ParentBased(Box::new(own))
        } else {
            own
        }
    }
}

/// What makes and sends spans.
pub(crate) struct Traces {
    provider: SdkTracerProvider,
    stop: collector::Stop,
}

impl Traces {
    /// Starts the thread; nothing is sent yet. Sending is done in `runtime`.
    pub(crate) fn start(
        settings: TraceSettings,
        resource: &[(String, String)],
        runtime: Handle,
    ) -> Result<Traces, StartError> {
        let sampler = settings.sampler.sampler();
        let batches = settings.batches;
        let collector = Collector::new(settings, runtime)?;
        let stop = collector.stop();
        let attributes = resource
            .iter()
            .map(|(name, value)| KeyValue::new(name.clone(), value.clone()));
        let resource = Resource::builder_empty()
            .with_detector(Box::new(TelemetryResourceDetector))
            .with_attributes(attributes)
            .build();
        let config = BatchConfigBuilder::default()
            .with_scheduled_delay(batches.delay)
            .with_max_queue_size(batches.queue)
            .with_max_export_batch_size(batches.size)
            .build();
        let processor = BatchSpanProcessor::builder(collector)
            .with_batch_config(config)
            .build();
        let provider = SdkTracerProvider::builder()
            .with_span_processor(processor)
            .with_sampler(sampler)
            .with_resource(resource)
            .build();
        Ok(Traces { provider, stop })
    }

    /// What turns spans of `tracing` into spans of traces. Only our own: those of the libraries that send them would make
    /// more to send. Records are in the log.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + Send + Sync + use<S>
    where
        S: tracing::Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
    {
        let ours = filter_fn(|metadata| metadata.is_span() && is_ours(metadata.target()));
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("kiln"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_level(false)
            .with_tracked_inactivity(false)
            .with_filter(ours)
    }

    /// Sends what is left, in at most so much time.
    pub(crate) async fn shutdown(self, patience: Duration) {
        let Traces { provider, stop } = self;
        stop.no_more_attempts();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        // It blocks, and a thread of the runtime would keep the runtime from ending.
        let thread = std::thread::Builder::new().spawn(move || {
            let _ = sender.send(provider.shutdown_with_timeout(patience));
        });
        if thread.is_err() {
            return;
        }
        match tokio::time::timeout(patience, receiver).await {
            Ok(Ok(Ok(()))) => {}
            _ => tracing::warn!("the last traces could not be sent"),
        }
    }
}
