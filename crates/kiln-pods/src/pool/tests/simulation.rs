//! A simulated cluster with two images, callers, other replicas and an unreliable network.
//!
//! Commands for one pod are executed in order, those for different pods in any order. Watch events of a pod arrive in
//! order, results in any order, and both may be repeated. While the network is down no watch event arrives and no
//! command is executed; when it is up again, all watch events arrive first.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::super::{
    AdoptionTurn, FaultScope, FoundPod, FunctionStarted, ImageKey, Moment, PodId, PodOwner,
    PodPools, PodVersion, PoolCommand, PoolEvent, PoolSpec, RequestId,
};
use super::rule_checker::RuleChecker;
use super::{ORPHAN_GRACE, SCAN_INTERVAL, START_TIMEOUT, TTL, fault, spec, version};

pub(super) struct Simulation {
    now: Moment,
    pool: PodPools,
    checker: RuleChecker,
    images: Vec<(ImageKey, Arc<PoolSpec>)>,
    /// The highest limit there has been.
    most_pods: BTreeMap<ImageKey, usize>,
    pods: BTreeMap<PodId, RealPod>,
    /// Calls in flight and their pods.
    calls: BTreeMap<RequestId, PodId>,
    /// Requests whose guards have not been dropped.
    guards: Vec<RequestId>,
    next_request: u64,
    next_template: u64,
    is_partitioned: bool,
    is_draining: bool,
}

struct RealPod {
    image: ImageKey,
    life: Life,
    owner: Ownership,
    is_ready: bool,
    is_broken: bool,
    has_service: bool,
    /// Adopted beyond the limit, and not put to use since.
    is_retained: bool,
    commands: VecDeque<PoolCommand>,
    watch: VecDeque<PoolEvent>,
    answers: VecDeque<PoolEvent>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Life {
    NotMade,
    Alive,
    Terminating,
    Gone,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ownership {
    Ours,
    Orphaned,
    OtherReplica,
}

/// One step of a schedule: what happens, and two random numbers.
#[derive(Clone, Copy)]
pub(super) struct Step(pub(super) u8, pub(super) u8, pub(super) u8);

impl fmt::Debug for Step {
    /// On one line, so that a schedule is readable, and as code, so that it can be run again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Step({}, {}, {})", self.0, self.1, self.2)
    }
}

impl Simulation {
    /// Two images, some pods from before a restart, and working watches.
    pub(super) fn new(dice: u8) -> Simulation {
        let of = |bits: u8| {
            spec(
                1 + usize::from(bits % 3),
                1 + usize::from(bits / 3 % 3),
                "0",
            )
        };
        let images = vec![
            (ImageKey::new("a"), of(dice)),
            (ImageKey::new("b"), of(dice / 9)),
        ];
        let mut checker = RuleChecker::new();
        checker.model.images = images.iter().cloned().collect();
        let mut simulation = Simulation {
            now: Moment::default(),
            pool: PodPools::new(SCAN_INTERVAL, ORPHAN_GRACE),
            checker,
            most_pods: images
                .iter()
                .map(|(image, spec)| (image.clone(), spec.settings.max_pods.get()))
                .collect(),
            images,
            pods: BTreeMap::new(),
            calls: BTreeMap::new(),
            guards: Vec::new(),
            next_request: 0,
            next_template: 0,
            is_partitioned: false,
            is_draining: false,
        };
        for _ in 0..dice / 81 {
            simulation.find(usize::from(dice), Ownership::Ours, dice);
        }
        for most in simulation.most_pods.values_mut() {
            *most = (*most).max(simulation.pods.len());
        }
        simulation.heal();
        simulation
    }

    pub(super) fn step(&mut self, Step(what, first, second): Step) {
        self.now = self.now.after(Duration::from_millis(u64::from(second)));
        let index = usize::from(first);
        match what % 64 {
            0..=11 => self.request(index),
            12..=17 => self.end_call(index),
            18..=19 => self.give_up(index),
            20..=21 => self.lose_call(index, second),
            22..=31 => drop(self.deliver(index, second)),
            32..=40 => drop(self.carry_out(index, second)),
            41..=47 => self.pod_becomes_ready(index),
            48..=49 => self.pod_breaks(index, second),
            50 => self.pod_unready(index),
            51..=52 => self.pod_is_deleted(index, second),
            53 => self.service_is_deleted(index),
            54 => self.find(index, Ownership::Orphaned, second),
            55 => self.other_replica(index),
            56 => self.change_spec(index, second),
            57 => self.partition_or_heal(),
            58 => self.warm_up(index),
            59 if second > 230 => self.drain(),
            59..=61 => self.tick(Duration::from_secs(u64::from(second))),
            _ => self.tick(Duration::from_secs(1)),
        }
    }

