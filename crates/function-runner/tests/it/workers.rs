//! Native functions in worker processes: none of them stops the runner, delays others or outlives it.

use std::fs;
use std::time::Duration;

use kiln_proto::IDENTITY_METADATA;
use kiln_proto::evaluator::function_evaluator_client::FunctionEvaluatorClient;
use kiln_proto::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};
use tokio::task::JoinHandle;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Response, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::program::{LIST, Runner, RunnerFiles};

const NATIVE: &str = "set-namespace:v0.4.1";
const SLEEP: &str = "sleep:latest";

/// Much longer than the slowest machine takes.
const PATIENCE: Duration = Duration::from_secs(120);

fn sleep_list(duration: &str) -> String {
    LIST.replace("namespace: there", &format!("sleepSeconds: \"{duration}\""))
}

type Call = JoinHandle<Result<Response<EvaluateFunctionResponse>, Status>>;

/// Calls on its own connection, with a deadline if one is given.
fn call(runner: &Runner, image: &str, list: String, timeout: Option<Duration>) -> Call {
    let endpoint = Endpoint::from_shared(format!("http://{}", runner.address));
    let endpoint = endpoint.expect("an address");
    call_on(endpoint.connect_lazy(), image, list, timeout)
}

/// Calls on a connection that other calls may use too.
fn call_on(channel: Channel, image: &str, list: String, timeout: Option<Duration>) -> Call {
    let mut request = Request::new(EvaluateFunctionRequest {
        resource_list: list.into(),
        image: image.to_owned(),
    });
    if let Some(timeout) = timeout {
        request.set_timeout(timeout);
    }
    tokio::spawn(async move {
        FunctionEvaluatorClient::new(channel)
            .evaluate_function(request)
            .await
    })
}

/// So many calls of one connection that sleep for an hour.
async fn sleepers(runner: &Runner, count: usize) -> Vec<Call> {
    let channel = runner.channel().await;
    let call = |_| call_on(channel.clone(), SLEEP, sleep_list("3600"), None);
    (0..count).map(call).collect()
}

/// A call that sleeps for less than a turn, and for longer than a call that is not slow.
fn short_sleep() -> String {
    LIST.replace("namespace: there", "duration: 300ms")
}

/// Waits for a call that must not wait for those that sleep.
async fn answer(call: Call) {
    let answered = tokio::time::timeout(PATIENCE, call).await;
    let answered = answered.expect("does not wait").expect("no panic");
    answered.expect("a list");
}

/// The worker processes of a runner.
fn workers(runner: &Runner) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{}/task", runner.child.id())).expect("a process");
    let children = threads.flatten().map(|thread| {
        // A thread may end at any time.
        fs::read_to_string(thread.path().join("children")).unwrap_or_default()
    });
    let children: Vec<String> = children.collect();
    let ids = children.iter().flat_map(|ids| ids.split_whitespace());
    let ids = ids.filter_map(|id| id.parse().ok());
    ids.filter(|id| is_worker(*id)).collect()
}

pub(crate) fn is_worker(id: u32) -> bool {
    let name = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    name.starts_with(b"kiln-worker\0")
}

fn kill(id: u32) {
    let id = i32::try_from(id).ok().and_then(Pid::from_raw);
    let _ = kill_process(id.expect("an id"), Signal::KILL);
}

/// The kernel sends no event for this, so this polls.
async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(PATIENCE, waiting).await;
    assert!(waited.is_ok(), "never: {what}");
}

/// A worker that is not waiting for a call: a function that sleeps waits for a lock with a timeout, not for the socket.
async fn busy_worker(runner: &Runner) -> u32 {
    let sleeps = |id: &u32| {
        let call = fs::read_to_string(format!("/proc/{id}/syscall")).unwrap_or_default();
        // futex, on x86-64 and on arm64.
        call.starts_with("202 ") || call.starts_with("98 ")
    };
    let mut found = None;
    eventually("a worker that sleeps", || {
        found = workers(runner).into_iter().find(sleeps);
        found.is_some()
    })
    .await;
    found.expect("a worker")
}

#[tokio::test]
async fn a_worker_is_confined() {
    let files = RunnerFiles::empty();
    let runner = files.start(&["--disable-runtimes=exec,pod", "--exec-sandbox=strict"]);
    runner.call(NATIVE).await.expect("a list");
    let is_confined = |id: u32| {
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let lines = ["NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000"];
        lines.iter().all(|line| status.contains(line))
    };
    // A new worker confines itself before it takes a call.
    eventually("all workers are confined", || {
        let ids = workers(&runner);
        !ids.is_empty() && ids.into_iter().all(is_confined)
    })
    .await;
    for id in workers(&runner) {
        let files = fs::read_dir(format!("/proc/{id}/fd")).expect("a process");
        // The socket as standard input and once more, standard output and standard error.
        assert_eq!(files.count(), 4);
        let environment = fs::read(format!("/proc/{id}/environ")).expect("a process");
        assert_eq!(environment, b"");
    }
}

