//! The pods and requests of one image. Images know nothing of each other.
//!
//! Requests wait in one queue and get a pod when there is one for them, the one with the fewest calls first. A pod that can
//! be called takes `max_waitlist` calls as long as another one is coming to share the work, and any number otherwise. Every
//! event changes what is known, and then [`Image::settle`] draws the conclusions, so that it does not matter in which order
//! things are heard.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::command::{Command, Failure};
use super::event::{Fault, Found, Lasts, Owner, Started};
use super::growth::Growth;
use super::ids::{ImageKey, PodId, RequestId};
use super::moment::Moment;
use super::plan::{Plan, Version};
use super::pod::{Call, Phase, Pod};
use super::turn::Turn;

mod settle;
mod time;

/// How many pods may fail a request before it is told.
const MAX_FAILURES: u8 = 3;

/// An image with its pods and requests.
#[derive(Debug)]
pub(super) struct Image {
    key: ImageKey,
    plan: Arc<Plan>,
    pods: Vec<Pod>,
    waiting: VecDeque<Call>,
    /// Whether a pod is wanted although nobody waits.
    warm_up: bool,
    growth: Growth,
    picks: u64,
}

impl Image {
    pub(super) fn new(key: ImageKey, plan: Arc<Plan>) -> Image {
        Image {
            key,
            plan,
            pods: Vec::new(),
            waiting: VecDeque::new(),
            warm_up: false,
            growth: Growth::default(),
            picks: 0,
        }
    }

    /// Whether there is nothing to remember.
    pub(super) fn is_empty(&self) -> bool {
        self.pods.is_empty() && self.waiting.is_empty() && !self.warm_up
    }

