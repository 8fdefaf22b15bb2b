//! Calls that are passed on: unread, with their deadline, and given up when their caller gives up.

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

use crate::harness::{Entries, LIST, World, request};
use crate::health::check;

/// Does what the name of the image says, and reports when calls begin and end.
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

/// A call that has begun.
struct ElsewhereCall {
    image: String,
    list: Bytes,
    deadline: Option<Deadline>,
}

/// The other side of it.
struct Ears {
    begun: mpsc::UnboundedReceiver<ElsewhereCall>,
    ended: mpsc::UnboundedReceiver<()>,
    go: Arc<Semaphore>,
}

struct TellsEnd(mpsc::UnboundedSender<()>);

impl Drop for TellsEnd {
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
        let ended = TellsEnd(self.elsewhere.ended.clone());
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
                "ending" => return answered(Status::unavailable(kiln_proto::ENDING)),
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
            })
        })
    }
}

fn elsewhere() -> (Arc<Elsewhere>, Ears) {
    let (begun, hears_begun) = mpsc::unbounded_channel();
    let (ended, hears_ended) = mpsc::unbounded_channel();
    let go = Arc::new(Semaphore::new(0));
    let elsewhere = Elsewhere {
        begun,
        ended,
        go: Arc::clone(&go),
    };
    let ears = Ears {
        begun: hears_begun,
        ended: hears_ended,
        go,
    };
    (Arc::new(elsewhere), ears)
}

async fn world(options: Options) -> (World, Ears) {
    let (elsewhere, ears) = elsewhere();
    let world = World::with_more(options, Words::Runner, vec![("pod", elsewhere)]).await;
    (world, ears)
}

#[tokio::test]
async fn what_no_evaluator_here_has_runs_elsewhere_unread() {
    let (world, mut ears) = world(Options::default()).await;
    let no_list = Bytes::from_static(b"\xff: no list at all");
    let answer = world.call("image", no_list.clone()).await.expect("it back");
    assert_eq!(answer.resource_list, no_list);
    assert_eq!(answer.log, "log");
    let call = ears.begun.recv().await.expect("a call");
    assert_eq!((call.image.as_str(), call.list), ("image", no_list));
    // What an evaluator here has does not.
    world.call("tree", LIST).await.expect("a list");
    assert!(ears.begun.try_recv().is_err());
}

#[tokio::test]
async fn errors_have_their_codes_and_texts() {
    let (world, _ears) = world(Options::default()).await;
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
        let status = world.call(image, LIST).await.expect_err("no answer");
        assert_eq!((status.code(), status.message()), (code, text), "{image}");
    }
}

#[tokio::test]
async fn details_are_cut_to_what_the_caller_takes() {
    let (world, _ears) = world(Options::default()).await;
    for (room, output) in [(None, 0), (Some("1000000"), 100_000)] {
        let mut request = request("failed", LIST);
        if let Some(room) = room {
            let room = room.parse().expect("a number");
            request.metadata_mut().insert(failure::ROOM_METADATA, room);
        }
        let answer = world.client().await.evaluate_function(request).await;
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
    let (world, mut ears) = world(options).await;
    let status = world.call("waits", LIST).await.expect_err("late");
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert_eq!(
        status.message(),
        "function \"waits\" did not finish within 100ms"
    );
    let call = ears.begun.recv().await.expect("a call");
    let deadline = call.deadline.expect("a deadline");
    assert_eq!(deadline.timeout, Duration::from_millis(100));
    ears.ended.recv().await.expect("an end");
}

#[tokio::test]
async fn a_caller_that_goes_away_ends_the_call() {
    let (world, mut ears) = world(Options::default()).await;
    let mut client = world.client().await;
    let call = tokio::spawn(async move { client.evaluate_function(request("waits", LIST)).await });
    ears.begun.recv().await.expect("a call");
    call.abort();
    ears.ended.recv().await.expect("an end");
}

#[tokio::test]
async fn calls_that_wait_elsewhere_keep_nobody_from_running_here() {
    let options = Options {
        admission: AdmissionOptions {
            processes: NonZeroUsize::MIN,
            native: NonZeroUsize::MIN,
            ..AdmissionOptions::default()
        },
        ..Options::default()
    };
    let (world, mut ears) = world(options).await;
    let client = world.client().await;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let mut client = client.clone();
        calls.spawn(async move { client.evaluate_function(request("waits", LIST)).await });
    }
    for _ in 0..100 {
        ears.begun.recv().await.expect("a call");
    }
    world.call("tree", LIST).await.expect("a list");
    ears.go.add_permits(100);
    while let Some(call) = calls.join_next().await {
        call.expect("a call").expect("a list");
    }
}

#[tokio::test]
async fn there_are_limits_to_what_waits_elsewhere() {
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
        let (world, mut ears) = world(options).await;
        let mut client = world.client().await;
        let first =
            tokio::spawn(async move { client.evaluate_function(request("waits", LIST)).await });
        ears.begun.recv().await.expect("a call");
        let status = world.call("waits", LIST).await.expect_err("no room");
        assert_eq!(status.code(), Code::ResourceExhausted);
        assert!(status.message().contains(flag), "{}", status.message());
        ears.go.add_permits(1);
        first.await.expect("a call").expect("a list");
    }
}

#[tokio::test]
async fn calls_elsewhere_finish_when_the_server_ends_and_are_cut_off_when_it_must() {
    let (world, mut ears) = world(Options::default()).await;
    let client = world.client().await;
    let call =
        |mut client: kiln_proto::evaluator::function_evaluator_client::FunctionEvaluatorClient<
            _,
        >| {
            tokio::spawn(async move { client.evaluate_function(request("waits", LIST)).await })
        };
    let (first, second) = (call(client.clone()), call(client));
    for _ in 0..2 {
        ears.begun.recv().await.expect("a call");
    }
    world.stop.drain();
    ears.go.add_permits(1);
    ears.ended.recv().await.expect("an end");
    // Whichever of them got the permit gave it back, and so the other finishes too.
    for call in [first, second] {
        call.await.expect("a call").expect("a list");
    }
    world.server.await.expect("an end");

    let (world, mut ears) = self::world(Options::default()).await;
    let waits = call(world.client().await);
    ears.begun.recv().await.expect("a call");
    world.stop.now();
    let status = waits.await.expect("a call").expect_err("cut off");
    assert_eq!(status.code(), Code::Unavailable);
    ears.ended.recv().await.expect("an end");
}

#[tokio::test]
async fn the_service_serves_as_long_as_somebody_elsewhere_does() {
    let (elsewhere, _ears) = elsewhere();
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
        let said = watch.message().await.expect("a message").expect("a status");
        assert_eq!(said.status, status);
        assert_eq!(check(channel.clone(), SERVICE).await, Ok(status));
        assert_eq!(check(channel.clone(), "").await, Ok(1));
    }
}

/// Knows the image only until it runs it.
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
async fn an_evaluator_that_does_not_know_the_function_after_all_is_passed_over() {
    let (elsewhere, mut ears) = elsewhere();
    let more: Entries = vec![("table", Arc::new(Forgetful)), ("pod", elsewhere)];
    let world = World::with_more(Options::default(), Words::Runner, more).await;
    let answer = world.call("image", LIST).await.expect("an answer");
    assert_eq!(answer.resource_list, LIST);
    assert_eq!(ears.begun.recv().await.expect("a call").image, "image");
    let status = world.call("unknown", LIST).await.expect_err("no function");
    assert_eq!(
        status.message(),
        "function \"unknown\" not found; evaluators asked: native, exec, table, pod: no registry knows it"
    );
}
