//! Calls that were lost with their pod.
//!
//! A connection breaks before Kubernetes reports the reason: the container ran out of memory, the node evicted the pod,
//! or a user deleted it. The error for the caller is held back for a moment so that it can contain this reason.

use std::time::Duration;

use tokio::time::Instant;

use super::message::Assignment;
use super::tasks::DriverTasks;
use crate::kube::cluster_view::ClusterView;
use crate::kube::pod_status::{lost_call_reason, terminations};
use crate::kube::views::ContainerTerminated;
use crate::pool::{FaultScope, PodFault, PodId, RequestFailure, RequestId};

/// How long to wait for the reason. The kubelet updates the status of containers every second.
const REASON_TIMEOUT: Duration = Duration::from_secs(4);

/// A call that was sent to a pod.
#[derive(Debug)]
pub(super) struct SentCall {
    pod: PodId,
    /// The container terminations that were known when the call was sent.
    known_terminations: Vec<ContainerTerminated>,
}

impl SentCall {
    pub(super) fn new(pod: PodId, cluster_view: &ClusterView) -> SentCall {
        let view = cluster_view
            .name_of(pod)
            .and_then(|name| cluster_view.pod(name));
        let known_terminations = view.into_iter().flat_map(terminations);
        let known_terminations = known_terminations.map(|(_, ended)| ended.clone()).collect();
        SentCall {
            pod,
            known_terminations,
        }
    }
}

/// A lost call whose reason is not known yet.
#[derive(Debug)]
pub(super) struct LostCall {
    request: RequestId,
    pod: String,
    /// Reported if Kubernetes gives no reason in time.
    fault: PodFault,
    /// As in [`SentCall`].
    known_terminations: Vec<ContainerTerminated>,
    until: Instant,
}

impl DriverTasks {
    /// Drops a request that is finished.
    pub(super) fn forget_request(&mut self, request: RequestId) {
        self.requests.remove(&request);
        self.lost_calls
            .retain(|lost_call| lost_call.request != request);
    }

    /// Fails a request as soon as the reason for the loss of its pod is known.
    pub(super) fn await_reason(&mut self, request: RequestId, fault: PodFault, view: &ClusterView) {
        let Some(pending) = self.requests.get_mut(&request) else {
            return;
        };
        let sent = pending.sent.take();
        let named = sent.and_then(
            |SentCall {
                 pod,
                 known_terminations,
             }| Some((view.name_of(pod)?, known_terminations)),
        );
        let Some((pod, known_terminations)) = named else {
            return self.fail(request, RequestFailure::Interrupted(fault));
        };
        // The deadline of the call may pass first.
        let reason = format!("the pod was lost during the call: {fault}");
        let _ = pending.reply.send(Assignment::Delayed(reason.into()));
        let pod = pod.to_owned();
        let until = Instant::now() + REASON_TIMEOUT;
        self.lost_calls.push(LostCall {
            request,
            pod,
            fault,
            known_terminations,
            until,
        });
        self.resolve_lost_calls(view);
    }

    /// Fails the requests whose reason is known or whose time limit has passed.
    pub(super) fn resolve_lost_calls(&mut self, view: &ClusterView) {
        let now = Instant::now();
        for lost_call in std::mem::take(&mut self.lost_calls) {
            let reason = match view.pod(&lost_call.pod) {
                Some(pod) => lost_call_reason(pod, &lost_call.known_terminations),
                None => Some(gone()),
            };
            match reason {
                Some(fault) => {
                    tracing::warn!(
                        pod = lost_call.pod,
                        "call lost: {}: {fault}",
                        lost_call.fault
                    );
                    self.fail(lost_call.request, RequestFailure::Interrupted(fault));
                }
                None if now >= lost_call.until => {
                    self.fail(
                        lost_call.request,
                        RequestFailure::Interrupted(lost_call.fault),
                    );
                }
                None => self.lost_calls.push(lost_call),
            }
        }
    }

    pub(super) fn next_lost_call_deadline(&self) -> Option<Instant> {
        self.lost_calls
            .iter()
            .map(|lost_call| lost_call.until)
            .min()
    }
}

fn gone() -> PodFault {
    PodFault {
        reason: "Deleted".into(),
        message: "the pod no longer exists".into(),
        scope: FaultScope::Pod,
    }
}
