//! What the machine has been told, and what follows from it by the rules, without any of its cleverness.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::super::{
    Event, Failure, ImageKey, Lasts, Moment, Owner, Plan, PodId, RequestId, Started, Version,
};
use super::{ORPHAN_GRACE, START_TIMEOUT};

/// Everything that was told.
#[derive(Default)]
pub(super) struct Told {
    pub(super) now: Moment,
    pub(super) stale: bool,
    pub(super) draining: bool,
    pub(super) images: BTreeMap<ImageKey, Arc<Plan>>,
    pub(super) pods: BTreeMap<PodId, ToldPod>,
    pub(super) requests: BTreeMap<RequestId, ToldRequest>,
    pub(super) warm_ups: BTreeSet<ImageKey>,
    pub(super) picks: u64,
    /// Whose requests must be told now that there is no pod for them and will be none.
    pub(super) hopeless: Option<ImageKey>,
}

pub(super) struct ToldPod {
    pub(super) image: ImageKey,
    pub(super) life: Life,
    pub(super) is_ours: bool,
    pub(super) version: Option<Version>,
    pub(super) was_ready: bool,
    pub(super) answers: bool,
    pub(super) running: BTreeSet<RequestId>,
    pub(super) idle_since: Moment,
    pub(super) idle_before: Duration,
    pub(super) annotated: Option<Moment>,
    /// A replica that is not heard of may be calling it.
    pub(super) is_shared: bool,
    /// It was asked whether anybody calls it.
    pub(super) is_asked: bool,
    /// It has said that nobody does.
    pub(super) is_unused: bool,
    /// Whose turn it was when it was chosen last.
    pub(super) picked: u64,
    /// There were more pods than allowed when it was there, so it may be one of those that go.
    pub(super) may_be_surplus: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Life {
    Coming(Moment),
    Ready,
    /// Has failed.
    Failed,
    /// Told to be deleted or collected.
    Doomed,
    /// Being deleted.
    Ending,
    /// Gone, or another's.
    Parted,
    /// Nobody's, and not claimed.
    Orphan(Moment),
    /// Nobody's, and claimed.
    Claimed,
    /// Nobody's, and claimed although there is no room.
    Keeping,
    /// Ours although there was no room.
    Kept,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct ToldRequest {
    pub(super) image: ImageKey,
    pub(super) state: RequestState,
    /// How many times it was out of luck.
    pub(super) failures: u8,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum RequestState {
    Waiting,
    Running(PodId),
    /// Was lost while it ran, and must be told so at once.
    Interrupted,
    Failed(Failure),
}

impl Told {
    pub(super) fn hear(&mut self, event: &Event) {
        let now = self.now;
        self.hopeless = None;
        match event {
            Event::Request { request, image, .. } => {
                let state = RequestState::Waiting;
                let told = ToldRequest {
                    image: image.clone(),
                    state,
                    failures: 0,
                };
                self.requests.insert(*request, told);
            }
            Event::Over { request } => {
                if let Some(told) = self.requests.remove(request) {
                    self.leave(*request, &told.state);
                }
            }
            Event::Lost {
                request, started, ..
            } => {
                let Some(mut told) = self.requests.remove(request) else {
                    return;
                };
                let RequestState::Running(id) = told.state else {
                    self.requests.insert(*request, told);
                    return;
                };
                self.leave(*request, &told.state);
                if let Some(pod) = self.pods.get_mut(&id)
                    && pod.life == Life::Ready
                {
                    pod.life = Life::Coming(now);
                }
                told.failures += 1;
                told.state = match started {
                    Started::No => RequestState::Waiting,
                    Started::Maybe => RequestState::Interrupted,
                };
                self.requests.insert(*request, told);
            }
            Event::WarmUp { image, .. } => {
                self.warm_ups.insert(image.clone());
            }
            Event::Planned { image, plan } => {
                self.images.insert(image.clone(), Arc::clone(plan));
            }
            Event::Found(found) => {
                let life = match found.owner {
                    Owner::Ours => Life::Coming(now),
                    Owner::Nobody | Owner::GivenBack => Life::Orphan(now),
                };
                let mut pod = ToldPod::new(found.image.clone(), life, now);
                pod.is_ours = found.owner == Owner::Ours;
                pod.is_shared = found.owner == Owner::Nobody;
                pod.version = Some(found.version.clone());
                pod.was_ready = true;
                if let Some(reclaim_in) = found.reclaim_in {
                    let ttl = found.plan.settings.ttl;
                    pod.idle_before = ttl.saturating_sub(reclaim_in);
                }
                self.pods.entry(found.pod).or_insert(pod);
            }
            Event::Unannotated { .. } => {}
            Event::Used { pod, idle } => self.hear_used(*pod, *idle),
            Event::Stale => self.stale = true,
            Event::Fresh => {
                self.stale = false;
                for pod in self.pods.values_mut() {
                    match &mut pod.life {
                        Life::Coming(since) | Life::Orphan(since) => {
                            *since = now;
                        }
                        _ => {}
                    }
                }
            }
            Event::Drain => self.draining = true,
            Event::Tick if self.stale => {}
            Event::Tick => {
                let late = self.pods.iter().filter(|(_, pod)| match pod.life {
                    Life::Coming(since) => now >= since.after(START_TIMEOUT),
                    _ => false,
                });
                for pod in late.map(|(id, _)| *id).collect::<Vec<_>>() {
                    // Pods that were never ready will not be the next time either; that is not looked at here.
                    self.fail(pod, Lasts::No);
                }
            }
            Event::Created { pod, version } => {
                if let Some(pod) = self.pods.get_mut(pod) {
                    pod.version = Some(version.clone());
                }
            }
            Event::Ready { pod } => self.change(*pod, |pod| {
                pod.answers = true;
                if let Life::Coming(_) = pod.life {
                    pod.life = Life::Ready;
                    if !pod.was_ready {
                        pod.idle_since = now;
                    }
                    pod.was_ready = true;
                }
            }),
            Event::Unready { pod } | Event::ServiceGone { pod } => self.change(*pod, |pod| {
                pod.answers = false;
                if pod.life == Life::Ready {
                    pod.life = Life::Coming(now);
                }
            }),
            Event::Failed { pod, fault } => self.fail(*pod, fault.lasts),
            Event::Terminating { pod } => self.change(*pod, |pod| {
                if pod.life != Life::Parted {
                    pod.life = Life::Ending;
                }
            }),
            Event::NotCreated { pod, fault } => {
                self.fail(*pod, fault.lasts);
                self.change(*pod, |pod| pod.life = Life::Parted);
            }
            Event::Gone { pod } => self.change(*pod, |pod| pod.life = Life::Parted),
            Event::Disowned { pod } => self.change(*pod, |pod| {
                pod.is_ours = false;
                pod.life = Life::Parted;
            }),
            Event::Adopted { pod } => self.change(*pod, |pod| {
                match pod.life {
                    Life::Claimed | Life::Orphan(_) => pod.life = Life::Coming(now),
                    Life::Keeping => {
                        pod.life = Life::Kept;
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

    fn hear_used(&mut self, id: PodId, idle: Option<Duration>) {
        let now = self.now;
        let Some(pod) = self.pods.get(&id) else {
            return;
        };
        if !pod.is_asked || self.stale {
            self.change(id, |pod| pod.is_asked = false);
            return;
        }
        let ttl = self.plan(&pod.image).settings.ttl;
        let is_outdated = !self.is_current(pod);
        self.change(id, |pod| {
            pod.is_asked = false;
            match idle {
                None => pod.is_shared = false,
                Some(idle) if pod.running.is_empty() => {
                    pod.idle_since = now;
                    pod.idle_before = idle;
                    pod.is_unused = idle >= ttl || is_outdated && idle >= ORPHAN_GRACE;
                }
                Some(_) => {}
            }
        });
    }

    /// A pod has failed, and if it was the last one, those who wait are out of luck.
    fn fail(&mut self, id: PodId, lasts: Lasts) {
        let Some(pod) = self.pods.get(&id) else {
            return;
        };
        let is_active = matches!(pod.life, Life::Coming(_) | Life::Ready);
        let was_counted_on = is_active && self.is_current(pod);
        let Some(pod) = self.pods.get_mut(&id) else {
            return;
        };
        if is_active || matches!(pod.life, Life::Orphan(_) | Life::Kept) {
            pod.life = Life::Failed;
        }
        pod.is_shared = false;
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
        if is_certain && self.active(&image).count() == 0 && lasts == Lasts::Yes {
            self.hopeless = Some(image);
        }
    }

    fn change(&mut self, pod: PodId, change: impl FnOnce(&mut ToldPod)) {
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

    pub(super) fn plan(&self, image: &ImageKey) -> &Plan {
        &self.images[image]
    }

    pub(super) fn of_image(&self, image: &ImageKey) -> impl Iterator<Item = &ToldPod> {
        self.pods.values().filter(move |pod| pod.image == *image)
    }

    pub(super) fn is_current(&self, pod: &ToldPod) -> bool {
        let wanted = &self.plan(&pod.image).version;
        let version = pod.version.as_ref();
        version.is_none_or(|version| version.is_current(wanted))
    }

    /// The pods that serve or will.
    pub(super) fn active(&self, image: &ImageKey) -> impl Iterator<Item = &ToldPod> {
        self.of_image(image).filter(|pod| match pod.life {
            Life::Coming(_) | Life::Ready => self.is_current(pod),
            // What it is made of is looked at again when it is ours.
            Life::Claimed => true,
            _ => false,
        })
    }

    /// Those of them that surely do, even if there are too many pods.
    pub(super) fn certain(&self, image: &ImageKey) -> impl Iterator<Item = &ToldPod> {
        self.active(image).filter(|pod| !pod.may_be_surplus)
    }

    /// Those of these that can be called.
    pub(super) fn ready(&self, image: &ImageKey) -> impl Iterator<Item = &ToldPod> {
        self.certain(image).filter(|pod| pod.life == Life::Ready)
    }

    pub(super) fn coming(&self, image: &ImageKey) -> usize {
        self.active(image)
            .filter(|pod| pod.life != Life::Ready)
            .count()
    }

    pub(super) fn waiting(&self, image: &ImageKey) -> usize {
        let requests = self.requests.values();
        requests
            .filter(|told| told.image == *image && told.state == RequestState::Waiting)
            .count()
    }
}

impl ToldPod {
    pub(super) fn new(image: ImageKey, life: Life, now: Moment) -> ToldPod {
        ToldPod {
            image,
            life,
            is_ours: true,
            version: None,
            was_ready: false,
            answers: false,
            running: BTreeSet::new(),
            idle_since: now,
            idle_before: Duration::ZERO,
            annotated: None,
            is_shared: false,
            is_asked: false,
            is_unused: false,
            picked: 0,
            may_be_surplus: false,
        }
    }

    /// Whether it may be in use without anybody here knowing.
    pub(super) fn may_be_used(&self) -> bool {
        self.is_shared && self.answers && !self.is_unused
    }

    /// Whether it is there, ours, and nobody is deleting it.
    pub(super) fn exists(&self) -> bool {
        match self.life {
            Life::Coming(_) | Life::Ready | Life::Claimed => true,
            Life::Failed | Life::Doomed => self.is_ours,
            Life::Ending | Life::Parted | Life::Orphan(_) | Life::Keeping | Life::Kept => false,
        }
    }
}
