//! Looks at every command and says which rule it breaks.
//!
//! The rules have names, which is what a failing schedule is reported by.

use std::collections::BTreeMap;

use super::super::{Command, Event, Failure, ImageKey, Lasts, Moment, PodId, Pool, RequestId};
use super::told::{Life, RequestState, Told, ToldPod};
use super::{ORPHAN_GRACE, SCAN_INTERVAL};

/// Stands between the world and the machine.
pub(super) struct Judge {
    pub(super) told: Told,
    last_name: Option<PodId>,
}

impl Judge {
    pub(super) fn new() -> Judge {
        let told = Told {
            stale: true,
            ..Told::default()
        };
        Judge {
            told,
            last_name: None,
        }
    }

    /// Hands an event over and checks what comes of it.
    pub(super) fn handle(&mut self, pool: &mut Pool, now: Moment, event: Event) -> Vec<Command> {
        self.told.now = now;
        let warm = self.is_warm(&event);
        self.told.hear(&event);
        let commands = pool.handle(now, event.clone());
        if warm {
            let only_start = matches!(&commands[..], [Command::Start { .. }]);
            assert!(
                only_start,
                "warm: {event:?} needs no more than a pod, not {commands:?}"
            );
        }
        for command in &commands {
            self.check(command, &event);
        }
        self.after(pool);
        commands
    }

    /// Whether a request has no pod and no answer.
    pub(super) fn is_waiting(&self, request: RequestId) -> bool {
        let told = self.told.requests.get(&request);
        told.is_some_and(|told| told.state == RequestState::Waiting)
    }

    /// Whether a pod is one more than may be.
    pub(super) fn is_extra(&self, id: PodId) -> bool {
        let pod = self.told.pods.get(&id);
        pod.is_some_and(|pod| matches!(pod.life, Life::Keeping | Life::Kept))
    }

    /// Whether it is a request for which a pod is there.
    fn is_warm(&self, event: &Event) -> bool {
        let Event::Request { image, .. } = event else {
            return false;
        };
        let share = self.told.plan(image).settings.max_waitlist.get();
        let mut ready = self.told.ready(image);
        ready.any(|pod| pod.running.len() < share)
    }

