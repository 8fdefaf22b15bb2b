//! The pod pool of one image: its pods and its waitlist. Pools are independent of each other.
//!
//! Requests wait in one waitlist and go to the ready pod with the lowest load. A ready pod takes `max_waitlist` calls
//! while another pod is pending, and any number otherwise. Every event updates the state, and then
//! [`PodPool::reconcile`] derives the commands from it, so that the order of events does not matter.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::command::{PoolCommand, RequestFailure};
use super::context::EventContext;
use super::context::Moment;
use super::event::{FaultScope, FoundPod, FunctionStarted, PodFault, PodOwner};
use super::ids::{ImageKey, PodId, RequestId};
use super::pod::{Pod, PodPhase, TrackedRequest};
use super::spec::{PodVersion, PoolSpec};
use super::state::{PoolState, PooledPod};

mod reconcile;
mod timers;

/// Number of pods that may fail a request before the request fails.
const MAX_FAILURES: u8 = 3;

/// The pods and requests of one image.
#[derive(Debug)]
pub(super) struct PodPool {
    key: ImageKey,
    spec: Arc<PoolSpec>,
    pods: Vec<Pod>,
    waitlist: VecDeque<TrackedRequest>,
    /// Whether to create a pod without a request.
    warm_up: bool,
    scale_up: ScaleUpBackoff,
    pick_counter: u64,
    /// The next timeout, as the pools of all images know it.
    recorded_timeout: Option<Moment>,
}

impl PodPool {
    pub(super) fn new(key: ImageKey, spec: Arc<PoolSpec>) -> PodPool {
        PodPool {
            key,
            spec,
            pods: Vec::new(),
            waitlist: VecDeque::new(),
            warm_up: false,
            scale_up: ScaleUpBackoff::default(),
            pick_counter: 0,
            recorded_timeout: None,
        }
    }

    /// Whether the pool can be dropped.
    pub(super) fn is_empty(&self) -> bool {
        self.pods.is_empty() && self.waitlist.is_empty() && !self.warm_up
    }

