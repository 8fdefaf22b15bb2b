//! A Kubernetes of two images in memory, with callers, other replicas and an unreliable network.
//!
//! Commands about a pod are carried out in order, those about different pods in any. What watches say about a pod comes in
//! order, what answers say comes when it likes, and either may come twice. While the network is down nothing is heard and
//! nothing can be done; when it is up again, everything is heard first.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::super::{
    Command, Event, Found, ImageKey, Lasts, Moment, Owner, Plan, PodId, Pool, RequestId, Started,
    Version,
};
use super::judge::Judge;
use super::{ORPHAN_GRACE, SCAN_INTERVAL, START_TIMEOUT, TTL, fault, plan, version};

pub(super) struct World {
    now: Moment,
    pool: Pool,
    judge: Judge,
    images: Vec<(ImageKey, Arc<Plan>)>,
    /// How many pods were ever allowed.
    most_pods: BTreeMap<ImageKey, usize>,
    pods: BTreeMap<PodId, RealPod>,
    /// Calls that run, and where.
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
    owner: Whose,
    is_ready: bool,
    is_broken: bool,
    has_service: bool,
    /// Adopted when there were as many as are allowed, and not put to use since.
    is_extra: bool,
    commands: VecDeque<Command>,
    watch: VecDeque<Event>,
    answers: VecDeque<Event>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Life {
    NotMade,
    Alive,
    Terminating,
    Gone,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Whose {
    Ours,
    Nobodys,
    Anothers,
}

/// One thing that happens: what, and two dice.
#[derive(Clone, Copy)]
pub(super) struct Step(pub(super) u8, pub(super) u8, pub(super) u8);

impl fmt::Debug for Step {
    /// On one line, so that a schedule can be read, and as code, so that it can be tried again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Step({}, {}, {})", self.0, self.1, self.2)
    }
}

impl World {
    /// A world with two images, some pods from before a restart, and watches that are up.
    pub(super) fn new(dice: u8) -> World {
        let of = |bits: u8| {
            plan(
                1 + usize::from(bits % 3),
                1 + usize::from(bits / 3 % 3),
                "0",
            )
        };
        let images = vec![
            (ImageKey::new("a"), of(dice)),
            (ImageKey::new("b"), of(dice / 9)),
        ];
        let mut judge = Judge::new();
        judge.told.images = images.iter().cloned().collect();
        let mut world = World {
            now: Moment::default(),
            pool: Pool::new(SCAN_INTERVAL, ORPHAN_GRACE),
            judge,
            most_pods: images
                .iter()
                .map(|(image, plan)| (image.clone(), plan.settings.max_pods.get()))
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
            world.find(usize::from(dice), Whose::Ours, dice);
        }
        for most in world.most_pods.values_mut() {
            *most = (*most).max(world.pods.len());
        }
        world.heal();
        world
    }

