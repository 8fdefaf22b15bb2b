//! The state of pools, for the status page.

use std::time::Duration;

use super::ids::{ImageKey, PodId};

/// The state of the pool of one image.
#[derive(Debug)]
pub(crate) struct PoolState<'a> {
    pub(crate) image: &'a ImageKey,
    pub(crate) digest: Option<&'a str>,
    /// Number of requests that wait for a pod.
    pub(crate) waiting: usize,
    /// Number of pods that count towards the limit.
    pub(crate) active: usize,
    pub(crate) max_pods: usize,
    pub(crate) pods: Vec<PooledPod>,
}

/// A pod of a pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PooledPod {
    pub(crate) id: PodId,
    pub(crate) phase: &'static str,
    /// Number of calls of this replica.
    pub(crate) running: usize,
    /// How long it has been without calls; `None` if it has calls.
    pub(crate) idle: Option<Duration>,
    /// The rest of its time to live; `None` if it has calls or is about to go anyway.
    pub(crate) expires_in: Option<Duration>,
}
