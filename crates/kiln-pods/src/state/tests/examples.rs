//! The machine by example: what a reader wants to see before the properties.

use std::sync::Arc;
use std::time::Duration;

use super::super::{
    Command, Event, Failure, Found, ImageKey, Lasts, Moment, Owner, Plan, PodId, Pool, RequestId,
    Started,
};
use super::{ORPHAN_GRACE, SCAN_INTERVAL, START_TIMEOUT, TTL, fault, plan, version};

/// A pool with one image and a clock.
struct Bench {
    pool: Pool,
    plan: Arc<Plan>,
    now: Moment,
    next_request: u64,
}

impl Bench {
    fn new(max_waitlist: usize, max_pods: usize) -> Bench {
        let mut bench = Bench {
            pool: Pool::new(SCAN_INTERVAL, ORPHAN_GRACE),
            plan: plan(max_waitlist, max_pods, "1"),
            now: Moment::default(),
            next_request: 0,
        };
        assert_eq!(bench.tell(Event::Fresh), []);
        bench
    }

    fn tell(&mut self, event: Event) -> Vec<Command> {
        self.pool.handle(self.now, event)
    }

    fn request(&mut self) -> (RequestId, Vec<Command>) {
        self.next_request += 1;
        let request = RequestId(self.next_request);
        let commands = self.tell(Event::Request {
            request,
            image: image(),
            plan: Arc::clone(&self.plan),
        });
        (request, commands)
    }

    fn replan(&mut self, plan: Arc<Plan>) -> Vec<Command> {
        self.plan = Arc::clone(&plan);
        self.tell(Event::Planned {
            image: image(),
            plan,
        })
    }

    fn tick_after(&mut self, time: Duration) -> Vec<Command> {
        self.now = self.now.after(time);
        self.tell(Event::Tick)
    }

    /// A pod that is ready, and the request that it was made for.
    fn ready_pod(&mut self) -> (PodId, RequestId) {
        let (request, commands) = self.request();
        let pod = created(&commands);
        self.tell(Event::Created {
            pod,
            version: self.plan.version.clone(),
        });
        assert_eq!(self.tell(Event::Ready { pod }), [start(request, pod)]);
        (pod, request)
    }

    fn find(&mut self, template: &str, owner: Owner) -> (PodId, Vec<Command>) {
        let pod = self.pool.name_found_pod();
        let commands = self.tell(Event::Found(Found {
            pod,
            image: image(),
            plan: Arc::clone(&self.plan),
            version: version(template),
            owner,
            reclaim_in: None,
        }));
        (pod, commands)
    }
}

fn image() -> ImageKey {
    ImageKey::new("gcr.io/kpt-fn/set-labels:v0.1")
}

fn used(pod: PodId, idle: Option<u64>) -> Event {
    let idle = idle.map(Duration::from_secs);
    Event::Used { pod, idle }
}

fn start(request: RequestId, pod: PodId) -> Command {
    Command::Start { request, pod }
}

#[track_caller]
fn created(commands: &[Command]) -> PodId {
    match commands {
        [Command::Create { pod, .. }] => *pod,
        other => panic!("one creation was expected, not {other:?}"),
    }
}

#[test]
fn a_warm_request_is_started_at_once() {
    let mut bench = Bench::new(2, 3);
    let (pod, first) = bench.ready_pod();
    assert_eq!(bench.tell(Event::Over { request: first }), []);
    let (request, commands) = bench.request();
    assert_eq!(commands, [start(request, pod)]);
}

#[test]
fn pods_are_added_when_the_best_has_enough() {
    let mut bench = Bench::new(2, 3);
    let creations: Vec<usize> = (0..50).map(|_| bench.request().1.len()).collect();
    let mut expected = vec![1, 0, 1, 0, 1];
    expected.resize(50, 0);
    assert_eq!(creations, expected);
}

