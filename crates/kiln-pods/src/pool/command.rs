//! The commands that the state machine returns.

use std::sync::Arc;
use std::time::Duration;

use super::event::PodFault;
use super::ids::{ImageKey, PodId, RequestId};
use super::spec::PoolSpec;

/// An action for the driver. The state machine does not wait for it; the result comes back as an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum PoolCommand {
    /// Send the request to the pod. It counts towards the pod's load until
    /// [`PoolEvent::Finished`](super::PoolEvent::Finished) or [`PoolEvent::CallLost`](super::PoolEvent::CallLost).
    Start {
        request: RequestId,
        pod: PodId,
    },
    /// Return an error to the caller. This is the last command about the request.
    Fail {
        request: RequestId,
        failure: RequestFailure,
    },

    /// Create a pod and its service. Results: [`PoolEvent::Created`](super::PoolEvent::Created), or
    /// [`PoolEvent::CreateFailed`](super::PoolEvent::CreateFailed) if retrying is pointless.
    Create {
        pod: PodId,
        image: ImageKey,
        spec: Arc<PoolSpec>,
    },
    /// Check whether the pod is reachable and connect to it again if necessary. The driver reports the current state of
    /// the pod and its service even if it has reported that state before; [`PoolEvent::Ready`](super::PoolEvent::Ready)
    /// follows as soon as the pod is reachable.
    Check {
        pod: PodId,
    },
    RestoreService {
        pod: PodId,
    },
    /// Delete the service of one of this replica's pods after the pod is gone.
    DeleteService {
        pod: PodId,
    },
    /// Delete one of this replica's pods and its service, even if its creation is still in progress.
    /// [`PoolEvent::Gone`](super::PoolEvent::Gone) follows when the pod no longer exists. The command is repeated if no
    /// event follows.
    Delete {
        pod: PodId,
    },
    /// Update the annotation with the time at which the pod may be reclaimed.
    Annotate {
        pod: PodId,
        reclaim_in: Duration,
    },

    /// Adopt an orphan unless another replica was faster. Results: [`PoolEvent::Adopted`](super::PoolEvent::Adopted) or
    /// [`PoolEvent::Disowned`](super::PoolEvent::Disowned).
    Adopt {
        pod: PodId,
    },
    /// Delete an orphan and its service unless another replica has adopted it. Results:
    /// [`PoolEvent::Gone`](super::PoolEvent::Gone) or [`PoolEvent::Disowned`](super::PoolEvent::Disowned).
    Collect {
        pod: PodId,
    },
    /// Ask a pod for the time since its last call. [`PoolEvent::UsageProbed`](super::PoolEvent::UsageProbed) follows in
    /// any case.
    ProbeUsage {
        pod: PodId,
    },
    /// Release one of this replica's pods so that another replica can adopt it.
    Release {
        pod: PodId,
    },
    /// Drop all state of a pod and close the connection to it. This is the last command about the pod.
    Forget {
        pod: PodId,
    },
}

/// Why a request fails.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RequestFailure {
    /// No pod can serve it; this is the fault of the last one.
    NoPod(PodFault),
    /// Its pod was lost. The function may have started, so it is not run again in another pod.
    Interrupted(PodFault),
    /// The replica is draining and has no pod for it.
    Draining,
}
