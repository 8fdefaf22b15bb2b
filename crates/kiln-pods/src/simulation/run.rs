//! The course of a simulation.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::api_server::{ApiRequest, ApiServer, PodStage, lease, pod_name};
use super::api_tasks::{ApiTask, Work};
use super::callers::SimulatedCaller;
use super::random::Random;
use super::replica::{Action, Actions, LEASE_PERIOD, Replica, SeenPod, SimulatedCall, image_name};
use super::schedule::Schedule;
use super::{MeasuredReport, ScaleOptions, ScaleReport};
use crate::driver::controller::PodController;
use crate::pool::{
    FaultScope, FunctionStarted, ImageKey, Moment, PodFault, PodId, PoolCommand, PoolEvent,
    RequestId,
};

/// The delay of every watch.
const WATCH: Duration = Duration::from_millis(10);

/// The mean duration of connecting to a pod, of asking it for its use, and of a call.
const CONNECT: Duration = Duration::from_millis(3);
const CALL: Duration = Duration::from_millis(60);

/// How long a pod that is being deleted may finish its calls.
const GRACE: Duration = Duration::from_secs(30);
const GRACE_STEP: Duration = Duration::from_millis(100);

/// How long replicas are cut off, and how long the end of a run is awaited.
const CUT_OFF: Duration = Duration::from_secs(40);
const END: Duration = Duration::from_secs(120);

/// One of this many pods dies.
const DYING_PODS: usize = 100;

pub(super) enum Happening {
    Caller(usize),
    CallEnds {
        replica: usize,
        request: RequestId,
    },
    CallLost {
        replica: usize,
        request: RequestId,
    },
    /// A pod has changed, and the watches report it.
    Watched(usize),
    Connected {
        replica: usize,
        pod: PodId,
    },
    Probed {
        replica: usize,
        pod: PodId,
        index: usize,
    },
    PodReady(usize),
    PodGone {
        index: usize,
        waited: Duration,
    },
    Answer {
        replica: usize,
        task: ApiTask,
    },
    Retry {
        replica: usize,
        task: ApiTask,
    },
    Resume(usize),
    Tick {
        replica: usize,
        at: Moment,
    },
    /// A replica renews its lease and reviews owners.
    Maintenance(usize),
    /// A replica renews its lease after a refusal.
    RenewLease(usize),
    LeaseWatched {
        replica: usize,
        renewed: Moment,
    },
    Reconnected(usize),
}

pub(super) struct Simulation {
    options: ScaleOptions,
    pub(super) now: Moment,
    pub(super) random: Random,
    schedule: Schedule<Happening>,
    pub(super) server: ApiServer,
    pub(super) replicas: Vec<Replica>,
    callers: Vec<SimulatedCaller>,
    images: Vec<ImageKey>,
    /// Number of calls, total wait and longest wait of each image.
    waits: Vec<(u64, Duration, Duration)>,
    next_request: u64,
    running: u64,
    alive_pods: usize,
    /// Pods whose owner died, and when.
    orphans: BTreeMap<usize, Moment>,
    adoptions: Vec<Duration>,
    /// What remains to happen to the cluster: died replicas, died pods, cut-off replicas.
    stage: usize,
    report: ScaleReport,
    deciding: Duration,
}

impl Simulation {
    pub(super) fn new(options: ScaleOptions) -> Simulation {
        let mut random = Random::new(options.seed);
        let callers = (0..options.callers).map(|number| {
            let replica = number % options.replicas.max(1);
            SimulatedCaller::new(
                replica,
                options.images,
                options.images_per_caller,
                &mut random,
            )
        });
        let callers: Vec<SimulatedCaller> = callers.collect();
        let replicas = (0..options.replicas).map(|number| Replica::new(number, options.max_pods));
        let mut simulation = Simulation {
            now: Moment::default(),
            schedule: Schedule::new(),
            server: ApiServer::default(),
            replicas: replicas.collect(),
            images: (0..options.images)
                .map(|image| ImageKey::new(image_name(image)))
                .collect(),
            waits: vec![Default::default(); options.images],
            callers,
            random,
            next_request: 0,
            running: 0,
            alive_pods: 0,
            orphans: BTreeMap::new(),
            adoptions: Vec::new(),
            stage: 0,
            report: ScaleReport::default(),
            deciding: Duration::ZERO,
            options,
        };
        for replica in 0..simulation.replicas.len() {
            simulation.list(replica);
            let first = simulation.random.around(LEASE_PERIOD / 3);
            simulation.after(first, Happening::Maintenance(replica));
            // All replicas know all leases, as after their first list.
            simulation.lease_watched(replica, Moment::default());
        }
        for caller in 0..simulation.callers.len() {
            simulation.after(Duration::ZERO, Happening::Caller(caller));
        }
        simulation
    }

