//! Checks every command against the rules.
//!
//! Each rule has a name, which appears in the report of a failing schedule.

use std::collections::BTreeMap;

use super::super::{
    FaultScope, ImageKey, Moment, PodId, PodPools, PoolCommand, PoolEvent, RequestFailure,
    RequestId,
};
use super::model::{Life, Model, ModelPod, RequestState};
use super::{ORPHAN_GRACE, SCAN_INTERVAL};

/// Sits between the simulation and the state machine.
pub(super) struct RuleChecker {
    pub(super) model: Model,
    last_id: Option<PodId>,
}

impl RuleChecker {
    pub(super) fn new() -> RuleChecker {
        let model = Model {
            stale: true,
            ..Model::default()
        };
        RuleChecker {
            model,
            last_id: None,
        }
    }

    /// Passes an event to the state machine and checks the commands.
    pub(super) fn handle(
        &mut self,
        pool: &mut PodPools,
        now: Moment,
        event: PoolEvent,
    ) -> Vec<PoolCommand> {
        self.model.now = now;
        let warm = self.is_warm(&event);
        self.model.apply(&event);
        let commands = pool.handle(now, event.clone());
        if warm {
            let only_start = matches!(&commands[..], [PoolCommand::Start { .. }]);
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

    /// Whether a request has neither a pod nor a result.
    pub(super) fn is_waiting(&self, request: RequestId) -> bool {
        let tracked = self.model.requests.get(&request);
        tracked.is_some_and(|tracked| tracked.state == RequestState::Waiting)
    }

    /// Whether a pod is owned beyond the limit.
    pub(super) fn is_retained(&self, id: PodId) -> bool {
        let pod = self.model.pods.get(&id);
        pod.is_some_and(|pod| matches!(pod.life, Life::Retaining | Life::Retained))
    }

    /// Whether the event is a request for which there is a ready pod.
    fn is_warm(&self, event: &PoolEvent) -> bool {
        let PoolEvent::Request { image, .. } = event else {
            return false;
        };
        let max_waitlist = self.model.spec(image).settings.max_waitlist.get();
        let mut ready = self.model.ready(image);
        ready.any(|pod| pod.running.len() < max_waitlist)
    }

    fn check(&mut self, command: &PoolCommand, cause: &PoolEvent) {
        let model = &mut self.model;
        match command {
            PoolCommand::Start { request, pod } => self.check_start(*request, *pod),
            PoolCommand::Fail { request, failure } => self.check_fail(*request, failure, cause),
            PoolCommand::Create { pod, image, spec } => {
                assert!(Some(*pod) > self.last_id, "ids: {pod} was another pod");
                self.last_id = Some(*pod);
                assert!(!model.draining, "drain: {command:?} while draining");
                assert_eq!(**spec, *model.spec(image), "spec: not the current one");
                let max_waitlist = spec.settings.max_waitlist.get();
                let pending = model.certain(image).filter(|pod| pod.life != Life::Ready);
                let need = model.waiting(image) > pending.count() * max_waitlist;
                let warm_up = model.warm_ups.remove(image);
                assert!(need || warm_up, "need: {command:?} without need");
                let pod_count = model.of_image(image).filter(|pod| pod.exists()).count();
                assert!(
                    pod_count < spec.settings.max_pods.get(),
                    "limit: {command:?}"
                );
                let new = ModelPod::new(image.clone(), Life::Pending(model.now), model.now);
                model.pods.insert(*pod, new);
            }
            PoolCommand::Delete { pod } => {
                let reason = self.reason_to_delete(*pod, cause);
                let pod = self.certain(*pod, command);
                assert!(pod.is_ours, "owner: {command:?} of a pod that is not ours");
                assert!(reason, "reason: none for {command:?}");
                if pod.life != Life::Terminating {
                    pod.life = Life::DeletionRequested;
                }
            }
            PoolCommand::Collect { .. } | PoolCommand::Adopt { .. } => {
                self.check_orphan(command, cause)
            }
            PoolCommand::Release { pod } => {
                let pod = &model.pods[pod];
                assert!(model.draining, "drain: {command:?} before draining");
                assert!(pod.is_ours, "owner: {command:?}");
                assert!(pod.running.is_empty(), "calls: {command:?} with calls");
                assert_eq!(
                    model.waiting(&pod.image),
                    0,
                    "drain: {command:?} while requests wait"
                );
                self.pod(command_pod(command)).life = Life::Released;
            }
            PoolCommand::Annotate { pod, .. } => {
                let now = model.now;
                assert!(
                    *cause == PoolEvent::Tick,
                    "annotate: {command:?} after {cause:?}"
                );
                assert!(!model.stale, "stale: {command:?}");
                let pod = self.pod(*pod);
                let is_up = matches!(pod.life, Life::Ready | Life::Retained);
                assert!(is_up, "annotate: {command:?}");
                let last = pod.annotated_until.replace(now);
                let is_due = last.is_none_or(|last| now.since(last) >= SCAN_INTERVAL);
                assert!(is_due, "annotate: {command:?} too often");
            }
            PoolCommand::RestoreService { pod } => {
                let pod = self.pod(*pod);
                let is_up = matches!(pod.life, Life::Pending(_) | Life::Retained);
                assert!(is_up && pod.is_ours, "owner: {command:?}");
            }
            PoolCommand::Check { pod: id } => {
                let pod = &model.pods[id];
                assert!(pod.is_ours, "owner: {command:?}");
                if pod.life == Life::Retained {
                    // It is put to use.
                    let pod_count = model
                        .of_image(&pod.image)
                        .filter(|pod| pod.exists())
                        .count();
                    let most = model.spec(&pod.image).settings.max_pods.get();
                    assert!(pod_count < most, "limit: {command:?}");
                    assert!(
                        model.is_current(pod),
                        "version: {command:?} of an outdated pod"
                    );
                    assert!(!model.stale && !model.draining, "retained: {command:?}");
                    let now = model.now;
                    self.pod(*id).life = Life::Pending(now);
                }
                let is_pending = matches!(self.pod(*id).life, Life::Pending(_));
                assert!(is_pending, "check: {command:?}");
            }
            PoolCommand::DeleteService { pod } => {
                let pod = self.pod(*pod);
                assert_eq!(
                    pod.life,
                    Life::Released,
                    "service: {command:?} of a pod that exists"
                );
            }
            PoolCommand::ProbeUsage { pod } => {
                let pod = self.pod(*pod);
                let may = matches!(
                    pod.life,
                    Life::Orphan(_) | Life::Retained | Life::Ready | Life::Pending(_)
                );
                assert!(
                    may && pod.may_have_other_callers,
                    "probe: {command:?} without need"
                );
                assert!(!pod.probe_pending, "probe: {command:?} again");
                pod.probe_pending = true;
            }
            PoolCommand::Forget { pod } => {
                let pod = model.pods.remove(pod).expect("a pod that is known");
                assert!(pod.running.is_empty(), "calls: {command:?} with calls");
                let may = pod.life == Life::Released || !pod.is_ours;
                assert!(may, "forget: {command:?} of ours");
            }
        }
    }

    fn check_start(&mut self, request: RequestId, id: PodId) {
        let model = &mut self.model;
        let tracked = model
            .requests
            .get(&request)
            .expect("once: of a finished request");
        assert_eq!(
            tracked.state,
            RequestState::Waiting,
            "once: {request:?} is started"
        );
        let pod = &model.pods[&id];
        assert_eq!(
            pod.image, tracked.image,
            "image: {request:?} on the wrong pod"
        );
        assert_eq!(pod.life, Life::Ready, "start: {request:?} on {id}");
        assert!(
            model.is_current(pod),
            "version: {request:?} on an outdated pod"
        );
        let usable = model.ready(&pod.image);
        let least = usable.map(|pod| pod.running.len()).min().unwrap_or(0);
        let is_least = pod.may_be_surplus || pod.running.len() == least;
        assert!(is_least, "least loaded: not {id}");
        let equals = model
            .ready(&pod.image)
            .filter(|other| other.running.len() == least);
        let longest_ago = equals.map(|pod| pod.last_picked).min();
        let is_turn = pod.may_be_surplus || longest_ago == Some(pod.last_picked);
        assert!(is_turn, "even: it is not the turn of {id}");
        if let Some(tracked) = model.requests.get_mut(&request) {
            tracked.state = RequestState::Running(id);
        }
        model.pick_counter += 1;
        let pick_counter = model.pick_counter;
        let pod = self.pod(id);
        pod.last_picked = pick_counter;
        pod.probe_pending = false;
        pod.is_unused = false;
        pod.running.insert(request);
    }

    fn check_fail(&mut self, request: RequestId, failure: &RequestFailure, cause: &PoolEvent) {
        let model = &mut self.model;
        let tracked = model
            .requests
            .get(&request)
            .expect("once: of a finished request");
        let image = tracked.image.clone();
        match (failure, cause) {
            (RequestFailure::Interrupted(_), PoolEvent::CallLost { request: lost, .. }) => {
                assert_eq!(*lost, request, "waitlist: {request:?} was not lost");
                assert_eq!(
                    tracked.state,
                    RequestState::Interrupted,
                    "once: {request:?}"
                );
            }
            (RequestFailure::NoPod(_), PoolEvent::CallLost { request: lost, .. }) => {
                assert_eq!(*lost, request, "waitlist: {request:?} was not lost");
                assert!(
                    tracked.failures >= 3,
                    "waitlist: {request:?} fails too early"
                );
            }
            (
                RequestFailure::NoPod(fault),
                PoolEvent::Failed { .. } | PoolEvent::CreateFailed { .. } | PoolEvent::Tick,
            ) => {
                assert_eq!(tracked.state, RequestState::Waiting, "once: {request:?}");
                if let PoolEvent::Failed { pod, fault: known }
                | PoolEvent::CreateFailed { pod, fault: known } = cause
                {
                    assert_eq!(model.pods[pod].image, image, "waitlist: {request:?}");
                    assert_eq!(
                        fault, known,
                        "waitlist: {request:?} gets the reason of another pod"
                    );
                    let may_fail = fault.scope == FaultScope::Image || tracked.failures >= 3;
                    assert!(may_fail, "waitlist: {request:?} fails too early");
                }
                let others = model.certain(&image);
                assert_eq!(others.count(), 0, "moved: {request:?} had another pod");
            }
            (RequestFailure::Draining, _) => {
                assert!(model.draining, "drain: {request:?} before draining");
                assert_eq!(tracked.state, RequestState::Waiting, "once: {request:?}");
                assert_eq!(
                    model.certain(&image).count(),
                    0,
                    "drain: {request:?} had a pod"
                );
            }
            _ => panic!("waitlist: {failure:?} for {request:?} after {cause:?}"),
        }
        if let Some(tracked) = model.requests.get_mut(&request) {
            tracked.state = RequestState::Failed(failure.clone());
        }
    }

    fn check_orphan(&mut self, command: &PoolCommand, cause: &PoolEvent) {
        let model = &self.model;
        assert!(
            !model.draining || *cause == PoolEvent::Tick,
            "drain: {command:?} while draining"
        );
        let id = command_pod(command);
        let pod = &model.pods[&id];
        let settings = model.spec(&pod.image).settings;
        let pod_count = model
            .of_image(&pod.image)
            .filter(|pod| pod.exists())
            .count();
        let is_retained = |pod: &&ModelPod| matches!(pod.life, Life::Retaining | Life::Retained);
        let retained = model.of_image(&pod.image).filter(is_retained).count();
        let now = model.now;
        let lived = now.since(pod.idle_since).saturating_add(pod.idle_before);
        let is_unneeded = !model.is_current(pod) || lived >= settings.ttl;
        let is_unused = is_unneeded && (pod.is_unused || !pod.may_have_other_callers);
        let pod = self.certain(id, command);
        assert!(!pod.is_ours, "owner: {command:?} of ours");
        match command {
            PoolCommand::Adopt { .. } => {
                if let Life::Adopting | Life::Retaining = pod.life {
                    assert_eq!(*cause, PoolEvent::Tick, "again: {command:?}");
                    return;
                }
                let Life::Orphan(since) = pod.life else {
                    panic!("owner: {command:?}");
                };
                if pod_count < settings.max_pods.get() && !is_unneeded {
                    pod.life = Life::Adopting;
                    return;
                }
                // Beyond the limit, because another replica may call it.
                assert!(pod.is_reachable, "limit: {command:?}");
                assert!(retained < settings.max_pods.get(), "retained: {command:?}");
                assert!(
                    now >= since.after(ORPHAN_GRACE),
                    "retained: {command:?} too soon"
                );
                pod.life = Life::Retaining;
            }
            _ => {
                let may = matches!(
                    pod.life,
                    Life::Failed | Life::DeletionRequested | Life::Terminating
                ) || is_unused
                    || !pod.is_reachable
                    || retained >= settings.max_pods.get();
                assert!(
                    may,
                    "retained: {command:?} of a pod that is reachable and may be in use"
                );
                pod.life = Life::DeletionRequested;
            }
        }
    }

    /// A pod that is about to be deleted or adopted: the view must be fresh, and the pod must have no calls.
    fn certain(&mut self, id: PodId, command: &PoolCommand) -> &mut ModelPod {
        assert!(!self.model.stale, "stale: {command:?}");
        let pod = self.pod(id);
        assert!(pod.running.is_empty(), "calls: {command:?} with calls");
        pod
    }

    fn pod(&mut self, id: PodId) -> &mut ModelPod {
        self.model.pods.get_mut(&id).expect("a pod that is known")
    }

    fn reason_to_delete(&self, id: PodId, cause: &PoolEvent) -> bool {
        let model = &self.model;
        let pod = &model.pods[&id];
        let settings = model.spec(&pod.image).settings;
        let now = model.now;
        if let Life::Failed | Life::DeletionRequested | Life::Terminating = pod.life {
            return true;
        }
        let lived = now.since(pod.idle_since).saturating_add(pod.idle_before);
        let is_due = matches!(cause, PoolEvent::Tick | PoolEvent::UsageProbed { .. })
            && lived >= settings.ttl;
        let is_expired = is_due && !pod.may_be_used();
        // Only other replicas may call it.
        if pod.life == Life::Retained {
            let is_outdated = !model.is_current(pod) && lived >= ORPHAN_GRACE;
            return is_expired || is_outdated && !pod.may_be_used();
        }
        is_expired || !model.is_current(pod) || pod.may_be_surplus
    }

    /// Invariants that hold after every event.
    fn after(&mut self, pool: &PodPools) {
        self.model.mark_surplus();
        let model = &self.model;
        let loads: BTreeMap<PodId, usize> = pool.loads().collect();
        let in_flight: BTreeMap<PodId, usize> = model
            .pods
            .iter()
            .map(|(id, pod)| (*id, pod.running.len()))
            .collect();
        assert_eq!(loads, in_flight, "load: differs from the calls in flight");
        let waiting: usize = model.images.keys().map(|image| model.waiting(image)).sum();
        assert_eq!(pool.waitlist_len(), waiting, "lost: the waitlist differs");
        for request in model.requests.values() {
            let is_failed = request.state != RequestState::Interrupted;
            assert!(is_failed, "lost: {request:?} has no result");
        }
        if let Some(image) = &model.must_fail_waitlist {
            assert_eq!(
                model.waiting(image),
                0,
                "waitlist: its requests have not failed"
            );
        }
        for image in model.images.keys() {
            self.check_waiting(image);
        }
    }

    /// No request waits unnecessarily.
    fn check_waiting(&self, image: &ImageKey) {
        let model = &self.model;
        if model.waiting(image) == 0 {
            return;
        }
        let settings = model.spec(image).settings;
        let max_waitlist = settings.max_waitlist.get();
        let mut ready = model.ready(image);
        let has_ready = model.ready(image).next().is_some();
        let idle = ready.any(|pod| pod.running.len() < max_waitlist);
        assert!(!idle, "conserve: requests wait although a pod has capacity");
        let pending = model.pending(image);
        assert!(
            !has_ready || (pending > 0 && !model.stale),
            "conserve: requests wait for a pod that is not pending"
        );
        if !model.of_image(image).any(|pod| pod.may_be_surplus) && pending == 0 {
            assert!(!model.draining, "drain: requests wait forever");
            let pod_count = model.of_image(image).filter(|pod| pod.exists()).count();
            let is_full = pod_count >= settings.max_pods.get();
            assert!(is_full, "lost: requests wait and no pod is created");
        }
    }
}

/// The pod that a command refers to.
fn command_pod(command: &PoolCommand) -> PodId {
    match command {
        PoolCommand::Start { pod, .. }
        | PoolCommand::Create { pod, .. }
        | PoolCommand::Check { pod }
        | PoolCommand::RestoreService { pod }
        | PoolCommand::DeleteService { pod }
        | PoolCommand::Delete { pod }
        | PoolCommand::Annotate { pod, .. }
        | PoolCommand::Adopt { pod }
        | PoolCommand::Collect { pod }
        | PoolCommand::Release { pod }
        | PoolCommand::ProbeUsage { pod }
        | PoolCommand::Forget { pod } => *pod,
        PoolCommand::Fail { .. } => panic!("{command:?} is about no pod"),
    }
}
