//! Calls: requests, responses, and early ends.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use kiln_proto::FunctionFailure;
use kiln_proto::evaluator::EvaluateFunctionResponse;
use kiln_proto::failure::{ROOM_METADATA, to_status};
use kiln_remote::RemoteEvaluator;
use kiln_runtime::{
    CancelToken, Deadline, Evaluator, EvaluatorChain, FindError, Found, FunctionSpec, Input,
    Outcome, Output, RunContext, RunError, Runner, StderrListener,
};
use tonic::{Code, Status};

use crate::server::{Hanging, IMAGE, TestServer, echo, run};

const EMPTY_LIST: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n";

#[test]
fn a_list_goes_there_and_back() {
    let server = TestServer::start(echo);
    let outcome = run(&server.evaluator(), &RunContext::default()).unwrap();
    let Output::Wire(bytes) = outcome.output else {
        panic!("a tree came over the wire");
    };
    assert_eq!(String::from_utf8(bytes.into()).unwrap(), EMPTY_LIST);
    assert_eq!(
        (outcome.exit_code, outcome.stderr.as_slice()),
        (0, IMAGE.as_bytes())
    );
}

#[test]
fn the_trace_is_passed_on() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sees = Arc::clone(&seen);
    let server = TestServer::start(move |request| {
        let header = |name| request.metadata().get(name).cloned();
        *sees.lock().unwrap() = ["traceparent", "bad"].map(header).to_vec();
        echo(request)
    });
    let mut options = server.options();
    options.trace_context = Some(|| {
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        vec![
            ("traceparent", parent.to_owned()),
            ("bad", "a\nb".to_owned()),
        ]
    });
    run(
        &RemoteEvaluator::new(options).unwrap(),
        &RunContext::default(),
    )
    .unwrap();
    let seen = seen.lock().unwrap().clone();
    let expected = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    assert_eq!(seen, [Some(expected.parse().unwrap()), None]);
}

#[test]
fn the_listener_receives_stderr() {
    let server = TestServer::start(echo);
    let received = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&received);
    let ctx = RunContext {
        on_stderr: Some(StderrListener::new(move |piece| {
            sink.lock().unwrap().extend_from_slice(piece);
        })),
        ..RunContext::default()
    };
    run(&server.evaluator(), &ctx).unwrap();
    assert_eq!(*received.lock().unwrap(), IMAGE.as_bytes());
}

#[test]
fn a_failure_far_larger_than_usual_trailers_comes_back() {
    let server = TestServer::start(|request| {
        let room = request.metadata().get(ROOM_METADATA);
        let room = room.unwrap().to_str().unwrap().parse().unwrap();
        let failure = FunctionFailure {
            image: IMAGE.to_owned(),
            exit_code: 4,
            stderr: vec![b'e'; 1_000_000].into(),
            output: vec![b'o'; 3_000_000].into(),
            ..FunctionFailure::default()
        };
        Err(to_status(Code::Internal, "text".to_owned(), failure, room))
    });
    let outcome = run(&server.evaluator(), &RunContext::default()).unwrap();
    assert_eq!((outcome.exit_code, outcome.stderr.len()), (4, 1_000_000));
    assert!(matches!(outcome.output, Output::Wire(bytes) if bytes.len() == 3_000_000));
}

#[test]
fn requests_over_the_limit_are_not_sent() {
    let server = TestServer::start(|_| panic!("was called"));
    let mut options = server.options();
    options.max_message_size = 50;
    let evaluator = RemoteEvaluator::new(options).unwrap();
    let error = run(&evaluator, &RunContext::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "func eval \"example.com/fn:v1\" failed: rpc error: code = ResourceExhausted desc = trying to send message \
         larger than max (86 vs. 50): raise --function-runner-grpc-max-message-size here and \
         --max-request-body-size of the runner to the same value (porch-server's flag is --max-request-body-size, too)"
    );
}

#[test]
fn answers_over_the_limit_are_refused() {
    let server = TestServer::start(|_| {
        Ok(EvaluateFunctionResponse {
            resource_list: vec![b' '; 5000].into(),
            log: Default::default(),
        })
    });
    let mut options = server.options();
    options.max_message_size = 1000;
    let evaluator = RemoteEvaluator::new(options).unwrap();
    let error = run(&evaluator, &RunContext::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(
            "ResourceExhausted desc = grpc: received message larger than max (5003 vs. 1000): raise"
        ),
        "{error}"
    );
}

#[test]
fn the_runner_learns_the_deadline() {
    let server = TestServer::start(|request| {
        let timeout = request.metadata().get("grpc-timeout");
        let timeout = timeout.map_or("none", |value| value.to_str().unwrap());
        Err(Status::internal(timeout))
    });
    let evaluator = server.evaluator();
    let error_text = |ctx: &RunContext| run(&evaluator, ctx).unwrap_err().to_string();
    assert!(error_text(&RunContext::default()).ends_with("desc = none"));
    let ctx = RunContext {
        deadline: Deadline::after(Duration::from_secs(1000)),
        ..RunContext::default()
    };
    let text = error_text(&ctx);
    let unit = text.chars().last().unwrap();
    assert!("numSMH".contains(unit), "{text}");
}