    pub(super) fn run(mut self) -> MeasuredReport {
        let mut end = None;
        while let Some((now, happening)) = self.schedule.next() {
            self.now = now;
            self.happen(happening);
            self.disturb();
            if self.next_request < self.options.calls || self.running > 0 {
                continue;
            }
            let end = *end.get_or_insert_with(|| now.after(END));
            let is_whole = self.replicas.iter().all(|replica| !replica.is_cut_off);
            if now >= end || (self.orphans.is_empty() && is_whole) {
                break;
            }
        }
        self.finish()
    }

    pub(super) fn after(&mut self, time: Duration, what: Happening) {
        self.schedule.at(self.now.after(time), what);
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Caller(caller) => self.caller_acts(caller),
            Happening::CallEnds { replica, request } => self.call_ends(replica, request),
            Happening::CallLost { replica, request } => self.lose_call(replica, request),
            Happening::Watched(index) => self.watched(index),
            Happening::Connected { replica, pod } => {
                self.event(replica, PoolEvent::Ready { pod });
            }
            Happening::Probed {
                replica,
                pod,
                index,
            } => {
                let found = self.server.pods.get(index);
                let found = found.filter(|pod| pod.stage == PodStage::Ready);
                let idle = found.map(|pod| match pod.running {
                    0 => self.now.since(pod.last_call),
                    _ => Duration::ZERO,
                });
                self.event(replica, PoolEvent::UsageProbed { pod, idle });
            }
            Happening::PodReady(index) => {
                if self.stage(index) == PodStage::Starting {
                    self.change(index, PodStage::Ready);
                }
            }
            Happening::PodGone { index, waited } => self.pod_gone(index, waited),
            Happening::Answer { replica, task } => self.answer(replica, task),
            Happening::Retry { replica, task } => self.send(replica, task),
            Happening::Resume(replica) => self.send_waiting(replica),
            Happening::Tick { replica, at } => {
                let is_due = |replica: &Replica| replica.is_alive && replica.wake_at == Some(at);
                if self.replicas.get(replica).is_some_and(is_due) {
                    self.event(replica, PoolEvent::Tick);
                }
            }
            Happening::Maintenance(replica) => self.maintain(replica),
            Happening::RenewLease(replica) => self.renew_lease(replica),
            Happening::LeaseWatched { replica, renewed } => self.lease_watched(replica, renewed),
            Happening::Reconnected(replica) => {
                if let Some(replica) = self.replicas.get_mut(replica) {
                    replica.is_cut_off = false;
                    replica.renewed_at = self.now;
                }
                let live = |(number, replica): (usize, &Replica)| {
                    replica.is_alive.then(|| lease(number, replica.renewed_at))
                };
                let leases: Vec<_> = self.replicas.iter().enumerate().filter_map(live).collect();
                if let Some(replica) = self.replicas.get_mut(replica) {
                    replica.controller.replicas.replace(&leases, self.now);
                }
                self.list(replica);
            }
        }
    }

    /// Lets a replica decide, and carries out its decisions.
    pub(super) fn decide(
        &mut self,
        replica: usize,
        decide: impl FnOnce(&mut PodController, Moment, &mut Actions),
    ) {
        let now = self.now;
        let Some(decider) = self.replicas.get_mut(replica).filter(|it| it.is_alive) else {
            return;
        };
        decider.actions.now = now;
        let start = Instant::now();
        decide(&mut decider.controller, now, &mut decider.actions);
        // As the driver does after every message.
        let next = decider.controller.pools.next_tick();
        self.deciding += start.elapsed();
        self.report.decisions += 1;
        let actions = std::mem::take(&mut decider.actions.list);
        if let Some(next) = next {
            let next = next.max(now);
            let is_late = decider.wake_at.is_none_or(|at| at > next || at <= now);
            if is_late {
                decider.wake_at = Some(next);
                self.schedule
                    .at(next, Happening::Tick { replica, at: next });
            }
        }
        for action in actions {
            self.carry_out(replica, action);
        }
    }

    pub(super) fn event(&mut self, replica: usize, event: PoolEvent) {
        self.decide(replica, |controller, now, actions| {
            controller.handle(now, event, actions);
        });
    }

    fn carry_out(&mut self, replica: usize, action: Action) {
        let (command, seen) = match action {
            Action::Connect(pod) => {
                let time = self.random.around(CONNECT);
                return self.after(time, Happening::Connected { replica, pod });
            }
            Action::Command { command, seen } => (command, seen),
        };
        match (command, seen) {
            (PoolCommand::Start { request, .. }, Some(seen)) => self.start(replica, request, seen),
            (PoolCommand::Fail { request, .. }, _) => self.fail(replica, request),
            (PoolCommand::Create { pod, image, .. }, _) => {
                let index = self.server.name_pod(image, replica);
                if let Some(replica) = self.replicas.get_mut(replica) {
                    replica.controller.view.assign_own(pod, &pod_name(index));
                }
                self.submit(replica, Work::Create { pod, index });
            }
            (PoolCommand::Delete { pod }, Some(SeenPod { index, .. })) => {
                self.submit(replica, Work::Delete { pod, index });
            }
            (PoolCommand::Annotate { reclaim_in, .. }, Some(SeenPod { index, .. })) => {
                self.submit(replica, Work::Annotate { index, reclaim_in });
            }
            (PoolCommand::Adopt { pod }, Some(seen)) => {
                self.submit(replica, Work::Adopt { pod, seen });
            }
            (PoolCommand::Collect { pod }, Some(seen)) => {
                self.submit(replica, Work::Collect { pod, seen });
            }
            (PoolCommand::ProbeUsage { pod }, Some(SeenPod { index, .. })) => {
                let time = self.random.around(CONNECT);
                self.after(
                    time,
                    Happening::Probed {
                        replica,
                        pod,
                        index,
                    },
                );
            }
            (PoolCommand::RestoreService { .. }, _) => {
                self.submit(replica, Work::Service(ApiRequest::CreateService));
            }
            (PoolCommand::DeleteService { .. }, _) => {
                self.submit(replica, Work::Service(ApiRequest::DeleteService));
            }
            (
                PoolCommand::Check { .. }
                | PoolCommand::Release { .. }
                | PoolCommand::Forget { .. },
                _,
            ) => {}
            (
                PoolCommand::Start { .. }
                | PoolCommand::Delete { .. }
                | PoolCommand::Annotate { .. }
                | PoolCommand::Adopt { .. }
                | PoolCommand::Collect { .. }
                | PoolCommand::ProbeUsage { .. },
                None,
            ) => {}
        }
    }

    fn caller_acts(&mut self, number: usize) {
        if self.next_request >= self.options.calls {
            return;
        }
        let Some(caller) = self.callers.get_mut(number) else {
            return;
        };
        let (image, wait) = caller.act(&mut self.random);
        self.after(wait, Happening::Caller(number));
        if let Some(image) = image {
            self.report.calls += 1;
            self.call(number, image);
        }
    }

    /// Sends a call to the replica of a caller.
    fn call(&mut self, caller: usize, image: usize) {
        let replica = self.callers.get(caller).map_or(0, |caller| caller.replica);
        self.next_request += 1;
        self.running += 1;
        let request = RequestId(self.next_request);
        let key = self.images.get(image).cloned();
        let (Some(key), Some(receiver)) = (key, self.replicas.get_mut(replica)) else {
            return;
        };
        let call = SimulatedCall {
            caller,
            image,
            since: self.now,
            pod: None,
            died_with_pod: false,
        };
        receiver.calls.insert(request, call);
        let spec = receiver.spec();
        self.event(
            replica,
            PoolEvent::Request {
                request,
                image: key,
                spec,
            },
        );
    }

    fn start(&mut self, replica: usize, request: RequestId, seen: SeenPod) {
        let index = seen.index;
        let call = self
            .replicas
            .get_mut(replica)
            .and_then(|replica| replica.calls.get_mut(&request));
        let (Some(call), Some(pod)) = (call, self.server.pods.get_mut(index)) else {
            return;
        };
        call.pod = Some(index);
        pod.running += 1;
        if pod.stage == PodStage::Gone {
            return self.after(CONNECT, Happening::CallLost { replica, request });
        }
        let wait = self.now.since(call.since);
        if let Some((count, total, longest)) = self.waits.get_mut(call.image) {
            *count += 1;
            *total += wait;
            *longest = wait.max(*longest);
        }
        let time = self.random.around(CALL);
        self.after(time, Happening::CallEnds { replica, request });
    }

    fn call_ends(&mut self, replica: usize, request: RequestId) {
        if self.remove_call(replica, request).is_some() {
            self.event(replica, PoolEvent::Finished { request });
        }
    }

    /// Forgets a call, and returns its pod and caller.
    fn remove_call(&mut self, replica: usize, request: RequestId) -> Option<SimulatedCall> {
        let call = self.replicas.get_mut(replica)?.calls.remove(&request)?;
        self.running -= 1;
        if let Some(caller) = self.callers.get_mut(call.caller) {
            caller.running -= 1;
        }
        self.release_pod(&call);
        Some(call)
    }

    fn release_pod(&mut self, call: &SimulatedCall) {
        if let Some(pod) = call.pod.and_then(|pod| self.server.pods.get_mut(pod)) {
            pod.running = pod.running.saturating_sub(1);
            pod.last_call = self.now;
        }
    }

    /// The connection of a call has broken.
    fn lose_call(&mut self, replica: usize, request: RequestId) {
        let receiver = self.replicas.get_mut(replica);
        let call = receiver.and_then(|replica| replica.calls.get_mut(&request));
        let Some(call) = call else { return };
        call.died_with_pod = true;
        let pod = call.pod.take();
        if let Some(pod) = pod.and_then(|pod| self.server.pods.get_mut(pod)) {
            pod.running = pod.running.saturating_sub(1);
        }
        let fault = PodFault {
            reason: "ConnectionLost".into(),
            message: "".into(),
            scope: FaultScope::Pod,
        };
        self.report.died_with_pod += 1;
        self.event(
            replica,
            PoolEvent::CallLost {
                request,
                started: FunctionStarted::Maybe,
                fault,
            },
        );
    }

    /// A replica answers a call with an error.
    fn fail(&mut self, replica: usize, request: RequestId) {
        let Some(call) = self.remove_call(replica, request) else {
            return;
        };
        match (call.died_with_pod, call.pod) {
            (true, _) => {}
            (false, None) => self.report.without_pod += 1,
            (false, Some(_)) => self.report.lost += 1,
        }
        self.event(replica, PoolEvent::Finished { request });
    }

    pub(super) fn stage(&self, index: usize) -> PodStage {
        self.server
            .pods
            .get(index)
            .map_or(PodStage::Gone, |pod| pod.stage)
    }

    pub(super) fn version(&self, index: usize) -> u64 {
        self.server.pods.get(index).map_or(0, |pod| pod.version)
    }

    pub(super) fn ttl(&self, replica: usize) -> Duration {
        let replica = self.replicas.get(replica);
        replica.map_or(Duration::ZERO, |replica| replica.spec().settings.ttl)
    }

    /// Changes a pod; the watches report it.
    pub(super) fn change(&mut self, index: usize, stage: PodStage) {
        if let Some(pod) = self.server.pods.get_mut(index) {
            self.alive_pods += usize::from(pod.stage == PodStage::Named);
            self.alive_pods -= usize::from(stage == PodStage::Gone);
            pod.stage = stage;
        }
        self.report.most_pods = self.report.most_pods.max(self.alive_pods);
        if stage >= PodStage::Terminating {
            self.settle_orphan(index);
        }
        self.server.touch(index);
        self.after(WATCH, Happening::Watched(index));
    }

    pub(super) fn own(&mut self, index: usize, replica: usize) {
        if let Some(pod) = self.server.pods.get_mut(index) {
            pod.owner = replica;
        }
        self.settle_orphan(index);
        self.change(index, self.stage(index));
    }

    fn settle_orphan(&mut self, index: usize) {
        if let Some(since) = self.orphans.remove(&index) {
            self.adoptions.push(self.now.since(since));
        }
    }

    /// Begins to delete a pod; false if it does not exist.
    pub(super) fn delete_pod(&mut self, index: usize) -> bool {
        match self.stage(index) {
            PodStage::Named => {
                // Its creation is cancelled.
                if let Some(pod) = self.server.pods.get_mut(index) {
                    pod.stage = PodStage::Gone;
                }
                false
            }
            PodStage::Starting | PodStage::Ready => {
                self.change(index, PodStage::Terminating);
                let waited = Duration::ZERO;
                self.after(GRACE_STEP, Happening::PodGone { index, waited });
                true
            }
            PodStage::Terminating => true,
            PodStage::Gone => false,
        }
    }

    fn pod_gone(&mut self, index: usize, waited: Duration) {
        let running = self.server.pods.get(index).map_or(0, |pod| pod.running);
        if running > 0 && waited < GRACE {
            let waited = waited + GRACE_STEP;
            return self.after(GRACE_STEP, Happening::PodGone { index, waited });
        }
        self.report.lost += u64::from(running);
        self.change(index, PodStage::Gone);
    }

    /// All replicas that are connected learn the current state of a pod.
    fn watched(&mut self, index: usize) {
        let view = self.server.view(index);
        for replica in 0..self.replicas.len() {
            if self.replicas.get(replica).is_none_or(|it| it.is_cut_off) {
                continue;
            }
            let view = view.clone();
            self.decide(replica, |controller, now, actions| {
                let notices = match view {
                    Some(view) => controller.view.update_pod(view),
                    None => controller.view.remove_pod(&pod_name(index)),
                };
                controller.handle_notices(now, notices, actions);
            });
        }
    }

    fn list(&mut self, replica: usize) {
        let pods = self.server.list();
        if let Some(replica) = self.replicas.get_mut(replica) {
            replica.actions.now = self.now;
            replica.list(pods, self.now);
        }
        // Carries out what the list has led to.
        self.decide(replica, |_, _, _| ());
    }

    fn maintain(&mut self, replica: usize) {
        let Some(maintained) = self.replicas.get_mut(replica).filter(|it| it.is_alive) else {
            return;
        };
        self.schedule.at(
            self.now.after(LEASE_PERIOD / 3),
            Happening::Maintenance(replica),
        );
        if !maintained.is_cut_off {
            self.renew_lease(replica);
        } else if self.now.since(maintained.renewed_at) > LEASE_PERIOD && !maintained.is_stale {
            maintained.is_stale = true;
            return self.decide(replica, |controller, now, actions| {
                controller.stale(now, actions);
            });
        }
        self.decide(replica, |controller, now, actions| {
            controller.review_owners(now, actions);
        });
    }

    fn renew_lease(&mut self, replica: usize) {
        let Some(renewing) = self.replicas.get_mut(replica) else {
            return;
        };
        if !renewing.is_alive || renewing.is_cut_off {
            return;
        }
        if !self.server.accepts(self.now, ApiRequest::RenewLease) {
            return self.after(LEASE_PERIOD / 15, Happening::RenewLease(replica));
        }
        renewing.renewed_at = self.now;
        let renewed = self.now;
        self.after(WATCH, Happening::LeaseWatched { replica, renewed });
    }

    fn lease_watched(&mut self, renewed_by: usize, renewed: Moment) {
        let lease = lease(renewed_by, renewed);
        for replica in self
            .replicas
            .iter_mut()
            .filter(|replica| !replica.is_cut_off)
        {
            replica.controller.replicas.update(&lease, self.now);
        }
    }

    /// Replicas die, pods die and replicas are cut off, each when its share of the calls has begun.
    fn disturb(&mut self) {
        let calls = self.options.calls;
        let due = match self.stage {
            0 => calls / 2,
            1 => calls / 10 * 6,
            2 => calls / 4 * 3,
            _ => return,
        };
        if self.next_request < due {
            return;
        }
        self.stage += 1;
        match self.stage {
            1 => (0..self.options.dying).for_each(|replica| self.kill_replica(replica)),
            2 => self.kill_pods(),
            _ => {
                let live = (self.options.dying..self.replicas.len()).take(self.options.cut_off);
                for replica in live {
                    if let Some(replica) = self.replicas.get_mut(replica) {
                        replica.is_cut_off = true;
                    }
                    self.after(CUT_OFF, Happening::Reconnected(replica));
                }
            }
        }
    }

    /// A replica dies. Its callers connect to others, and repeat the calls that were running.
    fn kill_replica(&mut self, number: usize) {
        let Some(replica) = self.replicas.get_mut(number) else {
            return;
        };
        replica.is_alive = false;
        let calls = std::mem::take(&mut replica.calls);
        let others = self.options.dying..self.replicas.len();
        for caller in &mut self.callers {
            if caller.replica == number {
                caller.replica = others.start + self.random.below(others.len());
            }
        }
        for (index, pod) in self.server.pods.iter().enumerate() {
            let is_there = matches!(pod.stage, PodStage::Starting | PodStage::Ready);
            if pod.owner == number && is_there {
                self.orphans.insert(index, self.now);
            }
        }
        for call in calls.into_values() {
            self.running -= 1;
            self.release_pod(&call);
            self.report.repeated += 1;
            self.call(call.caller, call.image);
        }
    }

    /// Some pods die without a warning, as on a node that is lost.
    fn kill_pods(&mut self) {
        let ready =
            (0..self.server.pods.len()).filter(|index| self.stage(*index) == PodStage::Ready);
        let dying: Vec<usize> = ready.collect();
        let dying = dying.into_iter().step_by(DYING_PODS).collect::<Vec<_>>();
        for index in &dying {
            self.change(*index, PodStage::Gone);
        }
        for replica in 0..self.replicas.len() {
            let calls = self
                .replicas
                .get(replica)
                .into_iter()
                .flat_map(|it| &it.calls);
            let is_lost = |call: &SimulatedCall| call.pod.is_some_and(|pod| dying.contains(&pod));
            let lost: Vec<RequestId> = calls
                .filter(|(_, call)| is_lost(call))
                .map(|(request, _)| *request)
                .collect();
            for request in lost {
                self.lose_call(replica, request);
            }
        }
    }

    fn finish(mut self) -> MeasuredReport {
        let report = &mut self.report;
        report.virtual_time = self.now.0;
        report.requests = self.server.requests;
        report.refused = self.server.refused;
        let mut minutes = self.server.by_minute;
        minutes.sort_unstable();
        report.busiest_minute = minutes.last().copied().unwrap_or_default();
        report.median_minute = minutes.get(minutes.len() / 2).copied().unwrap_or_default();
        let called = self.waits.iter().filter(|(count, ..)| *count > 0);
        let mean = |(count, total, _): &(u64, Duration, Duration)| {
            *total / u32::try_from(*count).unwrap_or(u32::MAX)
        };
        report.shortest_wait = called.clone().map(mean).min().unwrap_or_default();
        report.longest_wait = called.clone().map(mean).max().unwrap_or_default();
        report.longest_single_wait = called
            .map(|(.., longest)| *longest)
            .max()
            .unwrap_or_default();
        self.adoptions.sort_unstable();
        report.orphans = self.adoptions.len() + self.orphans.len();
        report.never_adopted = self.orphans.len();
        let middle = self.adoptions.get(self.adoptions.len() / 2);
        report.median_adoption = middle.copied().unwrap_or_default();
        report.longest_adoption = self.adoptions.last().copied().unwrap_or_default();
        MeasuredReport {
            report: self.report,
            deciding: self.deciding,
        }
    }
}
