//! A cluster with many replicas in virtual time: the real pools, cluster views and leases of each replica
//! ([`PodController`](crate::driver::controller::PodController)), and a simulated API server, pods and callers.
//!
//! The result depends only on the options; the time that decisions take is measured beside it. In the middle of a run
//! replicas die at once, later some pods die, and then some replicas are cut off from the API server for a while.
//!
//! Deliberately simple: watches have one fixed delay, services are counted but not watched, and calls take no processor
//! time.

#![allow(
    missing_docs,
    reason = "a field or variant whose name is clear has no comment"
)]

mod api_server;
mod api_tasks;
mod callers;
mod random;
mod replica;
mod run;
mod schedule;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::Duration;

pub use api_server::ApiRequest;

/// The size of a cluster and what happens in it.
#[derive(Clone, Debug)]
pub struct ScaleOptions {
    pub seed: u64,
    pub images: usize,
    pub replicas: usize,
    /// Callers have one connection each, to one replica, and call a few images in bursts.
    pub callers: usize,
    pub images_per_caller: usize,
    /// Maximum number of pods per image and replica.
    pub max_pods: NonZeroUsize,
    pub calls: u64,
    /// Replicas that die at once after half of the calls.
    pub dying: usize,
    /// Replicas that are cut off from the API server after three quarters of the calls.
    pub cut_off: usize,
}

/// What happened. The same options give the same report.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ScaleReport {
    pub virtual_time: Duration,
    pub calls: u64,
    /// Calls whose replica died; the caller repeated them.
    pub repeated: u64,
    /// Calls that failed because their pod died.
    pub died_with_pod: u64,
    /// Calls that failed before they had a pod, because none could be created in time.
    pub without_pod: u64,
    /// Calls that failed although their pod was alive, or whose pod was deleted during the call.
    pub lost: u64,
    /// Events that replicas decided about.
    pub decisions: u64,
    pub most_pods: usize,
    pub requests: BTreeMap<ApiRequest, u64>,
    /// Requests that the API server answered with 429.
    pub refused: u64,
    /// Requests in the busiest minute, and in the median minute.
    pub busiest_minute: u64,
    pub median_minute: u64,
    /// The mean time from a call to its start, of the image with the shortest and of the one with the longest.
    pub shortest_wait: Duration,
    pub longest_wait: Duration,
    /// The longest time from a call to its start.
    pub longest_single_wait: Duration,
    pub orphans: usize,
    /// Orphans that got no owner before the end.
    pub never_adopted: usize,
    /// From the death of a replica until a pod of it has another owner or is gone: median and maximum.
    pub median_adoption: Duration,
    pub longest_adoption: Duration,
}

/// A report, and the processor time that the decisions of all replicas took.
pub struct MeasuredReport {
    pub report: ScaleReport,
    pub deciding: Duration,
}

/// Runs a cluster until all calls have ended and all orphans have owners.
pub fn simulate(options: &ScaleOptions) -> MeasuredReport {
    run::Simulation::new(options.clone()).run()
}

/// The time that a replica with `pods` ready pods of 200 images takes to decide about `calls` calls, one after the other.
pub fn time_warm_calls(pods: usize, calls: usize) -> Duration {
    replica::Replica::with_pods(pods, pods).time_warm_calls(calls)
}

/// Makes a replica that knows `pods` pods, of which it owns `owned`, and returns what holds it in memory.
pub fn replica_with_pods(pods: usize, owned: usize) -> Box<dyn std::any::Any> {
    Box::new(replica::Replica::with_pods(pods, owned))
}
