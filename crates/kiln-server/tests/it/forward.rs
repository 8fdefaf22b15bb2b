//! Calls that run elsewhere: not parsed, with their deadline, and cancelled with their caller.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kiln_proto::FunctionFailure;
use kiln_proto::SERVICE;
use kiln_proto::failure;
use kiln_runtime::{
    AsyncRunner, Deadline, Evaluator, EvaluatorChain, FindError, Found, FunctionSpec, Input,
    Outcome, Output, RunContext, RunError, RunFuture, Runner,
};
use kiln_server::{AdmissionOptions, Options, Server, Words};
use tokio::sync::{Semaphore, mpsc, watch};
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::harness::{Entries, LIST, TestServer, request};
use crate::health::check;

/// Behaves by the name of the image, and reports when calls start and end.
#[derive(Clone)]
struct Elsewhere {
    begun: mpsc::UnboundedSender<ElsewhereCall>,
    ended: mpsc::UnboundedSender<()>,
    go: Arc<Semaphore>,
}

/// A function that runs elsewhere.
struct ElsewhereRunner {
    image: String,
    elsewhere: Elsewhere,
}

/// A call that has started.
struct ElsewhereCall {
    image: String,
    list: Bytes,
    deadline: Option<Deadline>,
}

/// The receiver of the reports.
struct CallReports {
    begun: mpsc::UnboundedReceiver<ElsewhereCall>,
    ended: mpsc::UnboundedReceiver<()>,
    go: Arc<Semaphore>,
}

struct ReportsEnd(mpsc::UnboundedSender<()>);

impl Drop for ReportsEnd {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

impl Evaluator for Elsewhere {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        Ok(Found::Async(Arc::new(ElsewhereRunner {
            image: function.name().to_owned(),
            elsewhere: self.clone(),
        })))
    }
}

impl AsyncRunner for ElsewhereRunner {
    fn run(&self, list: Bytes, deadline: Option<Deadline>) -> RunFuture<'_> {
        let ended = ReportsEnd(self.elsewhere.ended.clone());
        let _ = self.elsewhere.begun.send(ElsewhereCall {
            image: self.image.clone(),
            list: list.clone(),
            deadline,
        });
        let answered = |status: Status| Err(RunError::Remote(Box::new(status)));
        Box::pin(async move {
            let _ended = ended;
            let mut exit_code = 0;
            match self.image.as_str() {
                "unknown" => return Err(RunError::NotFound("no registry knows it".into())),
                "stuck" => return answered(Status::unavailable("no pod: it is stuck")),
                "ending" => return answered(Status::unavailable(kiln_proto::SHUTTING_DOWN)),
                "failed" => {
                    let failure = FunctionFailure {
                        image: self.image.clone(),
                        exit_code: 3,
                        output: Bytes::from(vec![b'x'; 100_000]),
                        stderr: "said".into(),
                        ..FunctionFailure::default()
                    };
                    let text = "failed to evaluate function".to_owned();
                    let status = failure::to_status(Code::Internal, text, failure, 1_000_000);
                    return answered(status);
                }
                "refused" => {
                    return answered(Status::invalid_argument("cannot read the resource list"));
                }
                "exits" => exit_code = 4,
                "waits" => drop(self.elsewhere.go.acquire().await),
                _ => {}
            }
            Ok(Outcome {
                exit_code,
                signal: None,
                output: Output::Wire(list),
                stderr: b"log".to_vec(),
                elapsed: Duration::ZERO,
                identity: None,
                is_cached: false,
            })
        })
    }
}

fn elsewhere() -> (Arc<Elsewhere>, CallReports) {
    let (begun, hears_begun) = mpsc::unbounded_channel();
    let (ended, hears_ended) = mpsc::unbounded_channel();
    let go = Arc::new(Semaphore::new(0));
    let elsewhere = Elsewhere {
        begun,
        ended,
        go: Arc::clone(&go),
    };
    let reports = CallReports {
        begun: hears_begun,
        ended: hears_ended,
        go,
    };
    (Arc::new(elsewhere), reports)
}

async fn test_server(options: Options) -> (TestServer, CallReports) {
    let (elsewhere, reports) = elsewhere();
    let test_server = TestServer::with_more(options, Words::Runner, vec![("pod", elsewhere)]).await;
    (test_server, reports)
}

