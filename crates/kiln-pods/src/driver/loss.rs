//! Calls that were lost with their pod.
//!
//! That a connection broke is known before Kubernetes says why: the container used too much memory, the node had too
//! little left, somebody deleted the pod. Whoever called wants to know that, so the answer waits for it a moment.

use std::time::Duration;

use tokio::time::Instant;

use super::Driver;
use super::message::Assignment;
use crate::state::{Failure, Fault, Lasts, PodId, RequestId};
use crate::stuck::{endings, fate};
use crate::views::Terminated;
use crate::world::World;

/// How long Kubernetes has to say why. It looks at containers every second.
const PATIENCE: Duration = Duration::from_secs(4);

/// Where a call was sent.
#[derive(Debug)]
pub(super) struct Sent {
    pod: PodId,
    /// The ends of its containers that were known then.
    known: Vec<Terminated>,
}

impl Sent {
    pub(super) fn new(pod: PodId, world: &World) -> Sent {
        let view = world.name_of(pod).and_then(|name| world.pod(name));
        let known = view.into_iter().flat_map(endings);
        let known = known.map(|(_, ended)| ended.clone()).collect();
        Sent { pod, known }
    }
}

/// A request that will be told that its pod was lost.
#[derive(Debug)]
pub(super) struct Loss {
    request: RequestId,
    /// The name of the pod.
    pod: String,
    /// What is said if nothing more is heard.
    fault: Fault,
    /// The ends of containers that were known before.
    known: Vec<Terminated>,
    until: Instant,
}

impl Loss {
    pub(super) fn is_of(&self, request: RequestId) -> bool {
        self.request == request
    }
}

impl Driver {
    /// A request's pod was lost. The request is told why as soon as that is known.
    pub(super) fn mourn(&mut self, request: RequestId, fault: Fault) {
        let Some(asked) = self.requests.get_mut(&request) else {
            return;
        };
        let sent = asked.sent.take();
        let named = sent.and_then(|Sent { pod, known }| Some((self.world.name_of(pod)?, known)));
        let Some((pod, known)) = named else {
            return self.fail(request, Failure::Interrupted(fault));
        };
        // Its own time may be up before.
        let trouble = format!("the pod was lost during the call: {fault}");
        let _ = asked.reply.send(Assignment::Trouble(trouble.into()));
        let pod = pod.to_owned();
        let until = Instant::now() + PATIENCE;
        self.losses.push(Loss {
            request,
            pod,
            fault,
            known,
            until,
        });
        self.explain_losses();
    }

    /// Tells those who can be told why their pod was lost, and those who have waited long enough.
    pub(super) fn explain_losses(&mut self) {
        let now = Instant::now();
        for loss in std::mem::take(&mut self.losses) {
            let told = match self.world.pod(&loss.pod) {
                Some(pod) => fate(pod, &loss.known),
                None => Some(gone()),
            };
            match told {
                Some(fault) => {
                    tracing::warn!(pod = loss.pod, "a call was lost: {}: {fault}", loss.fault);
                    self.fail(loss.request, Failure::Interrupted(fault));
                }
                None if now >= loss.until => {
                    self.fail(loss.request, Failure::Interrupted(loss.fault));
                }
                None => self.losses.push(loss),
            }
        }
    }

    /// When somebody has waited long enough.
    pub(super) fn next_loss(&self) -> Option<Instant> {
        self.losses.iter().map(|loss| loss.until).min()
    }
}

fn gone() -> Fault {
    Fault {
        reason: "Deleted".into(),
        message: "the pod is gone".into(),
        lasts: Lasts::No,
    }
}