#[tokio::test]
async fn a_response_reports_what_exactly_ran() {
    let files = RunnerFiles::empty();
    let runner = files.start(&["--disable-runtimes=exec,pod"]);
    let response = call(&runner, "set-namespace:v0.4", LIST.to_owned(), None);
    let response = response.await.expect("no panic").expect("a list");
    let identity = response.metadata().get(IDENTITY_METADATA);
    let identity = identity.and_then(|text| text.to_str().ok());
    assert_eq!(identity, Some("native:set-namespace@v0.4.5#1"));
}

#[tokio::test]
async fn a_function_is_killed_at_its_deadline_and_others_go_on() {
    let files = RunnerFiles::empty();
    let runner = files.start(&["--disable-runtimes=exec,pod", "--max-concurrent-native=1"]);
    let timeout = Duration::from_millis(300);
    let late: Vec<_> = (0..4)
        .map(|_| call(&runner, SLEEP, sleep_list("3600"), Some(timeout)))
        .collect();
    for late in late {
        let status = late.await.expect("no panic").expect_err("late");
        // The client may notice first.
        let codes = [Code::DeadlineExceeded, Code::Cancelled];
        assert!(codes.contains(&status.code()), "{status:?}");
    }
    runner.call(NATIVE).await.expect("a list");
    // The late ones are gone; one for small lists and one for large ones may stay.
    eventually("few workers are left", || workers(&runner).len() <= 2).await;
}

#[tokio::test]
async fn functions_that_take_long_keep_no_others_waiting() {
    let files = RunnerFiles::empty();
    let runner = files.start(&["--disable-runtimes=exec,pod", "--max-concurrent-native=1"]);
    let _sleeping: Vec<_> = (0..8)
        .map(|_| call(&runner, SLEEP, sleep_list("3600"), None))
        .collect();
    busy_worker(&runner).await;
    for _ in 0..3 {
        let answered = tokio::time::timeout(PATIENCE, runner.call(NATIVE)).await;
        answered.expect("does not wait").expect("a list");
    }
}

/// With slots for two cores: 32 run, 8 more are suspended, and the others wait without a worker.
const TWO_CORES: [&str; 3] = [
    "--disable-runtimes=exec,pod",
    "--max-concurrent-native=2",
    "--max-slow-native=32",
];

#[tokio::test]
async fn more_slow_functions_than_slots_keep_no_others_waiting() {
    for count in [33, 34, 40, 60] {
        let files = RunnerFiles::empty();
        let runner = files.start(&TWO_CORES);
        let sleeping = sleepers(&runner, count).await;
        eventually("the calls have workers", || {
            workers(&runner).len() >= count.min(40)
        })
        .await;
        for _ in 0..3 {
            answer(call(&runner, NATIVE, LIST.to_owned(), None)).await;
        }
        let comment = format!("# {}\n", "v".repeat(300 * 1024));
        answer(call(&runner, NATIVE, comment + LIST, None)).await;
        for call in sleeping {
            assert!(!call.is_finished(), "refused");
            call.abort();
        }
        eventually("few workers are left", || workers(&runner).len() <= 8).await;
    }
}

/// One slow call runs, four are suspended, and the others wait without a worker.
const ONE_SLOW: [&str; 3] = [
    "--disable-runtimes=exec,pod",
    "--max-concurrent-native=1",
    "--max-slow-native=1",
];

#[tokio::test]
async fn slow_functions_take_turns() {
    let files = RunnerFiles::empty();
    let runner = files.start(&ONE_SLOW);
    let _sleeping = sleepers(&runner, 8).await;
    eventually("the calls have workers", || workers(&runner).len() >= 5).await;
    answer(call(&runner, SLEEP, short_sleep(), None)).await;
}

#[tokio::test]
async fn slow_functions_that_wait_all_end() {
    let files = RunnerFiles::empty();
    let runner = files.start(&ONE_SLOW);
    let channel = runner.channel().await;
    let calls = [(); 12].map(|()| call_on(channel.clone(), SLEEP, short_sleep(), None));
    for call in calls {
        answer(call).await;
    }
}

#[tokio::test]
async fn a_slow_function_that_waits_is_killed_at_its_deadline() {
    let files = RunnerFiles::empty();
    let runner = files.start(&ONE_SLOW);
    let channel = runner.channel().await;
    let timeout = Some(Duration::from_secs(3));
    let calls = [(); 8].map(|()| call_on(channel.clone(), SLEEP, sleep_list("3600"), timeout));
    for call in calls {
        let status = call.await.expect("no panic").expect_err("late");
        // The client may notice first.
        let codes = [Code::DeadlineExceeded, Code::Cancelled];
        assert!(codes.contains(&status.code()), "{status:?}");
    }
    eventually("few workers are left", || workers(&runner).len() <= 2).await;
    answer(call(&runner, NATIVE, LIST.to_owned(), None)).await;
}

#[tokio::test]
async fn slow_functions_beyond_the_queue_are_refused() {
    let files = RunnerFiles::empty();
    let runner = files.start(&[&ONE_SLOW[..], &["--max-queued-evaluations=1"]].concat());
    let channel = runner.channel().await;
    let sleeper = || call_on(channel.clone(), SLEEP, sleep_list("3600"), None);
    let _running = sleeper();
    busy_worker(&runner).await;
    let _suspended = sleeper();
    eventually("a worker is suspended", || {
        workers(&runner).into_iter().any(is_stopped)
    })
    .await;
    let status = sleeper().await.expect("no panic").expect_err("refused");
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    let retry = String::from_utf8_lossy(status.details()).contains("google.rpc.RetryInfo");
    assert!(retry, "{status:?}");
}

