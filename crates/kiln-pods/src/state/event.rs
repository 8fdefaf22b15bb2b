//! What can happen. The list is closed: nothing else makes the machine do anything.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::ids::{ImageKey, PodId, RequestId};
use super::plan::{Plan, Version};

/// Something that happened. Events about pods or requests that the machine has forgotten are ignored, and so is hearing
/// the same again: watches repeat themselves, and answers overtake each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// Somebody wants a function run.
    Request {
        /// The request.
        request: RequestId,
        /// The image.
        image: ImageKey,
        /// What its pods are to be like, if nobody has told so far. Later changes come as [`Event::Planned`].
        plan: Arc<Plan>,
    },
    /// A request is over or was given up, at whatever stage: its guard was dropped. Comes exactly once for each request,
    /// after [`Command::Fail`](super::Command::Fail) too.
    Over {
        /// The request.
        request: RequestId,
    },
    /// A request that was started could not be carried through because its pod or the connection to it was lost.
    Lost {
        /// The request.
        request: RequestId,
        /// Whether the function may have started.
        started: Started,
        /// What happened.
        fault: Fault,
    },
    /// A pod is wanted for an image although there is no request.
    WarmUp {
        /// The image.
        image: ImageKey,
        /// As with a request.
        plan: Arc<Plan>,
    },
    /// What is wanted of an image's pods has changed: settings, template or digest. For images without pods and requests
    /// it means nothing.
    Planned {
        /// The image.
        image: ImageKey,
        /// What is wanted from now on.
        plan: Arc<Plan>,
    },

    /// A pod that was to be created has been, and this is what it was made of.
    Created {
        /// The pod.
        pod: PodId,
        /// What it is made of.
        version: Version,
    },
    /// A pod could not be created, and neither it nor its service is there. If that is not sure, it is
    /// [`Event::Failed`], and the pod will be deleted.
    NotCreated {
        /// The pod.
        pod: PodId,
        /// Why.
        fault: Fault,
    },
    /// A pod can be called: it is running and ready, it can be reached by the address that is used, and the connection to
    /// it stands.
    Ready {
        /// The pod.
        pod: PodId,
    },
    /// A pod cannot be called for the time being. Calls that run may well finish.
    Unready {
        /// The pod.
        pod: PodId,
    },
    /// The service of a pod has been deleted by somebody.
    ServiceGone {
        /// The pod.
        pod: PodId,
    },
    /// A pod will not become ready any more.
    Failed {
        /// The pod.
        pod: PodId,
        /// Why.
        fault: Fault,
    },
    /// Somebody is deleting a pod: it still runs and finishes what it does.
    Terminating {
        /// The pod.
        pod: PodId,
    },
    /// A pod is not there any more.
    Gone {
        /// The pod.
        pod: PodId,
    },

    /// A pod that this process has not created is ours or nobody's.
    Found(Found),
    /// A pod that was to be adopted is ours now.
    Adopted {
        /// The pod.
        pod: PodId,
    },
    /// The annotation that says how long a pod of ours may stay is missing or makes no sense.
    Unannotated {
        /// The pod.
        pod: PodId,
    },
    /// A pod belongs to another replica that lives: it has adopted the pod first, or is back from the dead.
    Disowned {
        /// The pod.
        pod: PodId,
    },

    /// A pod says how long nobody has called it, whoever that might be; none if it does not say.
    Used {
        /// The pod.
        pod: PodId,
        /// The time since the last call, nothing during one.
        idle: Option<Duration>,
    },

    /// The watches are down: what is known may be old.
    Stale,
    /// The watches are up again, and everything that changed meanwhile has been told.
    Fresh,
    /// Time has passed.
    Tick,
    /// The replica is to end: nothing new is begun.
    Drain,
}

/// A pod that was there before anybody here asked for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// A name for it, from [`Pool::name_found_pod`](super::Pool::name_found_pod).
    pub pod: PodId,
    /// The image.
    pub image: ImageKey,
    /// As with a request.
    pub plan: Arc<Plan>,
    /// What it was made of.
    pub version: Version,
    /// Whose it is.
    pub owner: Owner,
    /// How long it may stay without work, by its own annotation; none if that is missing or makes no sense.
    pub reclaim_in: Option<Duration>,
}

/// Whose a pod is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// Ours, from before a restart.
    Ours,
    /// A replica's that has not renewed its lease for too long. It may be cut off and still be calling the pod.
    Nobody,
    /// A replica's that has given the pod back and does not call it any more.
    GivenBack,
}

/// Whether a function may have started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Started {
    /// It surely has not: the request did not leave, or was refused before it was looked at.
    No,
    /// It may have.
    Maybe,
}

/// What is wrong with a pod, in the words of whoever found out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// One word, as Kubernetes has them: `ImagePullBackOff`, `Unschedulable`, …
    pub reason: Arc<str>,
    /// The sentence that goes with it; may be empty.
    pub message: Arc<str>,
    /// Whether the same is to be expected of the next pod.
    pub lasts: Lasts,
}

/// Whether a fault is one of the pod or of what it is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lasts {
    /// Another pod of the image would have it too: the image cannot be pulled, the program crashes.
    Yes,
    /// Another pod may do better: the node went away, the pod was evicted.
    No,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&*self.reason, &*self.message) {
            (reason, "") => f.write_str(reason),
            ("", message) => f.write_str(message),
            (reason, message) => write!(f, "{reason}: {message}"),
        }
    }
}