    fn check(&mut self, command: &Command, cause: &Event) {
        let told = &mut self.told;
        match command {
            Command::Start { request, pod } => self.check_start(*request, *pod),
            Command::Fail { request, failure } => self.check_fail(*request, failure, cause),
            Command::Create { pod, image, plan } => {
                assert!(Some(*pod) > self.last_name, "names: {pod} was another pod");
                self.last_name = Some(*pod);
                assert!(!told.draining, "drain: {command:?} while ending");
                assert_eq!(**plan, *told.plan(image), "plan: of yesterday");
                let share = plan.settings.max_waitlist.get();
                let coming = told.certain(image).filter(|pod| pod.life != Life::Ready);
                let need = told.waiting(image) > coming.count() * share;
                let warm_up = told.warm_ups.remove(image);
                assert!(need || warm_up, "need: {command:?} for nobody");
                let pod_count = told.of_image(image).filter(|pod| pod.exists()).count();
                assert!(
                    pod_count < plan.settings.max_pods.get(),
                    "limit: {command:?}"
                );
                let new = ToldPod::new(image.clone(), Life::Coming(told.now), told.now);
                told.pods.insert(*pod, new);
            }
            Command::Delete { pod } => {
                let reason = self.reason_to_delete(*pod, cause);
                let pod = self.certain(*pod, command);
                assert!(pod.is_ours, "owner: {command:?} of a pod that is not ours");
                assert!(reason, "reason: none for {command:?}");
                if pod.life != Life::Ending {
                    pod.life = Life::Doomed;
                }
            }
            Command::Collect { .. } | Command::Adopt { .. } => self.check_orphan(command, cause),
            Command::Release { pod } => {
                let pod = &told.pods[pod];
                assert!(told.draining, "drain: {command:?} before the end");
                assert!(pod.is_ours, "owner: {command:?}");
                assert!(pod.running.is_empty(), "work: {command:?} with work");
                assert_eq!(
                    told.waiting(&pod.image),
                    0,
                    "drain: {command:?} while some wait"
                );
                self.pod(command_pod(command)).life = Life::Parted;
            }
            Command::Annotate { pod, .. } => {
                let now = told.now;
                assert!(
                    *cause == Event::Tick,
                    "annotate: {command:?} after {cause:?}"
                );
                assert!(!told.stale, "stale: {command:?}");
                let pod = self.pod(*pod);
                let is_up = matches!(pod.life, Life::Ready | Life::Kept);
                assert!(is_up, "annotate: {command:?}");
                let last = pod.annotated.replace(now);
                let is_due = last.is_none_or(|last| now.since(last) >= SCAN_INTERVAL);
                assert!(is_due, "annotate: {command:?} too often");
            }
            Command::RestoreService { pod } => {
                let pod = self.pod(*pod);
                let is_up = matches!(pod.life, Life::Coming(_) | Life::Kept);
                assert!(is_up && pod.is_ours, "owner: {command:?}");
            }
            Command::Check { pod: id } => {
                let pod = &told.pods[id];
                assert!(pod.is_ours, "owner: {command:?}");
                if pod.life == Life::Kept {
                    // It is put to use.
                    let pod_count = told.of_image(&pod.image).filter(|pod| pod.exists()).count();
                    let most = told.plan(&pod.image).settings.max_pods.get();
                    assert!(pod_count < most, "limit: {command:?}");
                    assert!(told.is_current(pod), "version: {command:?} of an old pod");
                    assert!(!told.stale && !told.draining, "extra: {command:?}");
                    let now = told.now;
                    self.pod(*id).life = Life::Coming(now);
                }
                let is_coming = matches!(self.pod(*id).life, Life::Coming(_));
                assert!(is_coming, "check: {command:?}");
            }
            Command::DeleteService { pod } => {
                let pod = self.pod(*pod);
                assert_eq!(
                    pod.life,
                    Life::Parted,
                    "service: {command:?} of a pod that is there"
                );
            }
            Command::Ask { pod } => {
                let pod = self.pod(*pod);
                let may = matches!(
                    pod.life,
                    Life::Orphan(_) | Life::Kept | Life::Ready | Life::Coming(_)
                );
                assert!(may && pod.is_shared, "ask: {command:?} for nothing");
                assert!(!pod.is_asked, "ask: {command:?} again");
                pod.is_asked = true;
            }
            Command::Forget { pod } => {
                let pod = told.pods.remove(pod).expect("a pod that is known");
                assert!(pod.running.is_empty(), "work: {command:?} with work");
                let may = pod.life == Life::Parted || !pod.is_ours;
                assert!(may, "forget: {command:?} of ours");
            }
        }
    }

    fn check_start(&mut self, request: RequestId, id: PodId) {
        let told = &mut self.told;
        let asked = told
            .requests
            .get(&request)
            .expect("once: of a request that is over");
        assert_eq!(
            asked.state,
            RequestState::Waiting,
            "once: {request:?} is started"
        );
        let pod = &told.pods[&id];
        assert_eq!(
            pod.image, asked.image,
            "image: {request:?} on the wrong pod"
        );
        assert_eq!(pod.life, Life::Ready, "start: {request:?} on {id}");
        assert!(told.is_current(pod), "version: {request:?} on an old pod");
        let usable = told.ready(&pod.image);
        let least = usable.map(|pod| pod.running.len()).min().unwrap_or(0);
        let is_least = pod.may_be_surplus || pod.running.len() == least;
        assert!(is_least, "least loaded: not {id}");
        let equals = told
            .ready(&pod.image)
            .filter(|other| other.running.len() == least);
        let longest_ago = equals.map(|pod| pod.picked).min();
        let is_turn = pod.may_be_surplus || longest_ago == Some(pod.picked);
        assert!(is_turn, "even: it is not the turn of {id}");
        if let Some(asked) = told.requests.get_mut(&request) {
            asked.state = RequestState::Running(id);
        }
        told.picks += 1;
        let picks = told.picks;
        let pod = self.pod(id);
        pod.picked = picks;
        pod.is_asked = false;
        pod.is_unused = false;
        pod.running.insert(request);
    }