    /// Lets one thing happen.
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
            54 => self.find(index, Whose::Nobodys, second),
            55 => self.other_replica(index),
            56 => self.replan(index, second),
            57 => self.partition_or_heal(),
            58 => self.warm_up(index),
            59 if second > 230 => self.drain(),
            59..=61 => self.tick(Duration::from_secs(u64::from(second))),
            _ => self.tick(Duration::from_secs(1)),
        }
    }

    /// Lets everything come to rest, and looks whether anything is left over that should not be.
    pub(super) fn come_to_rest(&mut self) {
        self.heal();
        self.calm_down();
        assert!(
            self.calls.is_empty() && self.guards.is_empty(),
            "lost: some never got an answer"
        );
        if self.is_draining {
            let kept = |pod: &RealPod| pod.life == Life::Alive && pod.owner == Whose::Ours;
            assert!(
                !self.pods.values().any(kept),
                "drain: a pod is not given back"
            );
            return;
        }
        let mut waited = Duration::ZERO;
        let end = TTL + TTL + SCAN_INTERVAL + SCAN_INTERVAL + START_TIMEOUT + ORPHAN_GRACE;
        while waited <= end {
            waited += SCAN_INTERVAL;
            self.tick(SCAN_INTERVAL);
            self.calm_down();
        }
        assert_eq!(
            self.pool.images().count(),
            0,
            "ttl: something is remembered"
        );
        assert_eq!(self.pool.next_tick(), None, "ttl: something is waited for");
        for (id, pod) in &self.pods {
            let is_left = pod.life == Life::Alive && pod.owner != Whose::Anothers;
            assert!(!is_left, "ttl: pod {id} is left over");
            let is_orphaned = pod.owner == Whose::Ours && pod.has_service;
            assert!(!is_orphaned, "service: that of pod {id} is left over");
        }
    }

    fn calm_down(&mut self) {
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
            // Those who were told that there is no answer go away.
            let told: Vec<RequestId> = self.guards.clone();
            for request in told {
                if !self.judge.is_waiting(request) {
                    self.drop_guard(request);
                }
            }
            let is_quiet = self.pods.values().all(RealPod::is_quiet);
            if is_quiet && self.guards.is_empty() {
                return;
            }
        }
        panic!("lost: no rest, {:?} still wait", self.guards);
    }

    fn tell(&mut self, mut event: Event) {
        if let Event::Found(found) = &mut event {
            // What is wanted is known best by whoever hands the event over.
            let newest = self.images.iter().find(|(key, _)| *key == found.image);
            found.plan = newest.map_or_else(|| found.plan.clone(), |(_, plan)| plan.clone());
        }
        let commands = self.judge.handle(&mut self.pool, self.now, event);
        for command in commands {
            self.take(command);
        }
    }

    /// Somebody is to do something.
    fn take(&mut self, command: Command) {
        match command {
            Command::Start { request, pod } => {
                self.calls.insert(request, pod);
            }
            Command::Fail { request, .. } => {
                self.calls.remove(&request);
            }
            Command::Create { pod, ref image, .. } => {
                let mut real = RealPod::new(image.clone(), Life::NotMade, Whose::Ours);
                real.commands.push_back(command);
                self.pods.insert(pod, real);
            }
            Command::Check { pod }
            | Command::RestoreService { pod }
            | Command::DeleteService { pod }
            | Command::Delete { pod }
            | Command::Annotate { pod, .. }
            | Command::Adopt { pod }
            | Command::Collect { pod }
            | Command::Ask { pod }
            | Command::Release { pod } => {
                if let Some(real) = self.pods.get_mut(&pod) {
                    if let Command::Check { .. } = command {
                        real.is_extra = false;
                    }
                    real.commands.push_back(command);
                }
            }
            Command::Forget { .. } => {}
        }
    }

    fn request(&mut self, index: usize) {
        let (image, plan) = self.images[index % self.images.len()].clone();
        self.next_request += 1;
        let request = RequestId(self.next_request);
        self.guards.push(request);
        self.tell(Event::Request {
            request,
            image,
            plan,
        });
    }

    fn drop_guard(&mut self, request: RequestId) {
        self.guards.retain(|guard| *guard != request);
        self.calls.remove(&request);
        self.tell(Event::Over { request });
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
            0 => Started::No,
            _ => Started::Maybe,
        };
        self.tell(Event::Lost {
            request,
            started,
            fault: fault(Lasts::No),
        });
    }

    /// Lets something be heard; says whether there was anything.
    fn deliver(&mut self, index: usize, dice: u8) -> bool {
        let is_partitioned = self.is_partitioned;
        let speaks =
            |pod: &RealPod| !pod.answers.is_empty() || !(pod.watch.is_empty() || is_partitioned);
        let speaking: Vec<PodId> = ids(&self.pods, speaks);
        let Some(id) = nth(speaking.iter(), index) else {
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
            self.tell(event.clone());
        }
        self.tell(event);
        true
    }

    /// Lets the next command of a pod be carried out; says whether there was one.
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
            Command::Create { plan, image, .. } => {
                if is_down || can_fail == 7 {
                    let lasts = if dice & 8 == 0 { Lasts::Yes } else { Lasts::No };
                    let fault = fault(lasts);
                    pod.answers.push_back(Event::NotCreated { pod: id, fault });
                    return true;
                }
                // The template is looked at when the pod is made, which may be a while after the command.
                let newest = self.images.iter().find(|(key, _)| *key == image);
                let newest = newest.map_or(&plan, |(_, plan)| plan);
                let made_of = if dice & 16 == 0 { &plan } else { newest };
                pod.life = Life::Alive;
                pod.has_service = true;
                pod.answers.push_back(Event::Created {
                    pod: id,
                    version: made_of.version.clone(),
                });
                self.check_limit(&image);
            }
            Command::Check { .. } => {
                let event = match pod.life {
                    Life::Alive if pod.is_broken => Event::Failed {
                        pod: id,
                        fault: fault(Lasts::Yes),
                    },
                    Life::Alive if pod.is_ready && pod.has_service => Event::Ready { pod: id },
                    Life::Alive if !pod.has_service => Event::ServiceGone { pod: id },
                    Life::Gone => Event::Gone { pod: id },
                    _ => return true,
                };
                pod.answers.push_back(event);
            }
            Command::Ask { .. } => {
                let idle = match dice % 4 {
                    0 => Some(TTL * 2),
                    1 => None,
                    2 => Some(ORPHAN_GRACE),
                    _ => Some(Duration::ZERO),
                };
                pod.answers.push_back(Event::Used { pod: id, idle });
            }
            // Nothing reaches the API server: it is tried again.
            _ if is_down => {
                pod.commands.push_front(command);
                return false;
            }
            Command::RestoreService { .. } => {
                pod.has_service = pod.life == Life::Alive;
                if pod.is_ready {
                    pod.watch.push_back(Event::Ready { pod: id });
                }
            }
            Command::DeleteService { .. } => pod.has_service = false,
            Command::Delete { .. } => self.delete(id, Whose::Ours),
            Command::Collect { .. } => self.delete(id, Whose::Nobodys),
            Command::Adopt { .. } => {
                let event = match (pod.life, pod.owner) {
                    (Life::Alive, Whose::Nobodys | Whose::Ours) => Event::Adopted { pod: id },
                    (Life::Gone | Life::Terminating, _) => Event::Gone { pod: id },
                    _ => Event::Disowned { pod: id },
                };
                pod.answers.push_back(event.clone());
                if let (Event::Adopted { .. }, Whose::Nobodys) = (event, pod.owner) {
                    pod.owner = Whose::Ours;
                    pod.is_extra = self.judge.is_extra(id);
                }
            }
            Command::Release { .. } => pod.owner = Whose::Nobodys,
            _ => {}
        }
        true
    }

    fn delete(&mut self, id: PodId, must_be: Whose) {
        assert!(
            !self.calls.values().any(|pod| *pod == id),
            "work: {id} is deleted with work"
        );
        let Some(pod) = self.pods.get_mut(&id) else {
            return;
        };
        match pod.life {
            Life::NotMade | Life::Gone => {
                pod.has_service = false;
                pod.answers.push_back(Event::Gone { pod: id });
            }
            _ if pod.owner != must_be => pod.answers.push_back(Event::Disowned { pod: id }),
            Life::Alive => {
                pod.life = Life::Terminating;
                pod.has_service = false;
                pod.watch.push_back(Event::Terminating { pod: id });
            }
            Life::Terminating => pod.has_service = false,
        }
    }

    /// However late commands are carried out, there are never more pods than were allowed at any time.
    fn check_limit(&self, image: &ImageKey) {
        let ours = self.pods.values().filter(|pod| {
            let is_ours = pod.life == Life::Alive && pod.owner == Whose::Ours;
            pod.image == *image && is_ours && !pod.is_extra
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
                    pod.watch.push_back(Event::Ready { pod: id });
                }
            }
        });
    }

    fn pod_unready(&mut self, index: usize) {
        self.change_pod(index, |id, pod| {
            if pod.is_ready {
                pod.is_ready = false;
                pod.watch.push_back(Event::Unready { pod: id });
            }
        });
    }

    fn pod_breaks(&mut self, index: usize, dice: u8) {
        let lasts = if dice & 1 == 0 { Lasts::Yes } else { Lasts::No };
        self.change_pod(index, |id, pod| {
            if pod.life == Life::Alive && !pod.is_broken {
                pod.is_broken = true;
                pod.is_ready = false;
                let fault = fault(lasts);
                pod.watch.push_back(Event::Failed { pod: id, fault });
            }
        });
    }

    fn pod_is_deleted(&mut self, index: usize, dice: u8) {
        self.change_pod(index, |id, pod| {
            if pod.life == Life::Alive && dice & 1 == 0 {
                pod.life = Life::Terminating;
                pod.watch.push_back(Event::Terminating { pod: id });
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
                pod.watch.push_back(Event::ServiceGone { pod: id });
            }
        });
    }

    /// A pod is there that this process has not made.
    fn find(&mut self, index: usize, owner: Whose, dice: u8) {
        let (image, plan) = self.images[index % self.images.len()].clone();
        let id = self.pool.name_found_pod();
        let mut pod = RealPod::new(image.clone(), Life::Alive, owner);
        pod.has_service = true;
        pod.is_ready = dice & 2 == 0;
        pod.watch.push_back(Event::Found(Found {
            pod: id,
            image,
            version: match dice % 4 {
                0 => version("older"),
                _ => plan.version.clone(),
            },
            plan,
            owner: match owner {
                Whose::Ours => Owner::Ours,
                _ if dice & 64 == 0 => Owner::GivenBack,
                _ => Owner::Nobody,
            },
            reclaim_in: match dice % 3 {
                0 => None,
                1 => Some(Duration::ZERO),
                _ => Some(TTL / 2),
            },
        }));
        if pod.is_ready {
            pod.watch.push_back(Event::Ready { pod: id });
        }
        self.pods.insert(id, pod);
    }

    /// Another replica takes what is nobody's, or what is ours when we could not renew our lease.
    fn other_replica(&mut self, index: usize) {
        let is_partitioned = self.is_partitioned;
        self.change_pod(index, |id, pod| {
            let may = match pod.owner {
                Whose::Nobodys => true,
                Whose::Ours => is_partitioned,
                Whose::Anothers => false,
            };
            if may && pod.life == Life::Alive {
                pod.owner = Whose::Anothers;
                pod.watch.push_back(Event::Disowned { pod: id });
            }
        });
    }

    fn replan(&mut self, index: usize, dice: u8) {
        let place = index % self.images.len();
        let Some((image, old)) = self.images.get_mut(place) else {
            return;
        };
        let mut new = Plan::clone(old);
        match dice % 3 {
            0 => {
                self.next_template += 1;
                new.version = version(&self.next_template.to_string());
            }
            1 => {
                new.version = Version {
                    digest: None,
                    ..new.version
                };
            }
            _ => {
                let other = plan(1 + usize::from(dice % 4), 1 + usize::from(dice / 4 % 3), "");
                new.settings = other.settings;
            }
        }
        if let Some(most) = self.most_pods.get_mut(image) {
            *most = (*most).max(new.settings.max_pods.get());
        }
        *old = Arc::new(new);
        let (image, plan) = (image.clone(), Arc::clone(old));
        self.tell(Event::Planned { image, plan });
    }

    fn partition_or_heal(&mut self) {
        if self.is_partitioned {
            self.heal();
        } else {
            self.is_partitioned = true;
            self.tell(Event::Stale);
        }
    }

    fn heal(&mut self) {
        self.is_partitioned = false;
        for id in ids(&self.pods, |pod| !pod.watch.is_empty()) {
            while let Some(event) = self.pods.get_mut(&id).and_then(|pod| pod.watch.pop_front()) {
                self.tell(event);
            }
        }
        self.tell(Event::Fresh);
    }

    fn warm_up(&mut self, index: usize) {
        let (image, plan) = self.images[index % self.images.len()].clone();
        self.tell(Event::WarmUp { image, plan });
    }

    fn drain(&mut self) {
        self.is_draining = true;
        self.tell(Event::Drain);
    }

    fn tick(&mut self, after: Duration) {
        self.now = self.now.after(after);
        self.tell(Event::Tick);
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
    fn new(image: ImageKey, life: Life, owner: Whose) -> RealPod {
        RealPod {
            image,
            life,
            owner,
            is_ready: false,
            is_broken: false,
            has_service: false,
            is_extra: false,
            commands: VecDeque::new(),
            watch: VecDeque::new(),
            answers: VecDeque::new(),
        }
    }

    fn go(&mut self, id: PodId) {
        self.life = Life::Gone;
        self.is_ready = false;
        self.watch.push_back(Event::Gone { pod: id });
    }

    /// Whether nothing is to be done or to be heard.
    fn is_quiet(&self) -> bool {
        let is_settled = match self.life {
            Life::Alive => self.is_ready || self.is_broken,
            Life::Terminating => false,
            Life::NotMade | Life::Gone => true,
        };
        is_settled && self.commands.is_empty() && self.watch.is_empty() && self.answers.is_empty()
    }
}

/// One of several, whichever number is given.
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
