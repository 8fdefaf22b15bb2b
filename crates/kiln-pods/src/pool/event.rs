//! The events that the state machine handles. The list is closed: nothing else changes its state.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::context::Moment;
use super::ids::{ImageKey, PodId, RequestId};
use super::spec::{PodVersion, PoolSpec};

/// Something that happened. Repeated events, and events about unknown pods or requests, have no effect: watches repeat
/// themselves, and results overtake each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum PoolEvent {
    /// A caller wants to run a function.
    Request {
        request: RequestId,
        image: ImageKey,
        /// Used if the pool of the image does not exist yet. Later changes arrive as [`PoolEvent::SpecChanged`].
        spec: Arc<PoolSpec>,
    },
    /// The request is finished or was cancelled at any stage: its guard was dropped. Arrives exactly once for each
    /// request, also after [`PoolCommand::Fail`](super::PoolCommand::Fail).
    Finished {
        request: RequestId,
    },
    /// A call did not complete because its pod or the connection to the pod was lost.
    CallLost {
        request: RequestId,
        started: FunctionStarted,
        fault: PodFault,
    },
    /// Create a pod for an image without a request.
    WarmUp {
        image: ImageKey,
        /// As in [`PoolEvent::Request`].
        spec: Arc<PoolSpec>,
    },
    /// The settings, the template or the digest of an image have changed. Has no effect on images without a pool.
    SpecChanged {
        image: ImageKey,
        spec: Arc<PoolSpec>,
    },

    Created {
        pod: PodId,
        version: PodVersion,
    },
    /// The pod was not created, and neither it nor its service exists. If that is uncertain, the event is
    /// [`PoolEvent::Failed`], and the pod is deleted.
    #[cfg_attr(
        not(test),
        expect(
            dead_code,
            reason = "the driver is never certain that nothing exists, so it reports Failed"
        )
    )]
    CreateFailed {
        pod: PodId,
        fault: PodFault,
    },
    /// The pod can be called: it is running and ready, its address is reachable, and a connection to it exists.
    Ready {
        pod: PodId,
    },
    /// The pod cannot be called at the moment. Running calls may still finish.
    Unready {
        pod: PodId,
    },
    /// Another client deleted the service of the pod.
    ServiceGone {
        pod: PodId,
    },
    /// The pod will not become ready.
    Failed {
        pod: PodId,
        fault: PodFault,
    },
    /// The pod is being deleted: it still runs and finishes its calls.
    Terminating {
        pod: PodId,
    },
    /// The pod no longer exists.
    Gone {
        pod: PodId,
    },

    /// The cluster has a pod that this process did not create and that belongs to this replica or is an orphan.
    Found(FoundPod),
    /// The adoption of a pod has succeeded.
    Adopted {
        pod: PodId,
    },
    /// The reclaim annotation of one of this replica's pods is missing or invalid.
    AnnotationMissing {
        pod: PodId,
    },
    /// The pod belongs to another live replica: it adopted the pod first, or renewed its lease again.
    Disowned {
        pod: PodId,
    },

    /// The pod was asked for the time since its last call by any replica.
    UsageProbed {
        pod: PodId,
        /// Zero during a call; `None` if the pod did not answer.
        idle: Option<Duration>,
    },

    /// The watches are down: the cluster view may be outdated.
    Stale,
    /// The watches are up again, and all changes have been reported.
    Fresh,
    Tick,
    /// The replica is shutting down.
    Drain,
}

/// A pod that this process did not create.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FoundPod {
    /// From [`PodPools::next_pod_id`](super::PodPools::next_pod_id).
    pub(crate) pod: PodId,
    pub(crate) image: ImageKey,
    /// As in [`PoolEvent::Request`].
    pub(crate) spec: Arc<PoolSpec>,
    pub(crate) version: PodVersion,
    pub(crate) owner: PodOwner,
    /// The remaining time to live according to the pod's annotation; `None` if that is missing or invalid.
    pub(crate) reclaim_in: Option<Duration>,
    /// When this replica may adopt it.
    pub(crate) turn: AdoptionTurn,
}

/// The place of this replica in the order in which replicas adopt an orphan. Each orphan has another order, so that
/// orphans are spread over the replicas, and not every replica tries to adopt each of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct AdoptionTurn {
    /// How many replicas come first.
    pub(crate) before: u32,
    /// How many replicas there are.
    pub(crate) replicas: u32,
}

impl AdoptionTurn {
    /// When the turn begins; `None` means now. The turns of all replicas begin within three quarters of `grace`. The first
    /// three get long turns, however many replicas there are: a request to a busy API server takes seconds.
    pub(super) fn start(self, now: Moment, grace: Duration) -> Option<Moment> {
        let turn = grace / 4;
        let wait = match self.before {
            0 => return None,
            before @ 1..3 => turn * before,
            before => turn * 2 + turn.saturating_mul(before - 2) / (self.replicas.max(3) - 2),
        };
        Some(now.after(wait))
    }
}

/// The owner of a pod that was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PodOwner {
    /// This replica, before a restart.
    Ours,
    /// A replica whose lease has expired. It may only be cut off from the API server and still call the pod.
    LeaseExpired,
    /// A replica that released the pod and no longer calls it.
    Released,
}

/// Whether a function may have started when its call was lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FunctionStarted {
    /// The request was not sent, or was refused before it was read.
    No,
    /// The request may have reached the function.
    Maybe,
}

/// What is wrong with a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodFault {
    /// One word, as in Kubernetes: `ImagePullBackOff`, `Unschedulable`, …
    pub reason: Arc<str>,
    /// Details; may be empty.
    pub message: Arc<str>,
    /// Whether the next pod is expected to fail in the same way.
    pub(crate) scope: FaultScope,
}

/// What causes a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FaultScope {
    /// The image or its settings: every pod of the image would have the fault, for example if the image cannot be
    /// pulled.
    Image,
    /// The pod or its node: another pod may work, for example after an eviction.
    Pod,
}

impl fmt::Display for PodFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&*self.reason, &*self.message) {
            (reason, "") => f.write_str(reason),
            ("", message) => f.write_str(message),
            (reason, message) => write!(f, "{reason}: {message}"),
        }
    }
}