#[test]
fn work_is_shared_evenly_when_all_pods_are_there() {
    let mut bench = Bench::new(2, 3);
    let created: Vec<PodId> = (0..50)
        .flat_map(|_| bench.request().1)
        .filter_map(|command| match command {
            Command::Create { pod, .. } => Some(pod),
            _ => None,
        })
        .collect();
    for pod in created {
        bench.tell(Event::Ready { pod });
    }
    let mut loads: Vec<usize> = bench.pool.loads().map(|(_, load)| load).collect();
    loads.sort_unstable();
    assert_eq!(loads, [16, 17, 17]);
}

#[test]
fn equals_take_turns() {
    let mut bench = Bench::new(1, 3);
    let pods: Vec<(PodId, RequestId)> = (0..3).map(|_| bench.ready_pod()).collect();
    for (_, request) in &pods {
        bench.tell(Event::Over { request: *request });
    }
    let mut turns = Vec::new();
    for _ in 0..9 {
        let (request, commands) = bench.request();
        if let [Command::Start { pod, .. }] = commands[..] {
            turns.push(pod);
        }
        bench.tell(Event::Over { request });
    }
    let order: Vec<PodId> = pods.iter().map(|(pod, _)| *pod).collect();
    assert_eq!(turns, [order.clone(), order.clone(), order].concat());
}

#[test]
fn the_reason_of_kubernetes_reaches_those_who_wait() {
    let mut bench = Bench::new(2, 1);
    let (first, commands) = bench.request();
    let (second, _) = bench.request();
    let pod = created(&commands);
    let fault = fault(Lasts::Yes);
    let commands = bench.tell(Event::Failed {
        pod,
        fault: fault.clone(),
    });
    let fail = |request| Command::Fail {
        request,
        failure: Failure::NoPod(fault.clone()),
    };
    assert_eq!(
        commands,
        [fail(first), fail(second), Command::Delete { pod }]
    );
}

#[test]
fn those_who_wait_move_to_a_pod_that_is_left() {
    let mut bench = Bench::new(1, 2);
    let (pod, running) = bench.ready_pod();
    let (waiting, commands) = bench.request();
    let other = created(&commands);
    let commands = bench.tell(Event::Failed {
        pod: other,
        fault: fault(Lasts::Yes),
    });
    let delete = Command::Delete { pod: other };
    assert_eq!(commands, [delete, start(waiting, pod)]);
    assert_eq!(bench.tell(Event::Over { request: running }), []);
}

#[test]
fn a_caller_who_gives_up_leaves_no_load_behind() {
    let mut bench = Bench::new(2, 1);
    let (pod, running) = bench.ready_pod();
    bench.tell(Event::Over { request: running });
    assert_eq!(bench.pool.loads().collect::<Vec<_>>(), [(pod, 0)]);
    let commands = bench.tick_after(TTL);
    assert_eq!(commands, [Command::Delete { pod }]);
}

#[test]
fn a_call_that_surely_did_not_start_goes_elsewhere_and_others_are_told() {
    let mut bench = Bench::new(1, 2);
    let (pod, first) = bench.ready_pod();
    let (other, second) = bench.ready_pod();
    bench.tell(Event::Over { request: second });
    let lost = |started| Event::Lost {
        request: first,
        started,
        fault: fault(Lasts::No),
    };
    let check = |pod| Command::Check { pod };
    assert_eq!(
        bench.tell(lost(Started::No)),
        [check(pod), start(first, other)]
    );
    let interrupted = Command::Fail {
        request: first,
        failure: Failure::Interrupted(fault(Lasts::No)),
    };
    assert_eq!(
        bench.tell(lost(Started::Maybe)),
        [check(other), interrupted]
    );
    assert_eq!(bench.tell(Event::Over { request: first }), []);
}

#[test]
fn an_old_pod_finishes_its_work_and_is_replaced() {
    let mut bench = Bench::new(2, 1);
    let (old, running) = bench.ready_pod();
    assert_eq!(bench.replan(plan(2, 1, "2")), []);
    let (waiting, commands) = bench.request();
    assert_eq!(commands, []);
    let commands = bench.tell(Event::Over { request: running });
    assert_eq!(commands, [Command::Delete { pod: old }]);
    let new = created(&bench.tell(Event::Terminating { pod: old }));
    let commands = bench.tell(Event::Ready { pod: new });
    assert_eq!(commands, [start(waiting, new)]);
}

