//! A simple model of the state machine: what follows from the events by the rules.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::super::{
    FaultScope, FunctionStarted, ImageKey, Moment, PodId, PodOwner, PodVersion, PoolEvent,
    PoolSpec, RequestFailure, RequestId,
};
use super::{ORPHAN_GRACE, START_TIMEOUT};

/// The state that follows from all events.
#[derive(Default)]
pub(super) struct Model {
    pub(super) now: Moment,
    pub(super) stale: bool,
    pub(super) draining: bool,
    pub(super) images: BTreeMap<ImageKey, Arc<PoolSpec>>,
    pub(super) pods: BTreeMap<PodId, ModelPod>,
    pub(super) requests: BTreeMap<RequestId, ModelRequest>,
    pub(super) warm_ups: BTreeSet<ImageKey>,
    pub(super) pick_counter: u64,
    /// The image whose waiting requests must fail now, because no pod can serve them.
    pub(super) must_fail_waitlist: Option<ImageKey>,
}

pub(super) struct ModelPod {
    pub(super) image: ImageKey,
    pub(super) life: Life,
    pub(super) is_ours: bool,
    pub(super) version: Option<PodVersion>,
    pub(super) was_ready: bool,
    pub(super) is_reachable: bool,
    pub(super) running: BTreeSet<RequestId>,
    pub(super) idle_since: Moment,
    pub(super) idle_before: Duration,
    pub(super) annotated_until: Option<Moment>,
    /// A replica with an expired lease may call it.
    pub(super) may_have_other_callers: bool,
    /// A usage probe was requested.
    pub(super) probe_pending: bool,
    /// The last probe reported no recent calls.
    pub(super) is_unused: bool,
    /// The value of the pick counter when the pod was last chosen.
    pub(super) last_picked: u64,
    /// There were more pods than allowed, so it may be one of those that are deleted.
    pub(super) may_be_surplus: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Life {
    Pending(Moment),
    Ready,
    Failed,
    DeletionRequested,
    Terminating,
    /// Gone, or another replica's.
    Released,
    Orphan(Moment),
    Adopting,
    /// An orphan beyond the limit; adoption was requested.
    Retaining,
    /// Ours beyond the limit.
    Retained,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct ModelRequest {
    pub(super) image: ImageKey,
    pub(super) state: RequestState,
    /// Number of failed attempts.
    pub(super) failures: u8,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum RequestState {
    Waiting,
    Running(PodId),
    /// Its call was lost; it must fail at once.
    Interrupted,
    Failed(RequestFailure),
}

impl Model {
    pub(super) fn apply(&mut self, event: &PoolEvent) {
        let now = self.now;
        self.must_fail_waitlist = None;
        match event {
            PoolEvent::Request { request, image, .. } => {
                let state = RequestState::Waiting;
                let tracked = ModelRequest {
                    image: image.clone(),
                    state,
                    failures: 0,
                };
                self.requests.insert(*request, tracked);
            }
            PoolEvent::Finished { request } => {
                if let Some(tracked) = self.requests.remove(request) {
                    self.leave(*request, &tracked.state);
                }
            }
            PoolEvent::CallLost {
                request, started, ..
            } => {
                let Some(mut tracked) = self.requests.remove(request) else {
                    return;
                };
                let RequestState::Running(id) = tracked.state else {
                    self.requests.insert(*request, tracked);
                    return;
                };
                self.leave(*request, &tracked.state);
                if let Some(pod) = self.pods.get_mut(&id)
                    && pod.life == Life::Ready
                {
                    pod.life = Life::Pending(now);
                }
                tracked.failures += 1;
                tracked.state = match started {
                    FunctionStarted::No => RequestState::Waiting,
                    FunctionStarted::Maybe => RequestState::Interrupted,
                };
                self.requests.insert(*request, tracked);
            }
            PoolEvent::WarmUp { image, .. } => {
                self.warm_ups.insert(image.clone());
            }
            PoolEvent::SpecChanged { image, spec } => {
                self.images.insert(image.clone(), Arc::clone(spec));
            }
            PoolEvent::Found(found) => {
                let life = match found.owner {
                    PodOwner::Ours => Life::Pending(now),
                    PodOwner::LeaseExpired | PodOwner::Released => Life::Orphan(now),
                };
                let mut pod = ModelPod::new(found.image.clone(), life, now);
                pod.is_ours = found.owner == PodOwner::Ours;
                pod.may_have_other_callers = found.owner == PodOwner::LeaseExpired;
                pod.version = Some(found.version.clone());
                pod.was_ready = true;
                if let Some(reclaim_in) = found.reclaim_in {
                    let ttl = found.spec.settings.ttl;
                    pod.idle_before = ttl.saturating_sub(reclaim_in);
                }
                self.pods.entry(found.pod).or_insert(pod);
            }
            PoolEvent::AnnotationMissing { .. } => {}
            PoolEvent::UsageProbed { pod, idle } => self.apply_usage_probed(*pod, *idle),
            PoolEvent::Stale => self.stale = true,
            PoolEvent::Fresh => {
                self.stale = false;
                for pod in self.pods.values_mut() {
                    match &mut pod.life {
                        Life::Pending(since) | Life::Orphan(since) => {
                            *since = now;
                        }
                        _ => {}
                    }
                }
            }
            PoolEvent::Drain => self.draining = true,
            PoolEvent::Tick if self.stale => {}
            PoolEvent::Tick => {
                let late = self.pods.iter().filter(|(_, pod)| match pod.life {
                    Life::Pending(since) => now >= since.after(START_TIMEOUT),
                    _ => false,
                });
                for pod in late.map(|(id, _)| *id).collect::<Vec<_>>() {
                    // Faults of the image are not modelled here.
                    self.fail(pod, FaultScope::Pod);
                }
            }
            PoolEvent::Created { pod, version } => {
                if let Some(pod) = self.pods.get_mut(pod) {
                    pod.version = Some(version.clone());
                }
            }
            PoolEvent::Ready { pod } => self.change(*pod, |pod| {
                pod.is_reachable = true;
                if let Life::Pending(_) = pod.life {
                    pod.life = Life::Ready;
                    if !pod.was_ready {
                        pod.idle_since = now;
                    }
                    pod.was_ready = true;
                }
            }),
            PoolEvent::Unready { pod } | PoolEvent::ServiceGone { pod } => {
                self.change(*pod, |pod| {
                    pod.is_reachable = false;
                    if pod.life == Life::Ready {
                        pod.life = Life::Pending(now);
                    }
                })
            }
            PoolEvent::Failed { pod, fault } => self.fail(*pod, fault.scope),
            PoolEvent::Terminating { pod } => self.change(*pod, |pod| {
                if pod.life != Life::Released {
                    pod.life = Life::Terminating;
                }
            }),
            PoolEvent::CreateFailed { pod, fault } => {
                self.fail(*pod, fault.scope);
                self.change(*pod, |pod| pod.life = Life::Released);
            }
            PoolEvent::Gone { pod } => self.change(*pod, |pod| pod.life = Life::Released),
            PoolEvent::Disowned { pod } => self.change(*pod, |pod| {
                pod.is_ours = false;
                pod.life = Life::Released;
            }),
            PoolEvent::Adopted { pod } => self.change(*pod, |pod| {
                match pod.life {
                    Life::Adopting | Life::Orphan(_) => pod.life = Life::Pending(now),
                    Life::Retaining => {
                        pod.life = Life::Retained;
                        pod.idle_since = now;
                        pod.idle_before = Duration::ZERO;
                    }
                    _ => return,
                }
                pod.is_ours = true;
            }),
        }
        self.mark_surplus();
    }

    fn apply_usage_probed(&mut self, id: PodId, idle: Option<Duration>) {
        let now = self.now;
        let Some(pod) = self.pods.get(&id) else {
            return;
        };
        if !pod.probe_pending || self.stale {
            self.change(id, |pod| pod.probe_pending = false);
            return;
        }
        let ttl = self.spec(&pod.image).settings.ttl;
        let is_outdated = !self.is_current(pod);
        self.change(id, |pod| {
            pod.probe_pending = false;
            match idle {
                None => pod.may_have_other_callers = false,
                Some(idle) if pod.running.is_empty() => {
                    pod.idle_since = now;
                    pod.idle_before = idle;
                    pod.is_unused = idle >= ttl || is_outdated && idle >= ORPHAN_GRACE;
                }
                Some(_) => {}
            }
        });
    }

    /// A pod has failed; if it was the last one, the failure counts against the waiting requests.
    fn fail(&mut self, id: PodId, scope: FaultScope) {
        let Some(pod) = self.pods.get(&id) else {
            return;
        };
        let is_active = matches!(pod.life, Life::Pending(_) | Life::Ready);
        let was_counted_on = is_active && self.is_current(pod);
        let Some(pod) = self.pods.get_mut(&id) else {
            return;
        };
        if is_active || matches!(pod.life, Life::Orphan(_) | Life::Retained) {
            pod.life = Life::Failed;
        }
        pod.may_have_other_callers = false;
        if !was_counted_on {
            return;
        }
        let is_certain = !pod.may_be_surplus;
        let image = pod.image.clone();
        if self.certain(&image).count() == 0 {
            for request in self.requests.values_mut() {
                let waits = request.image == image && request.state == RequestState::Waiting;
                request.failures += u8::from(waits);
            }
        }
        if is_certain && self.active(&image).count() == 0 && scope == FaultScope::Image {
            self.must_fail_waitlist = Some(image);
        }
    }

    fn change(&mut self, pod: PodId, change: impl FnOnce(&mut ModelPod)) {
        if let Some(pod) = self.pods.get_mut(&pod) {
            change(pod);
        }
    }

    fn leave(&mut self, request: RequestId, state: &RequestState) {
        if let RequestState::Running(pod) = state
            && let Some(pod) = self.pods.get_mut(pod)
        {
            pod.running.remove(&request);
            if pod.running.is_empty() {
                pod.idle_since = self.now;
                pod.idle_before = Duration::ZERO;
            }
        }
    }

    pub(super) fn mark_surplus(&mut self) {
        for image in self.images.keys() {
            let active = self.active(image).count();
            if active > self.images[image].settings.max_pods.get() {
                for pod in self.pods.values_mut() {
                    pod.may_be_surplus |= pod.image == *image;
                }
            }
        }
    }

    pub(super) fn spec(&self, image: &ImageKey) -> &PoolSpec {
        &self.images[image]
    }

    pub(super) fn of_image(&self, image: &ImageKey) -> impl Iterator<Item = &ModelPod> {
        self.pods.values().filter(move |pod| pod.image == *image)
    }

    pub(super) fn is_current(&self, pod: &ModelPod) -> bool {
        let wanted = &self.spec(&pod.image).version;
        let version = pod.version.as_ref();
        version.is_none_or(|version| version.is_current(wanted))
    }

    /// The pods that serve requests or are expected to.
    pub(super) fn active(&self, image: &ImageKey) -> impl Iterator<Item = &ModelPod> {
        self.of_image(image).filter(|pod| match pod.life {
            Life::Pending(_) | Life::Ready => self.is_current(pod),
            // Its version is checked when it is adopted.
            Life::Adopting => true,
            _ => false,
        })
    }

    /// Those of the active pods that are kept even if there are too many.
    pub(super) fn certain(&self, image: &ImageKey) -> impl Iterator<Item = &ModelPod> {
        self.active(image).filter(|pod| !pod.may_be_surplus)
    }

    /// Those of the certain pods that are ready.
    pub(super) fn ready(&self, image: &ImageKey) -> impl Iterator<Item = &ModelPod> {
        self.certain(image).filter(|pod| pod.life == Life::Ready)
    }

    pub(super) fn pending(&self, image: &ImageKey) -> usize {
        self.active(image)
            .filter(|pod| pod.life != Life::Ready)
            .count()
    }

    pub(super) fn waiting(&self, image: &ImageKey) -> usize {
        let requests = self.requests.values();
        requests
            .filter(|tracked| tracked.image == *image && tracked.state == RequestState::Waiting)
            .count()
    }
}

impl ModelPod {
    pub(super) fn new(image: ImageKey, life: Life, now: Moment) -> ModelPod {
        ModelPod {
            image,
            life,
            is_ours: true,
            version: None,
            was_ready: false,
            is_reachable: false,
            running: BTreeSet::new(),
            idle_since: now,
            idle_before: Duration::ZERO,
            annotated_until: None,
            may_have_other_callers: false,
            probe_pending: false,
            is_unused: false,
            last_picked: 0,
            may_be_surplus: false,
        }
    }

    /// Whether another replica may use it.
    pub(super) fn may_be_used(&self) -> bool {
        self.may_have_other_callers && self.is_reachable && !self.is_unused
    }

    /// Whether it exists, is ours, and is not being deleted.
    pub(super) fn exists(&self) -> bool {
        match self.life {
            Life::Pending(_) | Life::Ready | Life::Adopting => true,
            Life::Failed | Life::DeletionRequested => self.is_ours,
            Life::Terminating
            | Life::Released
            | Life::Orphan(_)
            | Life::Retaining
            | Life::Retained => false,
        }
    }
}