fn is_stopped(id: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    status.contains("State:\tT")
}

#[tokio::test]
async fn a_worker_that_is_killed_fails_its_call_only() {
    let files = RunnerFiles::empty();
    let runner = files.start(&["--disable-runtimes=exec,pod"]);
    let sleeping = call(&runner, SLEEP, sleep_list("3600"), None);
    kill(busy_worker(&runner).await);
    let status = sleeping.await.expect("no panic").expect_err("killed");
    assert_eq!(status.code(), Code::Internal);
    let text = "function \"sleep:latest\" ended its worker process (signal 9)";
    assert_eq!(status.message(), text);
    // An idle worker that exits has no effect.
    for id in workers(&runner) {
        kill(id);
        eventually("a process has ended", || !is_worker(id)).await;
    }
    runner.call(NATIVE).await.expect("a list");
}

#[tokio::test]
async fn memory_is_limited() {
    let files = RunnerFiles::empty();
    let limit = "--native-memory-limit=16000000";
    let runner = files.start(&["--disable-runtimes=exec,pod", limit]);
    let value = format!("namespace: {}", "v".repeat(4 << 20));
    let large = LIST.replace("namespace: there", &value);
    let called = call(&runner, NATIVE, large, None).await;
    let status = called.expect("no panic").expect_err("too large");
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    let text = "function \"set-namespace:v0.4.1\": function used more than 16000000 bytes of memory and was killed; \
                --native-memory-limit allows more";
    assert_eq!(status.message(), text);
    runner.call(NATIVE).await.expect("a list");
}

#[tokio::test]
async fn a_caller_that_disconnects_ends_the_function() {
    let files = RunnerFiles::empty();
    let runner = files.start(&["--disable-runtimes=exec,pod"]);
    let sleeping = call(&runner, SLEEP, sleep_list("3600"), None);
    let busy = busy_worker(&runner).await;
    sleeping.abort();
    eventually("the worker has ended", || !is_worker(busy)).await;
}

#[tokio::test]
async fn workers_do_not_outlive_the_runner() {
    let files = RunnerFiles::empty();
    let mut runner = files.start(&["--disable-runtimes=exec,pod"]);
    let _sleeping = call(&runner, SLEEP, sleep_list("3600"), None);
    let busy = busy_worker(&runner).await;
    let all = workers(&runner);
    assert!(all.contains(&busy));
    kill(runner.child.id());
    runner.wait();
    for id in all {
        eventually("the worker has ended", || !is_worker(id)).await;
    }
}

#[tokio::test]
async fn health_follows_whether_there_can_be_workers() {
    let files = RunnerFiles::empty();
    let runner = files.start(&["--disable-runtimes=exec,pod", "--max-concurrent-native=1"]);
    // Both on one connection: there cannot be another one below.
    let channel = runner.channel().await;
    let mut evaluator = FunctionEvaluatorClient::new(channel.clone());
    let mut health = HealthClient::new(channel);
    let request = HealthCheckRequest {
        service: kiln_proto::SERVICE.to_owned(),
    };
    let mut statuses = health.watch(request).await.expect("a stream").into_inner();
    let mut next = async || {
        let message = tokio::time::timeout(PATIENCE, statuses.message()).await;
        let message = message.expect("in time").expect("a message");
        message.expect("a status").status
    };
    // NOT_SERVING comes first if the workers are still starting.
    while next().await != 1 {}
    // A connection without a call is closed when descriptors run out, so this one has a call.
    let mut sleeper = evaluator.clone();
    let _sleeping = tokio::spawn(async move {
        let request = EvaluateFunctionRequest {
            resource_list: sleep_list("3600").into(),
            image: SLEEP.to_owned(),
        };
        sleeper.evaluate_function(request).await
    });
    let busy = busy_worker(&runner).await;

    let id = i32::try_from(runner.child.id())
        .ok()
        .and_then(Pid::from_raw);
    let nothing = Rlimit {
        current: Some(0),
        maximum: getrlimit(Resource::Nofile).maximum,
    };
    let before = prlimit(id, Resource::Nofile, nothing).expect("a limit");
    // No sockets for workers are left.
    for id in workers(&runner).into_iter().filter(|id| *id != busy) {
        kill(id);
        eventually("a process has ended", || !is_worker(id)).await;
    }
    let request = EvaluateFunctionRequest {
        resource_list: LIST.into(),
        image: NATIVE.to_owned(),
    };
    let status = evaluator.evaluate_function(request).await;
    let status = status.expect_err("no worker");
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    assert_eq!(next().await, 2, "NOT_SERVING");

    prlimit(id, Resource::Nofile, before).expect("a limit");
    assert_eq!(next().await, 1, "SERVING");
    runner.call(NATIVE).await.expect("a list");
}
