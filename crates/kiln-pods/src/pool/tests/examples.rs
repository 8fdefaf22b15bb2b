//! The state machine by example; read this before the properties.

use std::sync::Arc;
use std::time::Duration;

use super::super::{
    AdoptionTurn, FaultScope, FoundPod, FunctionStarted, ImageKey, Moment, PodId, PodOwner,
    PodPools, PoolCommand, PoolEvent, PoolSpec, RequestFailure, RequestId,
};
use super::{ORPHAN_GRACE, SCAN_INTERVAL, START_TIMEOUT, TTL, fault, spec, version};

/// A pool with one image and a clock.
struct Fixture {
    pool: PodPools,
    spec: Arc<PoolSpec>,
    now: Moment,
    next_request: u64,
}

impl Fixture {
    fn new(max_waitlist: usize, max_pods: usize) -> Fixture {
        let mut fixture = Fixture {
            pool: PodPools::new(SCAN_INTERVAL, ORPHAN_GRACE),
            spec: spec(max_waitlist, max_pods, "1"),
            now: Moment::default(),
            next_request: 0,
        };
        assert_eq!(fixture.handle(PoolEvent::Fresh), []);
        fixture
    }

    fn handle(&mut self, event: PoolEvent) -> Vec<PoolCommand> {
        self.pool.handle(self.now, event)
    }

    fn request(&mut self) -> (RequestId, Vec<PoolCommand>) {
        self.next_request += 1;
        let request = RequestId(self.next_request);
        let commands = self.handle(PoolEvent::Request {
            request,
            image: image(),
            spec: Arc::clone(&self.spec),
        });
        (request, commands)
    }

    fn change_spec(&mut self, spec: Arc<PoolSpec>) -> Vec<PoolCommand> {
        self.spec = Arc::clone(&spec);
        self.handle(PoolEvent::SpecChanged {
            image: image(),
            spec,
        })
    }

    fn tick_after(&mut self, time: Duration) -> Vec<PoolCommand> {
        self.now = self.now.after(time);
        self.handle(PoolEvent::Tick)
    }

    /// Creates a pod that is ready, and the request that it was created for.
    fn ready_pod(&mut self) -> (PodId, RequestId) {
        let (request, commands) = self.request();
        let pod = created(&commands);
        self.handle(PoolEvent::Created {
            pod,
            version: self.spec.version.clone(),
        });
        assert_eq!(self.handle(PoolEvent::Ready { pod }), [start(request, pod)]);
        (pod, request)
    }

    fn find(&mut self, template: &str, owner: PodOwner) -> (PodId, Vec<PoolCommand>) {
        self.find_with_turn(template, owner, AdoptionTurn::default())
    }

    fn find_with_turn(
        &mut self,
        template: &str,
        owner: PodOwner,
        turn: AdoptionTurn,
    ) -> (PodId, Vec<PoolCommand>) {
        let found = FoundPod {
            turn,
            ..self.found(template, owner)
        };
        (found.pod, self.handle(PoolEvent::Found(found)))
    }

    /// A pod of the cluster without an annotation.
    fn found(&mut self, template: &str, owner: PodOwner) -> FoundPod {
        FoundPod {
            pod: self.pool.next_pod_id(),
            image: image(),
            spec: Arc::clone(&self.spec),
            version: version(template),
            owner,
            reclaim_in: None,
            turn: AdoptionTurn::default(),
        }
    }
}

fn image() -> ImageKey {
    ImageKey::new("gcr.io/kpt-fn/set-labels:v0.1")
}

fn used(pod: PodId, idle: Option<u64>) -> PoolEvent {
    let idle = idle.map(Duration::from_secs);
    PoolEvent::UsageProbed { pod, idle }
}

fn start(request: RequestId, pod: PodId) -> PoolCommand {
    PoolCommand::Start { request, pod }
}

#[track_caller]
fn created(commands: &[PoolCommand]) -> PodId {
    match commands {
        [PoolCommand::Create { pod, .. }] => *pod,
        other => panic!("expected one creation, got {other:?}"),
    }
}