#[test]
fn nothing_is_deleted_on_stale_knowledge_and_warm_requests_go_on() {
    let mut bench = Bench::new(1, 3);
    let (pod, first) = bench.ready_pod();
    bench.tell(Event::Stale);
    let (second, commands) = bench.request();
    assert_eq!(commands, [start(second, pod)]);
    bench.tell(Event::Over { request: first });
    bench.tell(Event::Over { request: second });
    assert_eq!(bench.tick_after(TTL * 3), []);
    assert_eq!(bench.replan(plan(1, 3, "2")), []);
    assert_eq!(bench.tell(Event::Fresh), [Command::Delete { pod }]);
}

#[test]
fn the_annotation_is_written_by_the_scan_only() {
    let mut bench = Bench::new(1, 1);
    let (pod, running) = bench.ready_pod();
    let annotate = |reclaim_in| Command::Annotate { pod, reclaim_in };
    assert_eq!(bench.tick_after(SCAN_INTERVAL), [annotate(TTL)]);
    assert_eq!(bench.tick_after(SCAN_INTERVAL / 2), []);
    assert_eq!(bench.tick_after(SCAN_INTERVAL / 2), [annotate(TTL)]);
    bench.tell(Event::Over { request: running });
    assert_eq!(bench.tick_after(SCAN_INTERVAL), []);
    // Somebody has taken it away.
    assert_eq!(bench.tell(Event::Unannotated { pod }), []);
    let left = TTL - SCAN_INTERVAL * 2;
    assert_eq!(bench.tick_after(SCAN_INTERVAL), [annotate(left)]);
    assert_eq!(bench.tick_after(left), [Command::Delete { pod }]);
}

#[test]
fn a_deleted_service_is_made_again() {
    let mut bench = Bench::new(1, 1);
    let (pod, running) = bench.ready_pod();
    bench.tell(Event::Over { request: running });
    let commands = bench.tell(Event::ServiceGone { pod });
    assert_eq!(commands, [Command::RestoreService { pod }]);
    let (waiting, commands) = bench.request();
    assert_eq!(commands, []);
    let commands = bench.tell(Event::Ready { pod });
    assert_eq!(commands, [start(waiting, pod)]);
}

#[test]
fn a_pod_that_takes_too_long_has_failed() {
    let mut bench = Bench::new(1, 1);
    let (waiting, commands) = bench.request();
    let pod = created(&commands);
    bench.tick_after(Duration::ZERO);
    let late = bench.now.after(START_TIMEOUT);
    assert_eq!(bench.pool.next_tick(), Some(bench.now.after(SCAN_INTERVAL)));
    let commands = bench.tick_after(late.since(bench.now));
    let [
        Command::Fail { request, failure },
        Command::Delete { pod: deleted },
    ] = &commands[..]
    else {
        panic!("{commands:?}");
    };
    assert_eq!((*request, *deleted), (waiting, pod));
    let Failure::NoPod(fault) = failure else {
        panic!("{failure:?}");
    };
    assert_eq!(
        fault.to_string(),
        "Timeout: the pod was not ready within 1m0s"
    );
}

#[test]
fn pods_of_nobody_are_adopted_as_far_as_there_is_room() {
    let mut bench = Bench::new(1, 1);
    let (first, commands) = bench.find("1", Owner::Nobody);
    assert_eq!(commands, [Command::Adopt { pod: first }]);
    let (second, commands) = bench.find("1", Owner::Nobody);
    assert_eq!(commands, []);
    let (outdated, commands) = bench.find("0", Owner::GivenBack);
    assert_eq!(commands, [Command::Collect { pod: outdated }]);
    // Another replica was faster, so there is room again.
    let commands = bench.tell(Event::Disowned { pod: first });
    let adopt = Command::Adopt { pod: second };
    assert_eq!(commands, [adopt, Command::Forget { pod: first }]);
    let commands = bench.tell(Event::Adopted { pod: second });
    assert_eq!(commands, [Command::Check { pod: second }]);
    let (request, _) = bench.request();
    let commands = bench.tell(Event::Ready { pod: second });
    assert_eq!(commands, [start(request, second)]);
}