    /// Lets all work finish, and checks that nothing is left over.
    pub(super) fn settle_and_check(&mut self) {
        self.heal();
        self.run_until_quiet();
        assert!(
            self.calls.is_empty() && self.guards.is_empty(),
            "lost: requests without a result"
        );
        if self.is_draining {
            let kept = |pod: &RealPod| pod.life == Life::Alive && pod.owner == Ownership::Ours;
            assert!(
                !self.pods.values().any(kept),
                "drain: a pod is not released"
            );
            return;
        }
        let mut waited = Duration::ZERO;
        let end = TTL + TTL + SCAN_INTERVAL + SCAN_INTERVAL + START_TIMEOUT + ORPHAN_GRACE;
        while waited <= end {
            waited += SCAN_INTERVAL;
            self.tick(SCAN_INTERVAL);
            self.run_until_quiet();
        }
        assert_eq!(self.pool.images().count(), 0, "ttl: a pool is left over");
        assert_eq!(self.pool.next_tick(), None, "ttl: a timer is left over");
        for (id, pod) in &self.pods {
            let is_left = pod.life == Life::Alive && pod.owner != Ownership::OtherReplica;
            assert!(!is_left, "ttl: pod {id} is left over");
            let is_orphaned = pod.owner == Ownership::Ours && pod.has_service;
            assert!(!is_orphaned, "service: that of pod {id} is left over");
        }
    }

    fn run_until_quiet(&mut self) {
        for _ in 0..100 {
            for index in 0..self.pods.len() {
                self.pod_becomes_ready(index);
                self.pod_is_gone(index);
                while self.carry_out(index, 0) {}
            }
            while self.deliver(0, 0) {}
            while !self.calls.is_empty() {
                self.end_call(0);
            }
            // Callers whose requests have failed go away.
            let guards: Vec<RequestId> = self.guards.clone();
            for request in guards {
                if !self.checker.is_waiting(request) {
                    self.drop_guard(request);
                }
            }
            let is_quiet = self.pods.values().all(RealPod::is_quiet);
            if is_quiet && self.guards.is_empty() {
                return;
            }
        }
        panic!("lost: {:?} are still waiting", self.guards);
    }

    fn handle(&mut self, mut event: PoolEvent) {
        if let PoolEvent::Found(found) = &mut event {
            // The driver passes the newest spec.
            let newest = self.images.iter().find(|(key, _)| *key == found.image);
            found.spec = newest.map_or_else(|| found.spec.clone(), |(_, spec)| spec.clone());
        }
        let commands = self.checker.handle(&mut self.pool, self.now, event);
        for command in commands {
            self.take(command);
        }
    }

    /// Accepts a command for execution.
    fn take(&mut self, command: PoolCommand) {
        match command {
            PoolCommand::Start { request, pod } => {
                self.calls.insert(request, pod);
            }
            PoolCommand::Fail { request, .. } => {
                self.calls.remove(&request);
            }
            PoolCommand::Create { pod, ref image, .. } => {
                let mut real = RealPod::new(image.clone(), Life::NotMade, Ownership::Ours);
                real.commands.push_back(command);
                self.pods.insert(pod, real);
            }
            PoolCommand::Check { pod }
            | PoolCommand::RestoreService { pod }
            | PoolCommand::DeleteService { pod }
            | PoolCommand::Delete { pod }
            | PoolCommand::Annotate { pod, .. }
            | PoolCommand::Adopt { pod }
            | PoolCommand::Collect { pod }
            | PoolCommand::ProbeUsage { pod }
            | PoolCommand::Release { pod } => {
                if let Some(real) = self.pods.get_mut(&pod) {
                    if let PoolCommand::Check { .. } = command {
                        real.is_retained = false;
                    }
                    real.commands.push_back(command);
                }
            }
            PoolCommand::Forget { .. } => {}
        }
    }

    fn request(&mut self, index: usize) {
        let (image, spec) = self.images[index % self.images.len()].clone();
        self.next_request += 1;
        let request = RequestId(self.next_request);
        self.guards.push(request);
        self.handle(PoolEvent::Request {
            request,
            image,
            spec,
        });
    }

    fn drop_guard(&mut self, request: RequestId) {
        self.guards.retain(|guard| *guard != request);
        self.calls.remove(&request);
        self.handle(PoolEvent::Finished { request });
    }

    fn end_call(&mut self, index: usize) {
        if let Some(request) = nth(self.calls.keys(), index) {
            self.drop_guard(request);
        }
    }