#[test]
fn a_warm_request_is_started_at_once() {
    let mut fixture = Fixture::new(2, 3);
    let (pod, first) = fixture.ready_pod();
    assert_eq!(fixture.handle(PoolEvent::Finished { request: first }), []);
    let (request, commands) = fixture.request();
    assert_eq!(commands, [start(request, pod)]);
}

#[test]
fn a_pod_is_added_when_the_least_loaded_reaches_max_waitlist() {
    let mut fixture = Fixture::new(2, 3);
    let creations: Vec<usize> = (0..50).map(|_| fixture.request().1.len()).collect();
    let mut expected = vec![1, 0, 1, 0, 1];
    expected.resize(50, 0);
    assert_eq!(creations, expected);
}

#[test]
fn load_is_balanced_when_all_pods_are_ready() {
    let mut fixture = Fixture::new(2, 3);
    let created: Vec<PodId> = (0..50)
        .flat_map(|_| fixture.request().1)
        .filter_map(|command| match command {
            PoolCommand::Create { pod, .. } => Some(pod),
            _ => None,
        })
        .collect();
    for pod in created {
        fixture.handle(PoolEvent::Ready { pod });
    }
    let mut loads: Vec<usize> = fixture.pool.loads().map(|(_, load)| load).collect();
    loads.sort_unstable();
    assert_eq!(loads, [16, 17, 17]);
}

#[test]
fn equally_loaded_pods_take_turns() {
    let mut fixture = Fixture::new(1, 3);
    let pods: Vec<(PodId, RequestId)> = (0..3).map(|_| fixture.ready_pod()).collect();
    for (_, request) in &pods {
        fixture.handle(PoolEvent::Finished { request: *request });
    }
    let mut turns = Vec::new();
    for _ in 0..9 {
        let (request, commands) = fixture.request();
        if let [PoolCommand::Start { pod, .. }] = commands[..] {
            turns.push(pod);
        }
        fixture.handle(PoolEvent::Finished { request });
    }
    let order: Vec<PodId> = pods.iter().map(|(pod, _)| *pod).collect();
    assert_eq!(turns, [order.clone(), order.clone(), order].concat());
}

#[test]
fn the_reason_of_kubernetes_fails_the_waitlist() {
    let mut fixture = Fixture::new(2, 1);
    let (first, commands) = fixture.request();
    let (second, _) = fixture.request();
    let pod = created(&commands);
    let fault = fault(FaultScope::Image);
    let commands = fixture.handle(PoolEvent::Failed {
        pod,
        fault: fault.clone(),
    });
    let fail = |request| PoolCommand::Fail {
        request,
        failure: RequestFailure::NoPod(fault.clone()),
    };
    assert_eq!(
        commands,
        [fail(first), fail(second), PoolCommand::Delete { pod }]
    );
}

#[test]
fn the_waitlist_moves_to_a_remaining_pod() {
    let mut fixture = Fixture::new(1, 2);
    let (pod, running) = fixture.ready_pod();
    let (waiting, commands) = fixture.request();
    let other = created(&commands);
    let commands = fixture.handle(PoolEvent::Failed {
        pod: other,
        fault: fault(FaultScope::Image),
    });
    let delete = PoolCommand::Delete { pod: other };
    assert_eq!(commands, [delete, start(waiting, pod)]);
    assert_eq!(fixture.handle(PoolEvent::Finished { request: running }), []);
}

#[test]
fn a_cancelled_request_leaves_no_load_behind() {
    let mut fixture = Fixture::new(2, 1);
    let (pod, running) = fixture.ready_pod();
    fixture.handle(PoolEvent::Finished { request: running });
    assert_eq!(fixture.pool.loads().collect::<Vec<_>>(), [(pod, 0)]);
    let commands = fixture.tick_after(TTL);
    assert_eq!(commands, [PoolCommand::Delete { pod }]);
}