    pub(super) fn loads(&self) -> impl Iterator<Item = (PodId, usize)> {
        self.pods.iter().map(|pod| (pod.id, pod.running.len()))
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn request(&mut self, request: RequestId) {
        self.waiting.push_back(Call {
            request,
            failures: 0,
        });
    }

    pub(super) fn over(&mut self, request: RequestId, now: Moment) {
        if self.take_running(request, now).is_none() {
            self.waiting.retain(|call| call.request != request);
        }
    }

    pub(super) fn lost(
        &mut self,
        request: RequestId,
        started: Started,
        fault: Fault,
        turn: &mut Turn<'_>,
    ) {
        let Some((id, mut call)) = self.take_running(request, turn.now) else {
            return;
        };
        // Nobody else is sent there before it has been looked at.
        if let Some(pod) = self.pod(id)
            && pod.phase == Phase::Ready
        {
            pod.phase = Phase::Coming { since: turn.now };
            turn.say(Command::Check { pod: id });
        }
        call.failures = call.failures.saturating_add(1);
        match started {
            Started::Maybe => call.fail(Failure::Interrupted(fault), turn),
            Started::No if call.failures >= MAX_FAILURES => {
                call.fail(Failure::NoPod(fault), turn);
            }
            Started::No => self.waiting.push_front(call),
        }
    }

    pub(super) fn warm_up(&mut self) {
        self.warm_up = true;
    }

    pub(super) fn planned(&mut self, plan: Arc<Plan>) {
        self.plan = plan;
    }

    pub(super) fn created(&mut self, id: PodId, version: Version, now: Moment) {
        let reclaim = now.after(self.plan.settings.ttl);
        if let Some(pod) = self.pod(id) {
            pod.version = Some(version);
            pod.annotated.get_or_insert(reclaim);
        }
    }

    pub(super) fn ready(&mut self, id: PodId, turn: &mut Turn<'_>) {
        let now = turn.now;
        let Some(pod) = self.pod(id) else { return };
        pod.answers = true;
        if matches!(pod.phase, Phase::Orphan { .. }) && pod.is_shared {
            pod.ask(turn);
        }
        if !matches!(pod.phase, Phase::Coming { .. }) {
            return;
        }
        pod.phase = Phase::Ready;
        if !pod.was_ready {
            pod.was_ready = true;
            pod.rests(now);
            self.growth.succeeded();
        }
    }

    pub(super) fn unready(&mut self, id: PodId, now: Moment) {
        let Some(pod) = self.pod(id) else { return };
        pod.answers = false;
        if pod.phase == Phase::Ready {
            pod.phase = Phase::Coming { since: now };
        }
    }

    pub(super) fn service_gone(&mut self, id: PodId, turn: &mut Turn<'_>) {
        self.unready(id, turn.now);
        if let Some(pod) = self.pod(id)
            && matches!(pod.phase, Phase::Coming { .. } | Phase::Kept)
        {
            turn.say(Command::RestoreService { pod: id });
        }
    }

    /// A pod is of no use any more. Those who wait go on to another pod if there is one. If not, it is they whom the pod has
    /// failed, and nobody else.
    pub(super) fn failed(&mut self, id: PodId, fault: &Fault, turn: &mut Turn<'_>) {
        let Some(pod) = self.pod(id) else { return };
        pod.is_shared = false;
        match pod.phase {
            Phase::Coming { .. } | Phase::Ready => pod.phase = Phase::Leaving,
            Phase::Orphan { .. } => {
                pod.phase = Phase::Wreck;
                return;
            }
            Phase::Kept => {
                pod.phase = Phase::Leaving;
                return;
            }
            _ => return,
        }
        self.growth.failed(turn.now);
        if self.pods.iter().any(Pod::is_active) {
            return;
        }
        for mut call in std::mem::take(&mut self.waiting) {
            call.failures = call.failures.saturating_add(1);
            if fault.lasts == Lasts::Yes || call.failures >= MAX_FAILURES {
                call.fail(Failure::NoPod(fault.clone()), turn);
            } else {
                self.waiting.push_back(call);
            }
        }
    }

    pub(super) fn not_created(&mut self, id: PodId, fault: &Fault, turn: &mut Turn<'_>) {
        self.failed(id, fault, turn);
        if let Some(pod) = self.pod(id) {
            pod.phase = Phase::Parted;
        }
    }

    pub(super) fn terminating(&mut self, id: PodId) {
        let Some(pod) = self.pod(id) else { return };
        pod.phase = match pod.phase {
            Phase::Coming { .. }
            | Phase::Ready
            | Phase::Leaving
            | Phase::Claimed
            | Phase::Keeping
            | Phase::Kept => Phase::Ending,
            Phase::Deleting => Phase::Deleted,
            Phase::Orphan { .. } | Phase::Wreck => Phase::Parted,
            phase @ (Phase::Deleted | Phase::Ending | Phase::Parted | Phase::Collected) => phase,
        };
    }

    pub(super) fn gone(&mut self, id: PodId, turn: &mut Turn<'_>) {
        let Some(pod) = self.pod(id) else { return };
        match pod.phase {
            Phase::Coming { .. }
            | Phase::Ready
            | Phase::Leaving
            | Phase::Ending
            | Phase::Claimed
            | Phase::Keeping
            | Phase::Kept => {
                turn.say(Command::DeleteService { pod: id });
            }
            Phase::Deleting
            | Phase::Deleted
            | Phase::Parted
            | Phase::Orphan { .. }
            | Phase::Wreck
            | Phase::Collected => {}
        }
        pod.phase = Phase::Parted;
    }

    pub(super) fn found(&mut self, found: Found, turn: &mut Turn<'_>) {
        let now = turn.now;
        let phase = match found.owner {
            Owner::Ours => Phase::Coming { since: now },
            Owner::Nobody | Owner::GivenBack => Phase::Orphan { since: now },
        };
        let mut pod = Pod::new(found.pod, phase, now);
        pod.is_shared = found.owner == Owner::Nobody;
        pod.version = Some(found.version);
        pod.was_ready = true;
        if let Some(reclaim_in) = found.reclaim_in {
            pod.annotated = Some(now.after(reclaim_in));
            pod.idle_before = self.plan.settings.ttl.saturating_sub(reclaim_in);
        }
        self.pods.push(pod);
        if found.owner == Owner::Ours {
            turn.say(Command::Check { pod: found.pod });
        }
    }

    pub(super) fn adopted(&mut self, id: PodId, turn: &mut Turn<'_>) {
        let Some(pod) = self.pod(id) else { return };
        match pod.phase {
            Phase::Claimed | Phase::Orphan { .. } => {
                pod.phase = Phase::Coming { since: turn.now };
                turn.say(Command::Check { pod: id });
            }
            Phase::Keeping => {
                pod.phase = Phase::Kept;
                // It may have been used since it was asked.
                pod.rests(turn.now);
            }
            _ => {}
        }
    }

    /// A pod has said how long nobody has called it. One that does not say is as idle as we know.
    pub(super) fn used(&mut self, id: PodId, idle: Option<Duration>, turn: &mut Turn<'_>) {
        let plan = Arc::clone(&self.plan);
        let nobody_waits = self.waiting.is_empty();
        let Some(pod) = self.pod(id) else { return };
        if !std::mem::take(&mut pod.is_asked) || turn.mode.stale {
            return;
        }
        match idle {
            None => pod.is_shared = false,
            Some(idle) if pod.is_idle() => {
                pod.idle_since = turn.now;
                pod.idle_before = idle;
            }
            Some(_) => return,
        }
        // Somebody is calling it right now, however short its time is.
        let is_unused = idle != Some(Duration::ZERO) && pod.has_expired(&plan, turn);
        match pod.phase {
            Phase::Orphan { .. } if is_unused || idle.is_none() && !pod.is_current(&plan) => {
                pod.phase = Phase::Wreck;
            }
            Phase::Kept if is_unused => pod.phase = Phase::Leaving,
            Phase::Coming { .. } | Phase::Ready if is_unused && nobody_waits => {
                pod.phase = Phase::Leaving;
            }
            _ => {}
        }
    }

    pub(super) fn unannotated(&mut self, id: PodId) {
        if let Some(pod) = self.pod(id) {
            pod.annotated = None;
        }
    }

    pub(super) fn disowned(&mut self, id: PodId) {
        if let Some(pod) = self.pod(id) {
            pod.phase = Phase::Parted;
        }
    }

    fn pod(&mut self, id: PodId) -> Option<&mut Pod> {
        self.pods.iter_mut().find(|pod| pod.id == id)
    }

    fn take_running(&mut self, request: RequestId, now: Moment) -> Option<(PodId, Call)> {
        let mut pods = self.pods.iter_mut();
        pods.find_map(|pod| Some((pod.id, pod.take(request, now)?)))
    }
}

impl Call {
    fn fail(self, failure: Failure, turn: &mut Turn<'_>) {
        turn.say(Command::Fail {
            request: self.request,
            failure,
        });
    }
}