#[test]
fn pods_of_nobody_that_nobody_takes_are_collected() {
    let mut bench = Bench::new(1, 1);
    bench.ready_pod();
    let (orphan, _) = bench.find("1", Owner::Nobody);
    assert_eq!(
        bench
            .tick_after(ORPHAN_GRACE - Duration::from_secs(1))
            .len(),
        1
    );
    let commands = bench.tick_after(Duration::from_secs(1));
    assert_eq!(commands, [Command::Collect { pod: orphan }]);
}

/// Their replica may be cut off from the API server and still be calling them.
#[test]
fn pods_of_nobody_that_answer_are_kept_beside_ours() {
    let mut bench = Bench::new(1, 1);
    let (own, running) = bench.ready_pod();
    let (orphan, _) = bench.find("1", Owner::Nobody);
    bench.tell(Event::Ready { pod: orphan });
    bench.tell(used(orphan, Some(0)));
    let (second, _) = bench.find("1", Owner::Nobody);
    bench.tell(Event::Ready { pod: second });
    let adopt = Command::Adopt { pod: orphan };
    let commands = bench.tick_after(ORPHAN_GRACE);
    assert!(commands.contains(&adopt), "{commands:?}");
    // As many more as we may have, and no more than that.
    assert!(
        commands.contains(&Command::Collect { pod: second }),
        "{commands:?}"
    );
    assert_eq!(bench.tell(Event::Adopted { pod: orphan }), []);
    // It is not one of those that we use.
    let (waiting, commands) = bench.request();
    assert_eq!(commands, [start(waiting, own)]);
    for request in [running, waiting] {
        bench.tell(Event::Over { request });
    }
    // It is asked before it goes, and as long as others call it, it stays.
    let commands = bench.tick_after(TTL);
    let delete = |pod| Command::Delete { pod };
    assert!(commands.contains(&delete(own)), "{commands:?}");
    assert!(!commands.contains(&delete(orphan)), "{commands:?}");
    assert!(
        commands.contains(&Command::Ask { pod: orphan }),
        "{commands:?}"
    );
    assert_eq!(bench.tell(used(orphan, Some(0))), []);
    let ask = Command::Ask { pod: orphan };
    let commands = bench.tick_after(TTL);
    assert!(commands.contains(&ask), "{commands:?}");
    let commands = bench.tell(used(orphan, Some(100)));
    assert_eq!(commands, [delete(orphan)]);
}

#[test]
fn outdated_pods_of_nobody_stay_while_they_are_called() {
    let mut bench = Bench::new(1, 1);
    let grace = ORPHAN_GRACE.as_secs();
    let collect = |pod| Command::Collect { pod };
    let find = |bench: &mut Bench| {
        let (pod, commands) = bench.find("0", Owner::Nobody);
        assert_eq!(commands, []);
        assert_eq!(bench.tell(Event::Ready { pod }), [Command::Ask { pod }]);
        pod
    };
    for unused in [None, Some(grace)] {
        let pod = find(&mut bench);
        assert_eq!(bench.tell(used(pod, unused)), [collect(pod)]);
    }
    let called = find(&mut bench);
    let (silent, _) = bench.find("0", Owner::Nobody);
    assert_eq!(bench.tell(used(called, Some(1))), []);
    let commands = bench.tick_after(ORPHAN_GRACE);
    assert!(commands.contains(&Command::Adopt { pod: called }));
    assert!(commands.contains(&collect(silent)), "{commands:?}");
    bench.tell(Event::Adopted { pod: called });
    // It gets no work from us, and goes when others give it none either.
    let new = created(&bench.request().1);
    assert_ne!(new, called);
    let commands = bench.tick_after(ORPHAN_GRACE);
    assert!(
        commands.contains(&Command::Ask { pod: called }),
        "{commands:?}"
    );
    let commands = bench.tell(used(called, Some(grace)));
    assert_eq!(commands, [Command::Delete { pod: called }]);
}