#[test]
fn a_lost_call_is_repeated_only_if_it_has_not_started() {
    let mut fixture = Fixture::new(1, 2);
    let (pod, first) = fixture.ready_pod();
    let (other, second) = fixture.ready_pod();
    fixture.handle(PoolEvent::Finished { request: second });
    let lost = |started| PoolEvent::CallLost {
        request: first,
        started,
        fault: fault(FaultScope::Pod),
    };
    let check = |pod| PoolCommand::Check { pod };
    assert_eq!(
        fixture.handle(lost(FunctionStarted::No)),
        [check(pod), start(first, other)]
    );
    let interrupted = PoolCommand::Fail {
        request: first,
        failure: RequestFailure::Interrupted(fault(FaultScope::Pod)),
    };
    assert_eq!(
        fixture.handle(lost(FunctionStarted::Maybe)),
        [check(other), interrupted]
    );
    assert_eq!(fixture.handle(PoolEvent::Finished { request: first }), []);
}

#[test]
fn an_outdated_pod_finishes_its_calls_and_is_replaced() {
    let mut fixture = Fixture::new(2, 1);
    let (old, running) = fixture.ready_pod();
    assert_eq!(fixture.change_spec(spec(2, 1, "2")), []);
    let (waiting, commands) = fixture.request();
    assert_eq!(commands, []);
    let commands = fixture.handle(PoolEvent::Finished { request: running });
    assert_eq!(commands, [PoolCommand::Delete { pod: old }]);
    let new = created(&fixture.handle(PoolEvent::Terminating { pod: old }));
    let commands = fixture.handle(PoolEvent::Ready { pod: new });
    assert_eq!(commands, [start(waiting, new)]);
}

#[test]
fn a_stale_view_deletes_nothing_and_warm_requests_continue() {
    let mut fixture = Fixture::new(1, 3);
    let (pod, first) = fixture.ready_pod();
    fixture.handle(PoolEvent::Stale);
    let (second, commands) = fixture.request();
    assert_eq!(commands, [start(second, pod)]);
    fixture.handle(PoolEvent::Finished { request: first });
    fixture.handle(PoolEvent::Finished { request: second });
    assert_eq!(fixture.tick_after(TTL * 3), []);
    assert_eq!(fixture.change_spec(spec(1, 3, "2")), []);
    assert_eq!(
        fixture.handle(PoolEvent::Fresh),
        [PoolCommand::Delete { pod }]
    );
}

#[test]
fn the_annotation_is_written_by_the_scan_only() {
    let mut fixture = Fixture::new(1, 1);
    let (pod, running) = fixture.ready_pod();
    let annotate = |reclaim_in| PoolCommand::Annotate { pod, reclaim_in };
    assert_eq!(fixture.tick_after(SCAN_INTERVAL), [annotate(TTL)]);
    assert_eq!(fixture.tick_after(SCAN_INTERVAL / 2), []);
    assert_eq!(fixture.tick_after(SCAN_INTERVAL / 2), [annotate(TTL)]);
    fixture.handle(PoolEvent::Finished { request: running });
    assert_eq!(fixture.tick_after(SCAN_INTERVAL), []);
    // Another client has removed it.
    assert_eq!(fixture.handle(PoolEvent::AnnotationMissing { pod }), []);
    let left = TTL - SCAN_INTERVAL * 2;
    assert_eq!(fixture.tick_after(SCAN_INTERVAL), [annotate(left)]);
    assert_eq!(fixture.tick_after(left), [PoolCommand::Delete { pod }]);
}

#[test]
fn a_deleted_service_is_restored() {
    let mut fixture = Fixture::new(1, 1);
    let (pod, running) = fixture.ready_pod();
    fixture.handle(PoolEvent::Finished { request: running });
    let commands = fixture.handle(PoolEvent::ServiceGone { pod });
    assert_eq!(commands, [PoolCommand::RestoreService { pod }]);
    let (waiting, commands) = fixture.request();
    assert_eq!(commands, []);
    let commands = fixture.handle(PoolEvent::Ready { pod });
    assert_eq!(commands, [start(waiting, pod)]);
}

#[test]
fn a_pod_fails_if_it_is_not_ready_in_time() {
    let mut fixture = Fixture::new(1, 1);
    let (waiting, commands) = fixture.request();
    let pod = created(&commands);
    fixture.tick_after(Duration::ZERO);
    let late = fixture.now.after(START_TIMEOUT);
    assert_eq!(
        fixture.pool.next_tick(),
        Some(fixture.now.after(SCAN_INTERVAL))
    );
    let commands = fixture.tick_after(late.since(fixture.now));
    let [
        PoolCommand::Fail { request, failure },
        PoolCommand::Delete { pod: deleted },
    ] = &commands[..]
    else {
        panic!("{commands:?}");
    };
    assert_eq!((*request, *deleted), (waiting, pod));
    let RequestFailure::NoPod(fault) = failure else {
        panic!("{failure:?}");
    };
    assert_eq!(
        fault.to_string(),
        "Timeout: the pod was not ready within 1m0s"
    );
}