    fn check_fail(&mut self, request: RequestId, failure: &Failure, cause: &Event) {
        let told = &mut self.told;
        let asked = told
            .requests
            .get(&request)
            .expect("once: of a request that is over");
        let image = asked.image.clone();
        match (failure, cause) {
            (Failure::Interrupted(_), Event::Lost { request: lost, .. }) => {
                assert_eq!(*lost, request, "own waiters: {request:?} was not lost");
                assert_eq!(asked.state, RequestState::Interrupted, "once: {request:?}");
            }
            (Failure::NoPod(_), Event::Lost { request: lost, .. }) => {
                assert_eq!(*lost, request, "own waiters: {request:?} was not lost");
                assert!(
                    asked.failures >= 3,
                    "own waiters: {request:?} gives up too early"
                );
            }
            (
                Failure::NoPod(fault),
                Event::Failed { .. } | Event::NotCreated { .. } | Event::Tick,
            ) => {
                assert_eq!(asked.state, RequestState::Waiting, "once: {request:?}");
                if let Event::Failed { pod, fault: known }
                | Event::NotCreated { pod, fault: known } = cause
                {
                    assert_eq!(told.pods[pod].image, image, "own waiters: {request:?}");
                    assert_eq!(
                        fault, known,
                        "own waiters: {request:?} gets another's reason"
                    );
                    let gives_up = fault.lasts == Lasts::Yes || asked.failures >= 3;
                    assert!(gives_up, "own waiters: {request:?} gives up too early");
                }
                let others = told.certain(&image);
                assert_eq!(others.count(), 0, "moved: {request:?} had another pod");
            }
            (Failure::Draining, _) => {
                assert!(told.draining, "drain: {request:?} before the end");
                assert_eq!(asked.state, RequestState::Waiting, "once: {request:?}");
                assert_eq!(
                    told.certain(&image).count(),
                    0,
                    "drain: {request:?} had a pod"
                );
            }
            _ => panic!("own waiters: {failure:?} for {request:?} after {cause:?}"),
        }
        if let Some(asked) = told.requests.get_mut(&request) {
            asked.state = RequestState::Failed(failure.clone());
        }
    }

    fn check_orphan(&mut self, command: &Command, cause: &Event) {
        let told = &self.told;
        assert!(
            !told.draining || *cause == Event::Tick,
            "drain: {command:?} while ending"
        );
        let id = command_pod(command);
        let pod = &told.pods[&id];
        let settings = told.plan(&pod.image).settings;
        let pod_count = told.of_image(&pod.image).filter(|pod| pod.exists()).count();
        let is_extra = |pod: &&ToldPod| matches!(pod.life, Life::Keeping | Life::Kept);
        let extra = told.of_image(&pod.image).filter(is_extra).count();
        let now = told.now;
        let lived = now.since(pod.idle_since).saturating_add(pod.idle_before);
        let is_useless = !told.is_current(pod) || lived >= settings.ttl;
        let is_unused = is_useless && (pod.is_unused || !pod.is_shared);
        let pod = self.certain(id, command);
        assert!(!pod.is_ours, "owner: {command:?} of ours");
        match command {
            Command::Adopt { .. } => {
                if let Life::Claimed | Life::Keeping = pod.life {
                    assert_eq!(*cause, Event::Tick, "again: {command:?}");
                    return;
                }
                let Life::Orphan(since) = pod.life else {
                    panic!("owner: {command:?}");
                };
                if pod_count < settings.max_pods.get() && !is_useless {
                    pod.life = Life::Claimed;
                    return;
                }
                // More than we may have or want, because somebody may be calling it.
                assert!(pod.answers, "limit: {command:?}");
                assert!(extra < settings.max_pods.get(), "extra: {command:?}");
                assert!(
                    now >= since.after(ORPHAN_GRACE),
                    "extra: {command:?} too soon"
                );
                pod.life = Life::Keeping;
            }
            _ => {
                let may = matches!(pod.life, Life::Failed | Life::Doomed | Life::Ending)
                    || is_unused
                    || !pod.answers
                    || extra >= settings.max_pods.get();
                assert!(
                    may,
                    "extra: {command:?} of a pod that answers and may be in use"
                );
                pod.life = Life::Doomed;
            }
        }
    }

