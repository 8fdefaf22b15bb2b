//! Metrics of calls, for Prometheus.

mod labels;
mod process;
mod server;

use std::sync::Arc;
use std::time::Duration;

use kiln_server::{Finished, Lane};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use tonic::Code;

use crate::image_labels::ImageLabels;
use labels::{CacheLabels, CallLabels, FailureLabels, FunctionLabels, LaneLabels};
pub(crate) use labels::{code_name, failure_class};
pub(crate) use server::MetricsServer;

/// Upper bounds of the buckets of all histograms, in seconds: a native function takes a fraction of a millisecond, the first
/// call to a pod takes seconds, and the default timeout of a call is ten minutes.
const BUCKETS: [f64; 18] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 15.0, 60.0, 600.0,
];

type Histograms = Family<FunctionLabels, Histogram, fn() -> Histogram>;

pub(crate) struct Metrics {
    registry: Registry,
    evaluations: Family<CallLabels, Counter>,
    failures: Family<FailureLabels, Counter>,
    queue: Histograms,
    execution: Histograms,
    total: Histograms,
    request_bytes: Family<FunctionLabels, Counter>,
    response_bytes: Family<FunctionLabels, Counter>,
    cache: Family<CacheLabels, Counter>,
    running: Family<LaneLabels, Gauge>,
    waiting: Family<LaneLabels, Gauge>,
    images: ImageLabels,
}

impl Metrics {
    /// Registers the metrics. `resource` holds the attributes of the service.
    pub(crate) fn new(resource: &[(String, String)]) -> Metrics {
        let histograms =
            || -> Histograms { Family::new_with_constructor(|| Histogram::new(BUCKETS)) };
        let mut metrics = Metrics {
            registry: Registry::default(),
            evaluations: Family::default(),
            failures: Family::default(),
            queue: histograms(),
            execution: histograms(),
            total: histograms(),
            request_bytes: Family::default(),
            response_bytes: Family::default(),
            cache: Family::default(),
            running: Family::default(),
            waiting: Family::default(),
            images: ImageLabels::default(),
        };
        metrics.register(resource);
        // A gauge without a value would be missing from the page instead of zero.
        for lane in Lane::ALL {
            metrics.running(lane, 0);
            metrics.waiting(lane, 0);
        }
        metrics
    }

    fn register(&mut self, resource: &[(String, String)]) {
        let target = Info::new(labels::of_resource(resource));
        let top = &mut self.registry;
        top.register("target", "The service", target);
        top.register_collector(Box::new(process::ProcessCollector));
        let kiln = top.sub_registry_with_prefix("kiln");
        kiln.register(
            "evaluations",
            "Finished calls by status code",
            self.evaluations.clone(),
        );
        kiln.register(
            "evaluation_failures",
            "Failed calls by cause",
            self.failures.clone(),
        );
        let durations = [
            (
                "evaluation_queue",
                "Time that calls waited for a slot",
                &self.queue,
            ),
            (
                "evaluation_execution",
                "Run time of functions",
                &self.execution,
            ),
            ("evaluation_duration", "Total time of calls", &self.total),
        ];
        for (name, help, histograms) in durations {
            kiln.register_with_unit(name, help, Unit::Seconds, histograms.clone());
        }
        let sizes = [
            (
                "request",
                "Size of received resource lists",
                &self.request_bytes,
            ),
            (
                "response",
                "Size of returned resource lists",
                &self.response_bytes,
            ),
        ];
        for (name, help, counters) in sizes {
            kiln.register_with_unit(name, help, Unit::Bytes, counters.clone());
        }
        kiln.register(
            "cache",
            "Kept answers that were looked up, by outcome",
            self.cache.clone(),
        );
        kiln.register(
            "evaluations_in_flight",
            "Running calls",
            self.running.clone(),
        );
        kiln.register(
            "evaluations_queued",
            "Calls that wait for a slot",
            self.waiting.clone(),
        );
    }

    /// Changes the number of running calls.
    pub(crate) fn running(&self, lane: Lane, change: i64) {
        self.running.get_or_create(&lane.into()).inc_by(change);
    }

    /// Changes the number of waiting calls.
    pub(crate) fn waiting(&self, lane: Lane, change: i64) {
        self.waiting.get_or_create(&lane.into()).inc_by(change);
    }

    /// Counts a kept answer that was looked up.
    pub(crate) fn looked_up(&self, outcome: &'static str) {
        self.cache.get_or_create(&CacheLabels { outcome }).inc();
    }

    /// Counts a finished call.
    pub(crate) fn finished(&self, call: &Finished<'_>) {
        let image = self.images.label(call);
        let labels = FunctionLabels {
            image: Arc::clone(&image),
            evaluator: call.evaluator.unwrap_or("none"),
        };
        let seconds = Duration::as_secs_f64;
        self.queue
            .get_or_create(&labels)
            .observe(seconds(&call.queue));
        if let Some(execution) = &call.execution {
            self.execution
                .get_or_create(&labels)
                .observe(seconds(execution));
        }
        self.total
            .get_or_create(&labels)
            .observe(seconds(&call.total));
        let bytes = |size: usize| u64::try_from(size).unwrap_or(u64::MAX);
        self.request_bytes
            .get_or_create(&labels)
            .inc_by(bytes(call.request_bytes));
        self.response_bytes
            .get_or_create(&labels)
            .inc_by(bytes(call.response_bytes));
        let FunctionLabels { evaluator, .. } = labels;
        if call.code != Code::Ok {
            let labels = FailureLabels {
                image: Arc::clone(&image),
                class: failure_class(call.code),
            };
            self.failures.get_or_create(&labels).inc();
        }
        let labels = CallLabels {
            image,
            evaluator,
            code: code_name(call.code),
        };
        self.evaluations.get_or_create(&labels).inc();
    }

    /// The page, as OpenMetrics text.
    pub(crate) fn render(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

#[cfg(test)]
mod tests;