#[test]
fn orphans_are_adopted_up_to_the_limit() {
    let mut fixture = Fixture::new(1, 1);
    let (first, commands) = fixture.find("1", PodOwner::LeaseExpired);
    assert_eq!(commands, [PoolCommand::Adopt { pod: first }]);
    let (second, commands) = fixture.find("1", PodOwner::LeaseExpired);
    assert_eq!(commands, []);
    let (outdated, commands) = fixture.find("0", PodOwner::Released);
    assert_eq!(commands, [PoolCommand::Collect { pod: outdated }]);
    // Another replica was faster, so there is room again.
    let commands = fixture.handle(PoolEvent::Disowned { pod: first });
    let adopt = PoolCommand::Adopt { pod: second };
    assert_eq!(commands, [adopt, PoolCommand::Forget { pod: first }]);
    let commands = fixture.handle(PoolEvent::Adopted { pod: second });
    assert_eq!(commands, [PoolCommand::Check { pod: second }]);
    let (request, _) = fixture.request();
    let commands = fixture.handle(PoolEvent::Ready { pod: second });
    assert_eq!(commands, [start(request, second)]);
}

#[test]
fn unreachable_orphans_are_deleted_after_the_grace_period() {
    let mut fixture = Fixture::new(1, 1);
    fixture.ready_pod();
    let (orphan, _) = fixture.find("1", PodOwner::LeaseExpired);
    assert_eq!(
        fixture
            .tick_after(ORPHAN_GRACE - Duration::from_secs(1))
            .len(),
        1
    );
    let commands = fixture.tick_after(Duration::from_secs(1));
    assert_eq!(commands, [PoolCommand::Collect { pod: orphan }]);
}

/// Their owner may be cut off from the API server and still call them.
#[test]
fn reachable_orphans_are_retained() {
    let mut fixture = Fixture::new(1, 1);
    let (own, running) = fixture.ready_pod();
    let (orphan, _) = fixture.find("1", PodOwner::LeaseExpired);
    fixture.handle(PoolEvent::Ready { pod: orphan });
    fixture.handle(used(orphan, Some(0)));
    let (second, _) = fixture.find("1", PodOwner::LeaseExpired);
    fixture.handle(PoolEvent::Ready { pod: second });
    let adopt = PoolCommand::Adopt { pod: orphan };
    let commands = fixture.tick_after(ORPHAN_GRACE);
    assert!(commands.contains(&adopt), "{commands:?}");
    // As many retained pods as the limit allows, and no more.
    assert!(
        commands.contains(&PoolCommand::Collect { pod: second }),
        "{commands:?}"
    );
    assert_eq!(fixture.handle(PoolEvent::Adopted { pod: orphan }), []);
    // It gets no calls from this replica.
    let (waiting, commands) = fixture.request();
    assert_eq!(commands, [start(waiting, own)]);
    for request in [running, waiting] {
        fixture.handle(PoolEvent::Finished { request });
    }
    // It is probed before it is deleted, and stays as long as it is called.
    let commands = fixture.tick_after(TTL);
    let delete = |pod| PoolCommand::Delete { pod };
    assert!(commands.contains(&delete(own)), "{commands:?}");
    assert!(!commands.contains(&delete(orphan)), "{commands:?}");
    assert!(
        commands.contains(&PoolCommand::ProbeUsage { pod: orphan }),
        "{commands:?}"
    );
    assert_eq!(fixture.handle(used(orphan, Some(0))), []);
    let probe = PoolCommand::ProbeUsage { pod: orphan };
    let commands = fixture.tick_after(TTL);
    assert!(commands.contains(&probe), "{commands:?}");
    let commands = fixture.handle(used(orphan, Some(100)));
    assert_eq!(commands, [delete(orphan)]);
}