    fn give_up(&mut self, index: usize) {
        if let Some(request) = nth(self.guards.iter(), index) {
            self.drop_guard(request);
        }
    }

    fn lose_call(&mut self, index: usize, dice: u8) {
        let Some(request) = nth(self.calls.keys(), index) else {
            return;
        };
        self.calls.remove(&request);
        let started = match dice % 2 {
            0 => FunctionStarted::No,
            _ => FunctionStarted::Maybe,
        };
        self.handle(PoolEvent::CallLost {
            request,
            started,
            fault: fault(FaultScope::Pod),
        });
    }

    /// Delivers an event; returns whether there was one.
    fn deliver(&mut self, index: usize, dice: u8) -> bool {
        let is_partitioned = self.is_partitioned;
        let has_events =
            |pod: &RealPod| !pod.answers.is_empty() || !(pod.watch.is_empty() || is_partitioned);
        let with_events: Vec<PodId> = ids(&self.pods, has_events);
        let Some(id) = nth(with_events.iter(), index) else {
            return false;
        };
        let Some(pod) = self.pods.get_mut(&id) else {
            return false;
        };
        let by_watch = !is_partitioned && (pod.answers.is_empty() || dice & 1 == 1);
        let stream = match by_watch && !pod.watch.is_empty() {
            true => &mut pod.watch,
            false => &mut pod.answers,
        };
        let Some(event) = stream.pop_front() else {
            return false;
        };
        if dice % 5 == 4 {
            self.handle(event.clone());
        }
        self.handle(event);
        true
    }

    /// Executes the next command of a pod; returns whether there was one.
    fn carry_out(&mut self, index: usize, dice: u8) -> bool {
        let busy = ids(&self.pods, |pod| !pod.commands.is_empty());
        let Some(id) = nth(busy.iter(), index) else {
            return false;
        };
        let can_fail = dice % 8;
        let is_down = self.is_partitioned;
        let Some(pod) = self.pods.get_mut(&id) else {
            return false;
        };
        let Some(command) = pod.commands.pop_front() else {
            return false;
        };
        match command {
            PoolCommand::Create { spec, image, .. } => {
                if is_down || can_fail == 7 {
                    let scope = if dice & 8 == 0 {
                        FaultScope::Image
                    } else {
                        FaultScope::Pod
                    };
                    let fault = fault(scope);
                    pod.answers
                        .push_back(PoolEvent::CreateFailed { pod: id, fault });
                    return true;
                }
                // The template is read when the pod is created, which may be later than the command.
                let newest = self.images.iter().find(|(key, _)| *key == image);
                let newest = newest.map_or(&spec, |(_, spec)| spec);
                let made_of = if dice & 16 == 0 { &spec } else { newest };
                pod.life = Life::Alive;
                pod.has_service = true;
                pod.answers.push_back(PoolEvent::Created {
                    pod: id,
                    version: made_of.version.clone(),
                });
                self.check_limit(&image);
            }
            PoolCommand::Check { .. } => {
                let event = match pod.life {
                    Life::Alive if pod.is_broken => PoolEvent::Failed {
                        pod: id,
                        fault: fault(FaultScope::Image),
                    },
                    Life::Alive if pod.is_ready && pod.has_service => PoolEvent::Ready { pod: id },
                    Life::Alive if !pod.has_service => PoolEvent::ServiceGone { pod: id },
                    Life::Gone => PoolEvent::Gone { pod: id },
                    _ => return true,
                };
                pod.answers.push_back(event);
            }
            PoolCommand::ProbeUsage { .. } => {
                let idle = match dice % 4 {
                    0 => Some(TTL * 2),
                    1 => None,
                    2 => Some(ORPHAN_GRACE),
                    _ => Some(Duration::ZERO),
                };
                pod.answers
                    .push_back(PoolEvent::UsageProbed { pod: id, idle });
            }
            // The API server is unreachable: the command is retried.
            _ if is_down => {
                pod.commands.push_front(command);
                return false;
            }
            PoolCommand::RestoreService { .. } => {
                pod.has_service = pod.life == Life::Alive;
                if pod.is_ready {
                    pod.watch.push_back(PoolEvent::Ready { pod: id });
                }
            }
            PoolCommand::DeleteService { .. } => pod.has_service = false,
            PoolCommand::Delete { .. } => self.delete(id, Ownership::Ours),
            PoolCommand::Collect { .. } => self.delete(id, Ownership::Orphaned),
            PoolCommand::Adopt { .. } => {
                let event = match (pod.life, pod.owner) {
                    (Life::Alive, Ownership::Orphaned | Ownership::Ours) => {
                        PoolEvent::Adopted { pod: id }
                    }
                    (Life::Gone | Life::Terminating, _) => PoolEvent::Gone { pod: id },
                    _ => PoolEvent::Disowned { pod: id },
                };
                pod.answers.push_back(event.clone());
                if let (PoolEvent::Adopted { .. }, Ownership::Orphaned) = (event, pod.owner) {
                    pod.owner = Ownership::Ours;
                    pod.is_retained = self.checker.is_retained(id);
                }
            }
            PoolCommand::Release { .. } => pod.owner = Ownership::Orphaned,
            _ => {}
        }
        true
    }

