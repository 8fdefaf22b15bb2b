//! Trace context: taken from the caller of a call, and passed on in outgoing calls.
//!
//! Without an exporter, kiln adds no spans to a trace, but the caller's context is still passed on, so that the trace
//! continues.

use kiln_server::Finished;
use opentelemetry::propagation::{Extractor, Injector, TextMapPropagator as _};
use opentelemetry::trace::{Status, TraceContextExt as _};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tonic::Code;
use tonic::metadata::{KeyRef, MetadataMap};
use tracing::{Dispatch, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::registry::{LookupSpan as _, Registry, SpanRef};

use crate::log::TraceId;
use crate::metrics::code_name;

/// The headers of W3C trace context.
const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";

/// The trace context headers of the caller, stored in the span of the call.
struct IncomingContext(Vec<(&'static str, String)>);

/// The trace context headers for an outgoing call. Empty outside of traces.
pub fn outgoing_context() -> Vec<(&'static str, String)> {
    let span = Span::current();
    let mut headers = HeaderInjector(Vec::new());
    let context = span.context();
    if context.span().span_context().is_valid() {
        TraceContextPropagator::new().inject_context(&context, &mut headers);
        return headers.0;
    }
    let incoming = with_span(&span, |span| {
        let mut scope = span.scope();
        scope.find_map(|span| Some(span.extensions().get::<IncomingContext>()?.0.clone()))
    });
    incoming.flatten().unwrap_or_default()
}

/// Makes the span of a call part of its caller's trace.
pub(crate) fn continue_trace(span: &Span, metadata: &MetadataMap) {
    let parent = TraceContextPropagator::new().extract(&MetadataExtractor(metadata));
    if parent.span().span_context().is_valid() {
        // Fails only without an exporter.
        let _ = span.set_parent(parent);
    }
    let trace = span.context().span().span_context().trace_id().to_string();
    with_span(span, |span| {
        span.extensions_mut().replace(TraceId(trace));
    });
}

/// Stores the caller's context in the span, for outgoing calls.
pub(crate) fn keep_incoming_context(span: &Span, metadata: &MetadataMap) {
    let parent = TraceContextPropagator::new().extract(&MetadataExtractor(metadata));
    let parent = parent.span().span_context().clone();
    if !parent.is_valid() {
        return;
    }
    let header = |name: &'static str| {
        let value = metadata.get(name)?.to_str().ok()?;
        Some((name, value.to_owned()))
    };
    let headers = [TRACEPARENT, TRACESTATE].into_iter().filter_map(header);
    let incoming = IncomingContext(headers.collect());
    with_span(span, |span| {
        let mut extensions = span.extensions_mut();
        extensions.replace(TraceId(parent.trace_id().to_string()));
        extensions.replace(incoming);
    });
}

pub(crate) fn record_outcome(span: &Span, call: &Finished<'_>) {
    let size = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
    span.set_attribute("rpc.system", "grpc");
    span.set_attribute("rpc.service", "evaluator.FunctionEvaluator");
    span.set_attribute("rpc.method", "EvaluateFunction");
    span.set_attribute("rpc.grpc.status_code", i64::from(i32::from(call.code)));
    span.set_attribute("request_bytes", size(call.request_bytes));
    span.set_attribute("response_bytes", size(call.response_bytes));
    if let Some(exit_code) = call.exit_code {
        span.set_attribute("exit_code", i64::from(exit_code));
    }
    if call.code != Code::Ok {
        let description = format!("{}: {}", code_name(call.code), call.message);
        span.set_status(Status::error(description));
    }
}

/// The trace of the span of a call.
pub(crate) fn trace_id(span: &Span) -> Option<String> {
    with_span(span, |span| {
        Some(span.extensions().get::<TraceId>()?.0.clone())
    })
    .flatten()
}

/// Calls a function with the registry's data of a span.
fn with_span<T>(span: &Span, use_span: impl FnOnce(SpanRef<'_, Registry>) -> T) -> Option<T> {
    span.with_subscriber(|(id, dispatch): (_, &Dispatch)| {
        let registry = dispatch.downcast_ref::<Registry>()?;
        registry.span(id).map(use_span)
    })
    .flatten()
}

/// Lets the propagator read the metadata of a call.
struct MetadataExtractor<'a>(&'a MetadataMap);

impl Extractor for MetadataExtractor<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        let name = |key| match key {
            KeyRef::Ascii(key) => key.as_str(),
            KeyRef::Binary(key) => key.as_str(),
        };
        self.0.keys().map(name).collect()
    }
}

/// Lets the propagator write headers.
struct HeaderInjector(Vec<(&'static str, String)>);

impl Injector for HeaderInjector {
    fn set(&mut self, key: &str, value: String) {
        let name = [TRACEPARENT, TRACESTATE]
            .into_iter()
            .find(|name| *name == key);
        if let Some(name) = name
            && !value.is_empty()
        {
            self.0.push((name, value));
        }
    }
}