#[test]
fn outdated_orphans_stay_while_they_are_called() {
    let mut fixture = Fixture::new(1, 1);
    let grace = ORPHAN_GRACE.as_secs();
    let collect = |pod| PoolCommand::Collect { pod };
    let find = |fixture: &mut Fixture| {
        let (pod, commands) = fixture.find("0", PodOwner::LeaseExpired);
        assert_eq!(commands, []);
        assert_eq!(
            fixture.handle(PoolEvent::Ready { pod }),
            [PoolCommand::ProbeUsage { pod }]
        );
        pod
    };
    for unused in [None, Some(grace)] {
        let pod = find(&mut fixture);
        assert_eq!(fixture.handle(used(pod, unused)), [collect(pod)]);
    }
    let called = find(&mut fixture);
    let (silent, _) = fixture.find("0", PodOwner::LeaseExpired);
    assert_eq!(fixture.handle(used(called, Some(1))), []);
    let commands = fixture.tick_after(ORPHAN_GRACE);
    assert!(commands.contains(&PoolCommand::Adopt { pod: called }));
    assert!(commands.contains(&collect(silent)), "{commands:?}");
    fixture.handle(PoolEvent::Adopted { pod: called });
    // It gets no calls from this replica, and is deleted when it gets no others either.
    let new = created(&fixture.request().1);
    assert_ne!(new, called);
    let commands = fixture.tick_after(ORPHAN_GRACE);
    assert!(
        commands.contains(&PoolCommand::ProbeUsage { pod: called }),
        "{commands:?}"
    );
    let commands = fixture.handle(used(called, Some(grace)));
    assert_eq!(commands, [PoolCommand::Delete { pod: called }]);
}

#[test]
fn an_orphan_is_left_to_the_replicas_whose_turn_is_first() {
    let mut fixture = Fixture::new(1, 1);
    let turn = AdoptionTurn {
        before: 2,
        replicas: 3,
    };
    let (pod, commands) = fixture.find_with_turn("1", PodOwner::Released, turn);
    assert_eq!(commands, []);
    assert_eq!(fixture.tick_after(Duration::ZERO), []);
    let turn = fixture.now.after(ORPHAN_GRACE / 2);
    let scan = fixture.now.after(SCAN_INTERVAL);
    assert_eq!(fixture.pool.next_tick(), Some(turn.min(scan)));
    let adopt = [PoolCommand::Adopt { pod }];
    assert_eq!(fixture.tick_after(ORPHAN_GRACE / 2), adopt);
}

#[test]
fn a_waiting_caller_does_not_wait_for_a_turn() {
    let mut fixture = Fixture::new(1, 1);
    let turn = AdoptionTurn {
        before: 2,
        replicas: 3,
    };
    let (pod, _) = fixture.find_with_turn("1", PodOwner::Released, turn);
    let (_, commands) = fixture.request();
    assert_eq!(commands, [PoolCommand::Adopt { pod }]);
}

#[test]
fn an_expired_orphan_is_deleted_by_the_tick_and_not_by_a_request() {
    let mut fixture = Fixture::new(2, 1);
    let (ready, _) = fixture.ready_pod();
    let expires_in = ORPHAN_GRACE / 2;
    let found = FoundPod {
        reclaim_in: Some(expires_in),
        ..fixture.found("1", PodOwner::Released)
    };
    let orphan = found.pod;
    assert_eq!(fixture.handle(PoolEvent::Found(found)), []);
    fixture.now = fixture.now.after(expires_in);
    assert!(fixture.pool.next_tick() <= Some(fixture.now));
    let (request, commands) = fixture.request();
    assert_eq!(commands, [start(request, ready)]);
    let commands = fixture.tick_after(Duration::ZERO);
    assert!(commands.contains(&PoolCommand::Collect { pod: orphan }));
}