    fn delete(&mut self, id: PodId, must_be: Ownership) {
        assert!(
            !self.calls.values().any(|pod| *pod == id),
            "calls: {id} is deleted with calls"
        );
        let Some(pod) = self.pods.get_mut(&id) else {
            return;
        };
        match pod.life {
            Life::NotMade | Life::Gone => {
                pod.has_service = false;
                pod.answers.push_back(PoolEvent::Gone { pod: id });
            }
            _ if pod.owner != must_be => pod.answers.push_back(PoolEvent::Disowned { pod: id }),
            Life::Alive => {
                pod.life = Life::Terminating;
                pod.has_service = false;
                pod.watch.push_back(PoolEvent::Terminating { pod: id });
            }
            Life::Terminating => pod.has_service = false,
        }
    }

    /// However late commands are executed, there are never more pods than the highest limit.
    fn check_limit(&self, image: &ImageKey) {
        let ours = self.pods.values().filter(|pod| {
            let is_ours = pod.life == Life::Alive && pod.owner == Ownership::Ours;
            pod.image == *image && is_ours && !pod.is_retained
        });
        let most = self.most_pods[image];
        assert!(
            ours.count() <= most,
            "limit: more than {most} pods of {image}"
        );
    }

    fn pod_becomes_ready(&mut self, index: usize) {
        self.change_pod(index, |id, pod| {
            if pod.life == Life::Alive && !pod.is_broken && !pod.is_ready {
                pod.is_ready = true;
                if pod.has_service {
                    pod.watch.push_back(PoolEvent::Ready { pod: id });
                }
            }
        });
    }

    fn pod_unready(&mut self, index: usize) {
        self.change_pod(index, |id, pod| {
            if pod.is_ready {
                pod.is_ready = false;
                pod.watch.push_back(PoolEvent::Unready { pod: id });
            }
        });
    }

    fn pod_breaks(&mut self, index: usize, dice: u8) {
        let scope = if dice & 1 == 0 {
            FaultScope::Image
        } else {
            FaultScope::Pod
        };
        self.change_pod(index, |id, pod| {
            if pod.life == Life::Alive && !pod.is_broken {
                pod.is_broken = true;
                pod.is_ready = false;
                let fault = fault(scope);
                pod.watch.push_back(PoolEvent::Failed { pod: id, fault });
            }
        });
    }

    fn pod_is_deleted(&mut self, index: usize, dice: u8) {
        self.change_pod(index, |id, pod| {
            if pod.life == Life::Alive && dice & 1 == 0 {
                pod.life = Life::Terminating;
                pod.watch.push_back(PoolEvent::Terminating { pod: id });
            } else if let Life::Alive | Life::Terminating = pod.life {
                pod.go(id);
            }
        });
    }

    fn pod_is_gone(&mut self, index: usize) {
        self.change_pod(index, |id, pod| {
            if pod.life == Life::Terminating {
                pod.go(id);
            }
        });
    }

    fn service_is_deleted(&mut self, index: usize) {
        self.change_pod(index, |id, pod| {
            if pod.life == Life::Alive && pod.has_service {
                pod.has_service = false;
                pod.watch.push_back(PoolEvent::ServiceGone { pod: id });
            }
        });
    }

    /// Adds a pod that this process has not created.
    fn find(&mut self, index: usize, owner: Ownership, dice: u8) {
        let (image, spec) = self.images[index % self.images.len()].clone();
        let id = self.pool.next_pod_id();
        let mut pod = RealPod::new(image.clone(), Life::Alive, owner);
        pod.has_service = true;
        pod.is_ready = dice & 2 == 0;
        pod.watch.push_back(PoolEvent::Found(FoundPod {
            pod: id,
            image,
            version: match dice % 4 {
                0 => version("older"),
                _ => spec.version.clone(),
            },
            spec,
            owner: match owner {
                Ownership::Ours => PodOwner::Ours,
                _ if dice & 64 == 0 => PodOwner::Released,
                _ => PodOwner::LeaseExpired,
            },
            reclaim_in: match dice % 3 {
                0 => None,
                1 => Some(Duration::ZERO),
                _ => Some(TTL / 2),
            },
            turn: AdoptionTurn {
                before: u32::from(dice % 7),
                replicas: 7,
            },
        }));
        if pod.is_ready {
            pod.watch.push_back(PoolEvent::Ready { pod: id });
        }
        self.pods.insert(id, pod);
    }