#[tokio::test]
async fn what_no_evaluator_here_has_runs_elsewhere_unread() {
    let (test_server, mut reports) = test_server(Options::default()).await;
    let no_list = Bytes::from_static(b"\xff: no list at all");
    let answer = test_server
        .call("image", no_list.clone())
        .await
        .expect("it back");
    assert_eq!(answer.resource_list, no_list);
    assert_eq!(answer.log, "log");
    let call = reports.begun.recv().await.expect("a call");
    assert_eq!((call.image.as_str(), call.list), ("image", no_list));
    // Local evaluators do not.
    test_server.call("tree", LIST).await.expect("a list");
    assert!(reports.begun.try_recv().is_err());
}

#[tokio::test]
async fn errors_have_their_codes_and_texts() {
    let (test_server, _reports) = test_server(Options::default()).await;
    for (image, code, text) in [
        (
            "unknown",
            Code::NotFound,
            "function \"unknown\" not found; evaluators asked: native, exec, pod: no registry knows it",
        ),
        ("stuck", Code::Unavailable, "no pod: it is stuck"),
        ("ending", Code::Unavailable, "the server is shutting down"),
        (
            "refused",
            Code::InvalidArgument,
            "cannot read the resource list",
        ),
        ("failed", Code::Internal, "failed to evaluate function"),
        (
            "exits",
            Code::Internal,
            "Failed to execute function \"exits\": exit status 4 (log)",
        ),
    ] {
        let status = test_server.call(image, LIST).await.expect_err("no answer");
        assert_eq!((status.code(), status.message()), (code, text), "{image}");
    }
}

#[tokio::test]
async fn details_are_cut_to_what_the_caller_takes() {
    let (test_server, _reports) = test_server(Options::default()).await;
    for (room, output) in [(None, 0), (Some("1000000"), 100_000)] {
        let mut request = request("failed", LIST);
        if let Some(room) = room {
            let room = room.parse().expect("a number");
            request.metadata_mut().insert(failure::ROOM_METADATA, room);
        }
        let answer = test_server.client().await.evaluate_function(request).await;
        let status = answer.expect_err("a failure");
        let failure = failure::from_status(&status).expect("details");
        assert_eq!(failure.exit_code, 3);
        assert_eq!(failure.stderr, "said");
        assert_eq!(failure.output.len(), output);
    }
}

#[tokio::test]
async fn the_deadline_is_passed_on_and_ends_the_call() {
    let options = Options {
        evaluation_timeout: Some(Duration::from_millis(100)),
        ..Options::default()
    };
    let (test_server, mut reports) = test_server(options).await;
    let status = test_server.call("waits", LIST).await.expect_err("late");
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert_eq!(
        status.message(),
        "function \"waits\" did not finish within 100ms"
    );
    let call = reports.begun.recv().await.expect("a call");
    let deadline = call.deadline.expect("a deadline");
    assert_eq!(deadline.timeout, Duration::from_millis(100));
    reports.ended.recv().await.expect("an end");
}

#[tokio::test]
async fn a_caller_that_disconnects_ends_the_call() {
    let (test_server, mut reports) = test_server(Options::default()).await;
    let mut client = test_server.client().await;
    let call = tokio::spawn(async move { client.evaluate_function(request("waits", LIST)).await });
    reports.begun.recv().await.expect("a call");
    call.abort();
    reports.ended.recv().await.expect("an end");
}

#[tokio::test]
async fn calls_that_wait_elsewhere_do_not_delay_local_calls() {
    let options = Options {
        admission: AdmissionOptions {
            processes: NonZeroUsize::MIN,
            native: NonZeroUsize::MIN,
            ..AdmissionOptions::default()
        },
        ..Options::default()
    };
    let (test_server, mut reports) = test_server(options).await;
    let client = test_server.client().await;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let mut client = client.clone();
        calls.spawn(async move { client.evaluate_function(request("waits", LIST)).await });
    }
    for _ in 0..100 {
        reports.begun.recv().await.expect("a call");
    }
    test_server.call("tree", LIST).await.expect("a list");
    reports.go.add_permits(100);
    while let Some(call) = calls.join_next().await {
        call.expect("a call").expect("a list");
    }
}