    /// What the status page shows of the pool.
    pub(super) fn state(&self, now: Moment) -> PoolState<'_> {
        let spec = &self.spec;
        let pods = self.pods.iter().map(|pod| PooledPod {
            id: pod.id,
            phase: pod.phase.name(),
            running: pod.running.len(),
            idle: pod
                .is_idle()
                .then(|| now.since(pod.idle_since).saturating_add(pod.idle_before)),
            expires_in: (pod.is_idle() && pod.is_active())
                .then(|| pod.expires(spec.settings.ttl).since(now)),
        });
        PoolState {
            image: &self.key,
            digest: spec.version.digest.as_deref(),
            waiting: self.waitlist.len(),
            active: self
                .pods
                .iter()
                .filter(|pod| pod.counts_toward_limit())
                .count(),
            max_pods: spec.settings.max_pods.get(),
            pods: pods.collect(),
        }
    }

    #[cfg(test)]
    pub(super) fn loads(&self) -> impl Iterator<Item = (PodId, usize)> {
        self.pods.iter().map(|pod| (pod.id, pod.running.len()))
    }

    #[cfg(test)]
    pub(super) fn waitlist_len(&self) -> usize {
        self.waitlist.len()
    }

    pub(super) fn request(&mut self, request: RequestId) {
        self.waitlist.push_back(TrackedRequest {
            request,
            failures: 0,
        });
    }

    pub(super) fn finished(&mut self, request: RequestId, now: Moment) {
        if self.take_running(request, now).is_none() {
            self.waitlist.retain(|call| call.request != request);
        }
    }

    pub(super) fn call_lost(
        &mut self,
        request: RequestId,
        started: FunctionStarted,
        fault: PodFault,
        ctx: &mut EventContext<'_>,
    ) {
        let Some((id, mut call)) = self.take_running(request, ctx.now) else {
            return;
        };
        // No other request goes to this pod before it is checked.
        if let Some(pod) = self.pod(id)
            && pod.phase == PodPhase::Ready
        {
            pod.phase = PodPhase::Pending { since: ctx.now };
            ctx.push(PoolCommand::Check { pod: id });
        }
        call.failures = call.failures.saturating_add(1);
        match started {
            FunctionStarted::Maybe => call.fail(RequestFailure::Interrupted(fault), ctx),
            FunctionStarted::No if call.failures >= MAX_FAILURES => {
                call.fail(RequestFailure::NoPod(fault), ctx);
            }
            FunctionStarted::No => self.waitlist.push_front(call),
        }
    }

    pub(super) fn warm_up(&mut self) {
        self.warm_up = true;
    }

    pub(super) fn set_spec(&mut self, spec: Arc<PoolSpec>) {
        self.spec = spec;
    }

    pub(super) fn created(&mut self, id: PodId, version: PodVersion, now: Moment) {
        let reclaim = now.after(self.spec.settings.ttl);
        if let Some(pod) = self.pod(id) {
            pod.version = Some(version);
            pod.annotated_until.get_or_insert(reclaim);
        }
    }

    pub(super) fn ready(&mut self, id: PodId, ctx: &mut EventContext<'_>) {
        let now = ctx.now;
        let Some(pod) = self.pod(id) else { return };
        pod.is_reachable = true;
        if matches!(pod.phase, PodPhase::Orphan { .. }) && pod.may_have_other_callers {
            pod.probe_usage(ctx);
        }
        if !matches!(pod.phase, PodPhase::Pending { .. }) {
            return;
        }
        pod.phase = PodPhase::Ready;
        if !pod.was_ready {
            pod.was_ready = true;
            pod.mark_idle(now);
            self.scale_up.succeeded();
        }
    }

    pub(super) fn unready(&mut self, id: PodId, now: Moment) {
        let Some(pod) = self.pod(id) else { return };
        pod.is_reachable = false;
        if pod.phase == PodPhase::Ready {
            pod.phase = PodPhase::Pending { since: now };
        }
    }

    pub(super) fn service_gone(&mut self, id: PodId, ctx: &mut EventContext<'_>) {
        self.unready(id, ctx.now);
        if let Some(pod) = self.pod(id)
            && matches!(pod.phase, PodPhase::Pending { .. } | PodPhase::Retained)
        {
            ctx.push(PoolCommand::RestoreService { pod: id });
        }
    }

    /// The pod failed. Waiting requests go to another pod if there is one; otherwise the failure counts against them.
    pub(super) fn failed(&mut self, id: PodId, fault: &PodFault, ctx: &mut EventContext<'_>) {
        let Some(pod) = self.pod(id) else { return };
        pod.may_have_other_callers = false;
        match pod.phase {
            PodPhase::Pending { .. } | PodPhase::Ready => pod.phase = PodPhase::Retiring,
            PodPhase::Orphan { .. } => {
                pod.phase = PodPhase::Unusable;
                return;
            }
            PodPhase::Retained => {
                pod.phase = PodPhase::Retiring;
                return;
            }
            _ => return,
        }
        self.scale_up.failed(ctx.now);
        if self.pods.iter().any(Pod::is_active) {
            return;
        }
        for mut call in std::mem::take(&mut self.waitlist) {
            call.failures = call.failures.saturating_add(1);
            if fault.scope == FaultScope::Image || call.failures >= MAX_FAILURES {
                call.fail(RequestFailure::NoPod(fault.clone()), ctx);
            } else {
                self.waitlist.push_back(call);
            }
        }
    }

    pub(super) fn create_failed(
        &mut self,
        id: PodId,
        fault: &PodFault,
        ctx: &mut EventContext<'_>,
    ) {
        self.failed(id, fault, ctx);
        if let Some(pod) = self.pod(id) {
            pod.phase = PodPhase::Released;
        }
    }

    pub(super) fn terminating(&mut self, id: PodId) {
        let Some(pod) = self.pod(id) else { return };
        pod.phase = match pod.phase {
            PodPhase::Pending { .. }
            | PodPhase::Ready
            | PodPhase::Retiring
            | PodPhase::Adopting
            | PodPhase::Retaining
            | PodPhase::Retained => PodPhase::Terminating,
            PodPhase::Deleting => PodPhase::DeletionObserved,
            PodPhase::Orphan { .. } | PodPhase::Unusable => PodPhase::Released,
            phase @ (PodPhase::DeletionObserved
            | PodPhase::Terminating
            | PodPhase::Released
            | PodPhase::Collecting) => phase,
        };
    }

    pub(super) fn gone(&mut self, id: PodId, ctx: &mut EventContext<'_>) {
        let Some(pod) = self.pod(id) else { return };
        match pod.phase {
            PodPhase::Pending { .. }
            | PodPhase::Ready
            | PodPhase::Retiring
            | PodPhase::Terminating
            | PodPhase::Adopting
            | PodPhase::Retaining
            | PodPhase::Retained => {
                ctx.push(PoolCommand::DeleteService { pod: id });
            }
            PodPhase::Deleting
            | PodPhase::DeletionObserved
            | PodPhase::Released
            | PodPhase::Orphan { .. }
            | PodPhase::Unusable
            | PodPhase::Collecting => {}
        }
        pod.phase = PodPhase::Released;
    }

    pub(super) fn found_pod(&mut self, found: FoundPod, ctx: &mut EventContext<'_>) {
        let now = ctx.now;
        let phase = match found.owner {
            PodOwner::Ours => PodPhase::Pending { since: now },
            PodOwner::LeaseExpired | PodOwner::Released => PodPhase::Orphan { since: now },
        };
        let mut pod = Pod::new(found.pod, phase, now);
        pod.may_have_other_callers = found.owner == PodOwner::LeaseExpired;
        pod.version = Some(found.version);
        pod.was_ready = true;
        pod.adopt_from = match found.owner {
            PodOwner::Ours => None,
            PodOwner::LeaseExpired | PodOwner::Released => found.turn.start(now, ctx.orphan_grace),
        };
        if let Some(reclaim_in) = found.reclaim_in {
            pod.annotated_until = Some(now.after(reclaim_in));
            pod.idle_before = self.spec.settings.ttl.saturating_sub(reclaim_in);
        }
        self.pods.push(pod);
        if found.owner == PodOwner::Ours {
            ctx.push(PoolCommand::Check { pod: found.pod });
        }
    }

    pub(super) fn adopted(&mut self, id: PodId, ctx: &mut EventContext<'_>) {
        let Some(pod) = self.pod(id) else { return };
        match pod.phase {
            PodPhase::Adopting | PodPhase::Orphan { .. } => {
                pod.phase = PodPhase::Pending { since: ctx.now };
                ctx.push(PoolCommand::Check { pod: id });
            }
            PodPhase::Retaining => {
                pod.phase = PodPhase::Retained;
                // It may have been called since it was asked.
                pod.mark_idle(ctx.now);
            }
            _ => {}
        }
    }

    /// The pod reported the time since its last call. If it did not answer, only the calls of this replica count.
    pub(super) fn usage_probed(
        &mut self,
        id: PodId,
        idle: Option<Duration>,
        ctx: &mut EventContext<'_>,
    ) {
        let spec = Arc::clone(&self.spec);
        let waitlist_is_empty = self.waitlist.is_empty();
        let Some(pod) = self.pod(id) else { return };
        if !std::mem::take(&mut pod.probe_pending) || ctx.mode.stale {
            return;
        }
        match idle {
            None => pod.may_have_other_callers = false,
            Some(idle) if pod.is_idle() => {
                pod.idle_since = ctx.now;
                pod.idle_before = idle;
            }
            Some(_) => return,
        }
        // It is being called right now, even if its time to live is very short.
        let is_unused = idle != Some(Duration::ZERO) && pod.has_expired(&spec, ctx);
        match pod.phase {
            PodPhase::Orphan { .. } if is_unused || idle.is_none() && !pod.is_current(&spec) => {
                pod.phase = PodPhase::Unusable;
            }
            PodPhase::Retained if is_unused => pod.phase = PodPhase::Retiring,
            PodPhase::Pending { .. } | PodPhase::Ready if is_unused && waitlist_is_empty => {
                pod.phase = PodPhase::Retiring;
            }
            _ => {}
        }
    }

    pub(super) fn annotation_missing(&mut self, id: PodId) {
        if let Some(pod) = self.pod(id) {
            pod.annotated_until = None;
        }
    }

    pub(super) fn disowned(&mut self, id: PodId) {
        if let Some(pod) = self.pod(id) {
            pod.phase = PodPhase::Released;
        }
    }

    fn pod(&mut self, id: PodId) -> Option<&mut Pod> {
        self.pods.iter_mut().find(|pod| pod.id == id)
    }

    fn take_running(&mut self, request: RequestId, now: Moment) -> Option<(PodId, TrackedRequest)> {
        let mut pods = self.pods.iter_mut();
        pods.find_map(|pod| Some((pod.id, pod.take(request, now)?)))
    }
}

impl TrackedRequest {
    fn fail(self, failure: RequestFailure, ctx: &mut EventContext<'_>) {
        ctx.push(PoolCommand::Fail {
            request: self.request,
            failure,
        });
    }
}

/// Limits how often the pool tries to add a pod to those it has.
///
/// Requests need not wait for an additional pod. If its creation fails, for example because a quota is exhausted, it is
/// not tried again with every request.
#[derive(Debug, Default)]
pub(super) struct ScaleUpBackoff {
    not_before: Moment,
    failures: u32,
}

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

impl ScaleUpBackoff {
    pub(super) fn is_due(&self, now: Moment) -> bool {
        now >= self.not_before
    }

    pub(super) fn succeeded(&mut self) {
        *self = ScaleUpBackoff::default();
    }

    pub(super) fn failed(&mut self, now: Moment) {
        let pause = FIRST_PAUSE.saturating_mul(1 << self.failures.min(6));
        self.not_before = now.after(pause.min(LONGEST_PAUSE));
        self.failures = self.failures.saturating_add(1);
    }
}