#[test]
fn a_timeout_reaches_the_runner() {
    let hanging = Arc::new(Hanging::default());
    let server = TestServer::hanging(Arc::clone(&hanging));
    let ctx = RunContext {
        deadline: Deadline::after(Duration::from_millis(300)),
        ..RunContext::default()
    };
    let ended = run(&server.evaluator(), &ctx);
    assert!(matches!(ended, Err(RunError::TimedOut { .. })), "{ended:?}");
    server.wait_for(&hanging.dropped);
}

#[test]
fn cancelling_reaches_the_runner() {
    let hanging = Arc::new(Hanging::default());
    let server = TestServer::hanging(Arc::clone(&hanging));
    let evaluator = server.evaluator();
    let cancel = CancelToken::new();
    let ctx = RunContext {
        cancel: cancel.clone(),
        ..RunContext::default()
    };
    std::thread::scope(|scope| {
        let call = scope.spawn(|| run(&evaluator, &ctx));
        server.wait_for(&hanging.begun);
        cancel.cancel();
        let ended = call.join().unwrap();
        assert!(matches!(ended, Err(RunError::Cancelled)), "{ended:?}");
    });
    server.wait_for(&hanging.dropped);
    let again = run(&evaluator, &ctx);
    assert!(matches!(again, Err(RunError::Cancelled)), "{again:?}");
}

/// Finds every function, and returns its own name.
struct Last;

impl Evaluator for Last {
    fn find(&self, _: &FunctionSpec) -> Result<Found, FindError> {
        Ok(Found::blocking(Last))
    }
}

impl Runner for Last {
    fn run(&self, _: &Input<'_>, _: &RunContext) -> Result<Outcome, RunError> {
        Ok(Outcome {
            exit_code: 0,
            signal: None,
            output: Output::Wire(Bytes::from_static(b"last")),
            stderr: Vec::new(),
            elapsed: Duration::ZERO,
            identity: None,
            is_cached: false,
        })
    }
}

#[test]
fn what_the_runner_does_not_know_the_next_one_runs() {
    let server = TestServer::start(|_| Err(Status::not_found("no evaluator has it")));
    let chain = EvaluatorChain::new(vec![
        ("remote", Arc::new(server.evaluator())),
        ("last", Arc::new(Last)),
    ]);
    let runner = chain
        .find(&FunctionSpec::image(IMAGE))
        .unwrap()
        .into_runner();
    let input = Input::new(kiln_krm::Dialect::Current, &[], None);
    let outcome = runner.run(&input, &RunContext::default()).unwrap();
    assert!(matches!(outcome.output, Output::Wire(bytes) if bytes == "last"));

    let alone = run(&server.evaluator(), &RunContext::default()).unwrap_err();
    assert_eq!(
        alone.to_string(),
        "func eval \"example.com/fn:v1\" failed: rpc error: code = NotFound desc = no evaluator has it"
    );
}

#[test]
fn only_images_are_sent_and_only_without_variables() {
    let server = TestServer::start(echo);
    let evaluator = server.evaluator();
    assert!(evaluator.find(&FunctionSpec::exec("cat")).is_err());
    let mut with_env = FunctionSpec::image(IMAGE);
    with_env.env.push("A=b".to_owned());
    assert!(evaluator.find(&with_env).is_err());
}

/// A runner that announces limits like kiln's.
fn announcing(limit: &'static str) -> TestServer {
    TestServer::start(move |request| {
        let accepted = request.metadata().get("kiln-max-message").cloned();
        assert_eq!(accepted.unwrap(), "67108864");
        let mut status = Status::internal("seen");
        status
            .metadata_mut()
            .insert("kiln-max-message", limit.parse().unwrap());
        Err(status)
    })
}

#[test]
fn a_limit_that_the_runner_announced_is_respected() {
    let server = announcing("50");
    let evaluator = server.evaluator();
    let first = run(&evaluator, &RunContext::default()).unwrap_err();
    assert!(first.to_string().ends_with("seen"), "{first}");
    let second = run(&evaluator, &RunContext::default()).unwrap_err();
    assert_eq!(
        second.to_string(),
        "func eval \"example.com/fn:v1\" failed: rpc error: code = ResourceExhausted desc = trying to send message \
         larger than max (86 vs. 50): the runner accepts 50 bytes; raise --function-runner-grpc-max-message-size here and \
         --max-request-body-size of the runner to the same value (porch-server's flag is --max-request-body-size, too)"
    );
}
