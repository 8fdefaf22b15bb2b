//! The observer of a server: turns its calls into metrics and traces.

use std::sync::Arc;

use kiln_server::{Finished, Lane, Observer};
use tonic::metadata::MetadataMap;
use tracing::Span;

use crate::metrics::Metrics;
use crate::traces;

pub(crate) struct CallObserver {
    metrics: Option<Arc<Metrics>>,
    has_traces: bool,
}

impl CallObserver {
    pub(crate) fn new(metrics: Option<Arc<Metrics>>, has_traces: bool) -> CallObserver {
        CallObserver {
            metrics,
            has_traces,
        }
    }
}

impl Observer for CallObserver {
    fn begun(&self, span: &Span, metadata: &MetadataMap) {
        if self.has_traces {
            traces::continue_trace(span, metadata);
        } else {
            traces::keep_incoming_context(span, metadata);
        }
    }

    fn waiting(&self, lane: Lane, change: i64) {
        if let Some(metrics) = &self.metrics {
            metrics.waiting(lane, change);
        }
    }

    fn running(&self, lane: Lane, change: i64) {
        if let Some(metrics) = &self.metrics {
            metrics.running(lane, change);
        }
    }

    fn finished(&self, span: &Span, call: &Finished<'_>) {
        if let Some(metrics) = &self.metrics {
            metrics.finished(call);
        }
        if self.has_traces {
            traces::record_outcome(span, call);
        }
    }
}