    /// A pod that is about to be deleted or adopted: we must be sure, and it must have no work.
    fn certain(&mut self, id: PodId, command: &Command) -> &mut ToldPod {
        assert!(!self.told.stale, "stale: {command:?}");
        let pod = self.pod(id);
        assert!(pod.running.is_empty(), "work: {command:?} with work");
        pod
    }

    fn pod(&mut self, id: PodId) -> &mut ToldPod {
        self.told.pods.get_mut(&id).expect("a pod that is known")
    }

    fn reason_to_delete(&self, id: PodId, cause: &Event) -> bool {
        let told = &self.told;
        let pod = &told.pods[&id];
        let settings = told.plan(&pod.image).settings;
        let now = told.now;
        if let Life::Failed | Life::Doomed | Life::Ending = pod.life {
            return true;
        }
        let lived = now.since(pod.idle_since).saturating_add(pod.idle_before);
        let is_due = matches!(cause, Event::Tick | Event::Used { .. }) && lived >= settings.ttl;
        let is_expired = is_due && !pod.may_be_used();
        // It is here for others only, and they may be calling it.
        if pod.life == Life::Kept {
            let is_outdated = !told.is_current(pod) && lived >= ORPHAN_GRACE;
            return is_expired || is_outdated && !pod.may_be_used();
        }
        is_expired || !told.is_current(pod) || pod.may_be_surplus
    }

    /// What must hold whenever the machine has had its say.
    fn after(&mut self, pool: &Pool) {
        self.told.mark_surplus();
        let told = &self.told;
        let loads: BTreeMap<PodId, usize> = pool.loads().collect();
        let really: BTreeMap<PodId, usize> = told
            .pods
            .iter()
            .map(|(id, pod)| (*id, pod.running.len()))
            .collect();
        assert_eq!(loads, really, "load: not that of the calls in flight");
        let waiting: usize = told.images.keys().map(|image| told.waiting(image)).sum();
        assert_eq!(pool.waiting(), waiting, "lost: some wait for nothing");
        for request in told.requests.values() {
            let is_told = request.state != RequestState::Interrupted;
            assert!(is_told, "lost: {request:?} is not told");
        }
        if let Some(image) = &told.hopeless {
            assert_eq!(
                told.waiting(image),
                0,
                "own waiters: they do not hear of it"
            );
        }
        for image in told.images.keys() {
            self.check_waiting(image);
        }
    }

    /// Nobody waits who need not.
    fn check_waiting(&self, image: &ImageKey) {
        let told = &self.told;
        if told.waiting(image) == 0 {
            return;
        }
        let settings = told.plan(image).settings;
        let share = settings.max_waitlist.get();
        let mut ready = told.ready(image);
        let has_ready = told.ready(image).next().is_some();
        let idle = ready.any(|pod| pod.running.len() < share);
        assert!(!idle, "conserve: some wait although a pod has time");
        let coming = told.coming(image);
        assert!(
            !has_ready || (coming > 0 && !told.stale),
            "conserve: some wait for a pod that does not come"
        );
        if !told.of_image(image).any(|pod| pod.may_be_surplus) && coming == 0 {
            assert!(!told.draining, "drain: some wait for ever");
            let pod_count = told.of_image(image).filter(|pod| pod.exists()).count();
            let is_full = pod_count >= settings.max_pods.get();
            assert!(is_full, "lost: some wait and nothing is created");
        }
    }
}

/// The pod that a command about a pod is about.
fn command_pod(command: &Command) -> PodId {
    match command {
        Command::Start { pod, .. }
        | Command::Create { pod, .. }
        | Command::Check { pod }
        | Command::RestoreService { pod }
        | Command::DeleteService { pod }
        | Command::Delete { pod }
        | Command::Annotate { pod, .. }
        | Command::Adopt { pod }
        | Command::Collect { pod }
        | Command::Release { pod }
        | Command::Ask { pod }
        | Command::Forget { pod } => *pod,
        Command::Fail { .. } => panic!("{command:?} is about no pod"),
    }
}
