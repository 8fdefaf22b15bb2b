//! The observer of a server: turns its calls into metrics, traces and the history of calls.

use std::sync::Arc;

use kiln_server::{ArrivedCall, Finished, Lane, Observer};
use tracing::Span;

use crate::call_history::CallHistory;
use crate::metrics::Metrics;
use crate::traces;

pub(crate) struct CallObserver {
    metrics: Option<Arc<Metrics>>,
    history: Option<Arc<CallHistory>>,
    has_traces: bool,
}

impl CallObserver {
    pub(crate) fn new(
        metrics: Option<Arc<Metrics>>,
        history: Option<Arc<CallHistory>>,
        has_traces: bool,
    ) -> CallObserver {
        CallObserver {
            metrics,
            history,
            has_traces,
        }
    }
}

impl Observer for CallObserver {
    fn begun(&self, span: &Span, call: &ArrivedCall<'_>) {
        if self.has_traces {
            traces::continue_trace(span, call.metadata);
        } else {
            traces::keep_incoming_context(span, call.metadata);
        }
        if let Some(history) = &self.history {
            history.begun(call, traces::trace_id(span));
        }
    }

    fn queued(&self, call: u64, evaluator: &'static str, lane: Lane) {
        if let Some(history) = &self.history {
            history.queued(call, evaluator, lane);
        }
    }

    fn started(&self, call: u64) {
        if let Some(history) = &self.history {
            history.started(call);
        }
    }

    fn waiting(&self, lane: Lane, change: i64) {
        if let Some(metrics) = &self.metrics {
            metrics.waiting(lane, change);
        }
        if let Some(history) = &self.history {
            history.waiting(lane, change);
        }
    }

    fn running(&self, lane: Lane, change: i64) {
        if let Some(metrics) = &self.metrics {
            metrics.running(lane, change);
        }
        if let Some(history) = &self.history {
            history.running(lane, change);
        }
    }

    fn looked_up(&self, outcome: &'static str) {
        if let Some(metrics) = &self.metrics {
            metrics.looked_up(outcome);
        }
    }

    fn finished(&self, span: &Span, call: &Finished<'_>) {
        if let Some(metrics) = &self.metrics {
            metrics.finished(call);
        }
        if let Some(history) = &self.history {
            history.finished(call);
        }
        if self.has_traces {
            traces::record_outcome(span, call);
        }
    }
}