    /// Another replica adopts an orphan, or one of our pods if our lease has expired.
    fn other_replica(&mut self, index: usize) {
        let is_partitioned = self.is_partitioned;
        self.change_pod(index, |id, pod| {
            let may = match pod.owner {
                Ownership::Orphaned => true,
                Ownership::Ours => is_partitioned,
                Ownership::OtherReplica => false,
            };
            if may && pod.life == Life::Alive {
                pod.owner = Ownership::OtherReplica;
                pod.watch.push_back(PoolEvent::Disowned { pod: id });
            }
        });
    }

    fn change_spec(&mut self, index: usize, dice: u8) {
        let index = index % self.images.len();
        let Some((image, old)) = self.images.get_mut(index) else {
            return;
        };
        let mut new = PoolSpec::clone(old);
        match dice % 3 {
            0 => {
                self.next_template += 1;
                new.version = version(&self.next_template.to_string());
            }
            1 => {
                new.version = PodVersion {
                    digest: None,
                    ..new.version
                };
            }
            _ => {
                let other = spec(1 + usize::from(dice % 4), 1 + usize::from(dice / 4 % 3), "");
                new.settings = other.settings;
            }
        }
        if let Some(most) = self.most_pods.get_mut(image) {
            *most = (*most).max(new.settings.max_pods.get());
        }
        *old = Arc::new(new);
        let (image, spec) = (image.clone(), Arc::clone(old));
        self.handle(PoolEvent::SpecChanged { image, spec });
    }

    fn partition_or_heal(&mut self) {
        if self.is_partitioned {
            self.heal();
        } else {
            self.is_partitioned = true;
            self.handle(PoolEvent::Stale);
        }
    }

    fn heal(&mut self) {
        self.is_partitioned = false;
        for id in ids(&self.pods, |pod| !pod.watch.is_empty()) {
            while let Some(event) = self.pods.get_mut(&id).and_then(|pod| pod.watch.pop_front()) {
                self.handle(event);
            }
        }
        self.handle(PoolEvent::Fresh);
    }

    fn warm_up(&mut self, index: usize) {
        let (image, spec) = self.images[index % self.images.len()].clone();
        self.handle(PoolEvent::WarmUp { image, spec });
    }

    fn drain(&mut self) {
        self.is_draining = true;
        self.handle(PoolEvent::Drain);
    }

    fn tick(&mut self, after: Duration) {
        self.now = self.now.after(after);
        self.handle(PoolEvent::Tick);
    }

    fn change_pod(&mut self, index: usize, change: impl FnOnce(PodId, &mut RealPod)) {
        if let Some(id) = nth(self.pods.keys(), index)
            && let Some(pod) = self.pods.get_mut(&id)
        {
            change(id, pod);
        }
    }
}

impl RealPod {
    fn new(image: ImageKey, life: Life, owner: Ownership) -> RealPod {
        RealPod {
            image,
            life,
            owner,
            is_ready: false,
            is_broken: false,
            has_service: false,
            is_retained: false,
            commands: VecDeque::new(),
            watch: VecDeque::new(),
            answers: VecDeque::new(),
        }
    }

    fn go(&mut self, id: PodId) {
        self.life = Life::Gone;
        self.is_ready = false;
        self.watch.push_back(PoolEvent::Gone { pod: id });
    }

    /// Whether there are no commands and no events.
    fn is_quiet(&self) -> bool {
        let is_settled = match self.life {
            Life::Alive => self.is_ready || self.is_broken,
            Life::Terminating => false,
            Life::NotMade | Life::Gone => true,
        };
        is_settled && self.commands.is_empty() && self.watch.is_empty() && self.answers.is_empty()
    }
}

/// The item at `index` modulo the number of items.
fn nth<'a, T: Copy + 'a>(items: impl ExactSizeIterator<Item = &'a T>, index: usize) -> Option<T> {
    let mut items = items;
    let count = items.len();
    let index = index.checked_rem(count)?;
    items.nth(index).copied()
}

fn ids(pods: &BTreeMap<PodId, RealPod>, which: impl Fn(&RealPod) -> bool) -> Vec<PodId> {
    let chosen = pods.iter().filter(|(_, pod)| which(pod));
    chosen.map(|(id, _)| *id).collect()
}
