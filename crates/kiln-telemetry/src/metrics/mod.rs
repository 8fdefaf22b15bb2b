//! Counters of calls, in the form that Prometheus reads.
//!
//! Images are named by callers, so there may be any number of them: those beyond the first [`MAX_IMAGES`], those that nobody
//! here can run and those that are no sensible label are counted together, as `other`.

mod endpoint;
mod labels;
mod process;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
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

pub(crate) use endpoint::Endpoint;
pub(crate) use labels::code_name;
use labels::{CallLabels, FailureLabels, FunctionLabels, LaneLabels};

/// How many images are counted apart.
const MAX_IMAGES: usize = 200;

/// How long the reference of such an image may be.
const MAX_IMAGE_LENGTH: usize = 256;

/// The name of all images that are not counted apart.
const OTHER: &str = "other";

/// Upper ends of the buckets of all histograms, in seconds: a native function takes a fraction of a millisecond, a first
/// call to a pod takes seconds, and the longest that a call may take by default is ten minutes.
const BUCKETS: [f64; 18] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 15.0, 60.0, 600.0,
];

type Histograms = Family<FunctionLabels, Histogram, fn() -> Histogram>;

/// Everything that is counted.
pub(crate) struct Metrics {
    registry: Registry,
    evaluations: Family<CallLabels, Counter>,
    failures: Family<FailureLabels, Counter>,
    queue: Histograms,
    execution: Histograms,
    total: Histograms,
    request_bytes: Family<FunctionLabels, Counter>,
    response_bytes: Family<FunctionLabels, Counter>,
    running: Family<LaneLabels, Gauge>,
    waiting: Family<LaneLabels, Gauge>,
    images: RwLock<HashMap<String, Arc<str>>>,
}

impl Metrics {
    /// Begins at zero. `resource` says who we are.
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
            running: Family::default(),
            waiting: Family::default(),
            images: RwLock::default(),
        };
        metrics.register(resource);
        // Gauges that nothing has moved yet are zero, not unknown.
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
            "Calls that are over, by the code of their answer",
            self.evaluations.clone(),
        );
        kiln.register(
            "evaluation_failures",
            "Calls that were not answered with a list, by what is to blame",
            self.failures.clone(),
        );
        let durations = [
            (
                "evaluation_queue",
                "How long calls waited for a place",
                &self.queue,
            ),
            (
                "evaluation_execution",
                "How long functions ran",
                &self.execution,
            ),
            (
                "evaluation_duration",
                "How long calls took in all",
                &self.total,
            ),
        ];
        for (name, help, histograms) in durations {
            kiln.register_with_unit(name, help, Unit::Seconds, histograms.clone());
        }
        let sizes = [
            (
                "request",
                "Size of the lists that came",
                &self.request_bytes,
            ),
            (
                "response",
                "Size of the lists that went back",
                &self.response_bytes,
            ),
        ];
        for (name, help, counters) in sizes {
            kiln.register_with_unit(name, help, Unit::Bytes, counters.clone());
        }
        kiln.register(
            "evaluations_in_flight",
            "Calls that run now",
            self.running.clone(),
        );
        kiln.register(
            "evaluations_queued",
            "Calls that wait for a place now",
            self.waiting.clone(),
        );
    }

    /// So many more calls run than before.
    pub(crate) fn running(&self, lane: Lane, change: i64) {
        self.running.get_or_create(&lane.into()).inc_by(change);
    }

    /// So many more calls wait than before.
    pub(crate) fn waiting(&self, lane: Lane, change: i64) {
        self.waiting.get_or_create(&lane.into()).inc_by(change);
    }

    /// A call is over.
    pub(crate) fn finished(&self, call: &Finished<'_>) {
        let image = self.image(call);
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
                class: labels::class(call.code),
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

    /// All of it, as OpenMetrics text.
    pub(crate) fn render(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail, and no metric of ours does.
        let _ = encode(&mut text, &self.registry);
        text
    }

    /// What the image of a call is called.
    fn image(&self, call: &Finished<'_>) -> Arc<str> {
        let is_sensible = |image: &str| {
            let printable = image.bytes().all(|byte| byte.is_ascii_graphic());
            (1..=MAX_IMAGE_LENGTH).contains(&image.len()) && printable
        };
        if call.evaluator.is_none() || !is_sensible(call.image) {
            return OTHER.into();
        }
        let images = self.images.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(image) = images.get(call.image) {
            return Arc::clone(image);
        }
        drop(images);
        let mut images = self.images.write().unwrap_or_else(PoisonError::into_inner);
        if images.len() >= MAX_IMAGES && !images.contains_key(call.image) {
            return OTHER.into();
        }
        let image = images.entry(call.image.to_owned());
        Arc::clone(image.or_insert_with(|| call.image.into()))
    }
}

#[cfg(test)]
mod tests;
