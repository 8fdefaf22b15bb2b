//! What is to be done.

use std::sync::Arc;
use std::time::Duration;

use super::event::Fault;
use super::ids::{ImageKey, PodId, RequestId};
use super::plan::Plan;

/// Something that is to be done by somebody else. None of them is waited for here; what comes of it is told by events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// Call the pod with the request. The pod counts it until [`Event::Over`](super::Event::Over) or
    /// [`Event::Lost`](super::Event::Lost).
    Start {
        /// The request.
        request: RequestId,
        /// The pod.
        pod: PodId,
    },
    /// Tell the caller that there will be no answer. The last that is heard of the request.
    Fail {
        /// The request.
        request: RequestId,
        /// Why.
        failure: Failure,
    },

    /// Create a pod and its service; then [`Event::Created`](super::Event::Created), or
    /// [`Event::NotCreated`](super::Event::NotCreated) when trying again is of no use.
    Create {
        /// The pod.
        pod: PodId,
        /// The image.
        image: ImageKey,
        /// What it is to be like.
        plan: Arc<Plan>,
    },
    /// Look whether the pod can be called, reconnect if need be, and say [`Event::Ready`](super::Event::Ready) as soon as
    /// it can, or what else has become of it or of its service, even if that was said before.
    Check {
        /// The pod.
        pod: PodId,
    },
    /// Create the service of a pod again.
    RestoreService {
        /// The pod.
        pod: PodId,
    },
    /// Delete the service of a pod of ours that is gone.
    DeleteService {
        /// The pod.
        pod: PodId,
    },
    /// Delete a pod of ours and its service, if it was created at all; [`Event::Gone`](super::Event::Gone) when it is not
    /// there any more. May be said again if nothing is heard.
    Delete {
        /// The pod.
        pod: PodId,
    },
    /// Write into the pod's annotation how long it may stay from now on.
    Annotate {
        /// The pod.
        pod: PodId,
        /// The time until it may be reclaimed.
        reclaim_in: Duration,
    },

    /// Make nobody's pod ours, unless somebody was faster: [`Event::Adopted`](super::Event::Adopted) or
    /// [`Event::Disowned`](super::Event::Disowned).
    Adopt {
        /// The pod.
        pod: PodId,
    },
    /// Delete nobody's pod and its service, unless somebody has adopted it: [`Event::Gone`](super::Event::Gone) or
    /// [`Event::Disowned`](super::Event::Disowned).
    Collect {
        /// The pod.
        pod: PodId,
    },
    /// Ask a pod how long nobody has called it: [`Event::Used`](super::Event::Used), in any case.
    Ask {
        /// The pod.
        pod: PodId,
    },
    /// Give a pod of ours back, so that another replica adopts it.
    Release {
        /// The pod.
        pod: PodId,
    },
    /// Forget a pod: close the connection to it, if there is one. The last that is heard of it.
    Forget {
        /// The pod.
        pod: PodId,
    },
}

/// Why a request gets no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// There is no pod for it; this is what is wrong with the last one.
    NoPod(Fault),
    /// Its pod was lost, and the function may have started, so that it is not run again elsewhere.
    Interrupted(Fault),
    /// The replica is ending and has no pod for it.
    Draining,
}