/// A replica that may be cut off cannot update the annotation.
#[test]
fn an_orphan_with_an_expired_annotation_is_probed() {
    let mut fixture = Fixture::new(1, 1);
    let found = FoundPod {
        reclaim_in: Some(Duration::ZERO),
        ..fixture.found("1", PodOwner::LeaseExpired)
    };
    let pod = found.pod;
    assert_eq!(fixture.handle(PoolEvent::Found(found)), []);
    assert_eq!(
        fixture.handle(PoolEvent::Ready { pod }),
        [PoolCommand::ProbeUsage { pod }]
    );
    let adopt = PoolCommand::Adopt { pod };
    assert_eq!(fixture.handle(used(pod, Some(0))), [adopt]);
    fixture.handle(PoolEvent::Adopted { pod });
    fixture.handle(PoolEvent::Ready { pod });
    // Although it is owned now, it is probed.
    let commands = fixture.tick_after(TTL);
    assert_eq!(commands, [PoolCommand::ProbeUsage { pod }]);
    assert_eq!(fixture.handle(used(pod, Some(0))), []);
    fixture.tick_after(TTL);
    assert_eq!(
        fixture.handle(used(pod, None)),
        [PoolCommand::Delete { pod }]
    );
}

#[test]
fn a_retained_pod_is_used_when_the_limit_allows_it() {
    let mut fixture = Fixture::new(1, 1);
    let (own, running) = fixture.ready_pod();
    let (orphan, _) = fixture.find("1", PodOwner::LeaseExpired);
    fixture.handle(PoolEvent::Ready { pod: orphan });
    fixture.tick_after(ORPHAN_GRACE);
    fixture.handle(PoolEvent::Adopted { pod: orphan });
    fixture.handle(PoolEvent::Finished { request: running });
    let commands = fixture.handle(PoolEvent::Gone { pod: own });
    assert!(
        commands.contains(&PoolCommand::Check { pod: orphan }),
        "{commands:?}"
    );
    let (waiting, commands) = fixture.request();
    assert_eq!(commands, [], "no pod is created");
    let commands = fixture.handle(PoolEvent::Ready { pod: orphan });
    assert_eq!(commands, [start(waiting, orphan)]);
}

#[test]
fn a_pod_of_another_replica_is_left_alone() {
    let mut fixture = Fixture::new(2, 1);
    let (pod, running) = fixture.ready_pod();
    assert_eq!(fixture.handle(PoolEvent::Disowned { pod }), []);
    created(&fixture.request().1);
    let commands = fixture.handle(PoolEvent::Finished { request: running });
    assert_eq!(commands, [PoolCommand::Forget { pod }]);
}

#[test]
fn a_draining_replica_releases_pods_when_their_calls_are_finished() {
    let mut fixture = Fixture::new(1, 2);
    let (busy, running) = fixture.ready_pod();
    let (idle, done) = fixture.ready_pod();
    fixture.handle(PoolEvent::Finished { request: done });
    let release = |pod| [PoolCommand::Release { pod }, PoolCommand::Forget { pod }];
    assert_eq!(fixture.handle(PoolEvent::Drain), release(idle));
    let commands = fixture.handle(PoolEvent::Finished { request: running });
    assert_eq!(commands, release(busy));
    let (request, commands) = fixture.request();
    let failure = RequestFailure::Draining;
    assert_eq!(commands, [PoolCommand::Fail { request, failure }]);
}

#[test]
fn warm_up_creates_one_pod() {
    let mut fixture = Fixture::new(1, 2);
    let warm_up = PoolEvent::WarmUp {
        image: image(),
        spec: Arc::clone(&fixture.spec),
    };
    let pod = created(&fixture.handle(warm_up.clone()));
    assert_eq!(fixture.handle(warm_up), []);
    assert_eq!(fixture.handle(PoolEvent::Ready { pod }), []);
    let (request, commands) = fixture.request();
    assert_eq!(commands, [start(request, pod)]);
}

#[test]
fn scale_up_is_not_tried_with_every_request() {
    let mut fixture = Fixture::new(1, 2);
    let (pod, _) = fixture.ready_pod();
    let other = created(&fixture.request().1);
    let not_created = |pod| PoolEvent::CreateFailed {
        pod,
        fault: fault(FaultScope::Image),
    };
    fixture.handle(not_created(other));
    let (request, commands) = fixture.request();
    assert_eq!(commands, [start(request, pod)]);
    fixture.tick_after(Duration::from_secs(1));
    created(&fixture.request().1);
}