/// Its annotation is kept current by a replica that may be cut off.
#[test]
fn a_pod_of_nobody_whose_time_is_up_on_paper_is_asked() {
    let mut bench = Bench::new(1, 1);
    let pod = bench.pool.name_found_pod();
    let commands = bench.tell(Event::Found(Found {
        pod,
        image: image(),
        plan: Arc::clone(&bench.plan),
        version: version("1"),
        owner: Owner::Nobody,
        reclaim_in: Some(Duration::ZERO),
    }));
    assert_eq!(commands, []);
    assert_eq!(bench.tell(Event::Ready { pod }), [Command::Ask { pod }]);
    let adopt = Command::Adopt { pod };
    assert_eq!(bench.tell(used(pod, Some(0))), [adopt]);
    bench.tell(Event::Adopted { pod });
    bench.tell(Event::Ready { pod });
    // Ours now, it is asked nevertheless.
    let commands = bench.tick_after(TTL);
    assert_eq!(commands, [Command::Ask { pod }]);
    assert_eq!(bench.tell(used(pod, Some(0))), []);
    bench.tick_after(TTL);
    assert_eq!(bench.tell(used(pod, None)), [Command::Delete { pod }]);
}

#[test]
fn a_pod_that_was_kept_is_used_when_there_is_room() {
    let mut bench = Bench::new(1, 1);
    let (own, running) = bench.ready_pod();
    let (orphan, _) = bench.find("1", Owner::Nobody);
    bench.tell(Event::Ready { pod: orphan });
    bench.tick_after(ORPHAN_GRACE);
    bench.tell(Event::Adopted { pod: orphan });
    bench.tell(Event::Over { request: running });
    let commands = bench.tell(Event::Gone { pod: own });
    assert!(
        commands.contains(&Command::Check { pod: orphan }),
        "{commands:?}"
    );
    let (waiting, commands) = bench.request();
    assert_eq!(commands, [], "no pod is made");
    let commands = bench.tell(Event::Ready { pod: orphan });
    assert_eq!(commands, [start(waiting, orphan)]);
}

#[test]
fn a_pod_that_another_replica_has_is_left_alone() {
    let mut bench = Bench::new(2, 1);
    let (pod, running) = bench.ready_pod();
    assert_eq!(bench.tell(Event::Disowned { pod }), []);
    created(&bench.request().1);
    let commands = bench.tell(Event::Over { request: running });
    assert_eq!(commands, [Command::Forget { pod }]);
}

#[test]
fn a_replica_that_ends_gives_its_pods_back_when_their_work_is_done() {
    let mut bench = Bench::new(1, 2);
    let (busy, running) = bench.ready_pod();
    let (idle, done) = bench.ready_pod();
    bench.tell(Event::Over { request: done });
    let give_back = |pod| [Command::Release { pod }, Command::Forget { pod }];
    assert_eq!(bench.tell(Event::Drain), give_back(idle));
    let commands = bench.tell(Event::Over { request: running });
    assert_eq!(commands, give_back(busy));
    let (request, commands) = bench.request();
    let failure = Failure::Draining;
    assert_eq!(commands, [Command::Fail { request, failure }]);
}

#[test]
fn warming_up_makes_one_pod() {
    let mut bench = Bench::new(1, 2);
    let warm_up = Event::WarmUp {
        image: image(),
        plan: Arc::clone(&bench.plan),
    };
    let pod = created(&bench.tell(warm_up.clone()));
    assert_eq!(bench.tell(warm_up), []);
    assert_eq!(bench.tell(Event::Ready { pod }), []);
    let (request, commands) = bench.request();
    assert_eq!(commands, [start(request, pod)]);
}

#[test]
fn adding_pods_is_not_tried_with_every_request() {
    let mut bench = Bench::new(1, 2);
    let (pod, _) = bench.ready_pod();
    let other = created(&bench.request().1);
    let not_created = |pod| Event::NotCreated {
        pod,
        fault: fault(Lasts::Yes),
    };
    bench.tell(not_created(other));
    let (request, commands) = bench.request();
    assert_eq!(commands, [start(request, pod)]);
    bench.tick_after(Duration::from_secs(1));
    created(&bench.request().1);
}