#[tokio::test]
async fn calls_that_run_elsewhere_are_limited() {
    let options = |forwarded, max_held_bytes| Options {
        admission: AdmissionOptions {
            forwarded: NonZeroUsize::new(forwarded).expect("a number"),
            queue: 0,
            ..AdmissionOptions::default()
        },
        max_held_bytes,
        ..Options::default()
    };
    for (options, flag) in [
        (options(1, 1_000_000), "--max-queued-evaluations"),
        (options(10, 1024), "--max-held-bytes"),
    ] {
        let (test_server, mut reports) = test_server(options).await;
        let mut client = test_server.client().await;
        let first =
            tokio::spawn(async move { client.evaluate_function(request("waits", LIST)).await });
        reports.begun.recv().await.expect("a call");
        let status = test_server.call("waits", LIST).await.expect_err("no room");
        assert_eq!(status.code(), Code::ResourceExhausted);
        assert!(status.message().contains(flag), "{}", status.message());
        reports.go.add_permits(1);
        first.await.expect("a call").expect("a list");
    }
}

#[tokio::test]
async fn calls_elsewhere_finish_when_the_server_ends_and_are_cut_off_when_it_must() {
    let (test_server, mut reports) = test_server(Options::default()).await;
    let client = test_server.client().await;
    let call =
        |mut client: kiln_proto::evaluator::function_evaluator_client::FunctionEvaluatorClient<
            _,
        >| {
            tokio::spawn(async move { client.evaluate_function(request("waits", LIST)).await })
        };
    let (first, second) = (call(client.clone()), call(client));
    for _ in 0..2 {
        reports.begun.recv().await.expect("a call");
    }
    test_server.stop.drain();
    reports.go.add_permits(1);
    reports.ended.recv().await.expect("an end");
    // Whichever of them got the permit returned it, and so the other finishes too.
    for call in [first, second] {
        call.await.expect("a call").expect("a list");
    }
    test_server.server.await.expect("an end");

    let (test_server, mut reports) = self::test_server(Options::default()).await;
    let waits = call(test_server.client().await);
    reports.begun.recv().await.expect("a call");
    test_server.stop.now();
    let status = waits.await.expect("a call").expect_err("cut off");
    assert_eq!(status.code(), Code::Unavailable);
    reports.ended.recv().await.expect("an end");
}

#[tokio::test]
async fn the_service_is_serving_while_a_remote_evaluator_is() {
    let (elsewhere, _reports) = elsewhere();
    let evaluators = EvaluatorChain::new(vec![("pod", elsewhere)]);
    let is_usable = watch::Sender::new(true);
    let options = Options {
        usable: Some(is_usable.subscribe()),
        ..Options::default()
    };
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let server = Server::bind(address, evaluators, options).await;
    let server = server.expect("a port");
    let address = server.address();
    tokio::spawn(server.run());
    let channel = tonic::transport::Endpoint::from_shared(format!("http://{address}"));
    let channel = channel.expect("an address").connect_lazy();
    let asked = HealthCheckRequest {
        service: SERVICE.to_owned(),
    };
    let watch = HealthClient::new(channel.clone()).watch(asked).await;
    let mut watch = watch.expect("a watch").into_inner();
    for (usable, status) in [(true, 1), (false, 2), (true, 1)] {
        is_usable.send_replace(usable);
        let response = watch.message().await.expect("a message").expect("a status");
        assert_eq!(response.status, status);
        assert_eq!(check(channel.clone(), SERVICE).await, Ok(status));
        assert_eq!(check(channel.clone(), "").await, Ok(1));
    }
}

/// Finds the image, but fails with "not found" when it runs.
struct Forgetful;

impl Evaluator for Forgetful {
    fn find(&self, _: &FunctionSpec) -> Result<Found, FindError> {
        Ok(Found::blocking(Forgetful))
    }
}

impl Runner for Forgetful {
    fn run(&self, _: &Input<'_>, _: &RunContext) -> Result<Outcome, RunError> {
        Err(RunError::NotFound("not in the table any more".into()))
    }
}

#[tokio::test]
async fn an_evaluator_that_does_not_know_the_function_after_all_is_skipped() {
    let (elsewhere, mut reports) = elsewhere();
    let more: Entries = vec![("table", Arc::new(Forgetful)), ("pod", elsewhere)];
    let test_server = TestServer::with_more(Options::default(), Words::Runner, more).await;
    let answer = test_server.call("image", LIST).await.expect("an answer");
    assert_eq!(answer.resource_list, LIST);
    assert_eq!(reports.begun.recv().await.expect("a call").image, "image");
    let status = test_server
        .call("unknown", LIST)
        .await
        .expect_err("no function");
    assert_eq!(
        status.message(),
        "function \"unknown\" not found; evaluators asked: native, exec, table, pod: no registry knows it"
    );
}
