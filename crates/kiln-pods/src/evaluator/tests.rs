//! Which lost calls are repeated, with pods that lose calls in all possible ways. The tests play the driver.

use tokio::sync::mpsc::UnboundedReceiver;

use super::*;
use crate::pool::RequestFailure;
use crate::testing::scripted_pod::{PodAction, REFUSED_STREAM, pod};

const CANCEL: u32 = 8;
const INTERNAL_ERROR: u32 = 2;
const NO_ERROR: u32 = 0;

fn evaluator() -> (PodEvaluator, UnboundedReceiver<Message>) {
    let (driver, messages) = mpsc::unbounded_channel();
    let inner = EvaluatorHandle {
        driver,
        next_request: AtomicU64::new(1),
        prefix: String::new(),
        max_message_size: 1 << 20,
        trace_context: None,
        usable: watch::channel(true).1,
        tasks: Vec::new(),
    };
    let inner = Arc::new(inner);
    (PodEvaluator { inner }, messages)
}

fn call(deadline: Option<Deadline>) -> PodCall {
    PodCall {
        image: "example.org/f:v1".to_owned(),
        resource_list: Bytes::from_static(b"list"),
        deadline,
    }
}

/// Waits for a request and returns its reply channel.
async fn request(messages: &mut UnboundedReceiver<Message>) -> UnboundedSender<Assignment> {
    match messages.recv().await {
        Some(Message::Request { reply, .. }) => reply,
        _ => panic!("no request"),
    }
}

async fn next_event(messages: &mut UnboundedReceiver<Message>) -> PoolEvent {
    match messages.recv().await {
        Some(Message::Event(event)) => event,
        _ => panic!("no event"),
    }
}

/// A lost call goes to another pod only if the function has certainly not started.
async fn check(action: PodAction, expected: FunctionStarted) {
    let (evaluator, mut messages) = evaluator();
    let running = tokio::spawn(async move { evaluator.evaluate(call(None)).await });
    let reply = request(&mut messages).await;
    let _ = reply.send(Assignment::Pod(pod([action]).await, None));
    let PoolEvent::CallLost { started, fault, .. } = next_event(&mut messages).await else {
        panic!("{action:?}: not lost");
    };
    assert_eq!(started, expected, "{action:?}: {fault}");
    let _ = reply.send(match started {
        FunctionStarted::No => Assignment::Pod(pod([PodAction::Answer("answer")]).await, None),
        FunctionStarted::Maybe => Assignment::Fail(RequestFailure::Interrupted(fault)),
    });
    let answer = running.await.unwrap();
    match started {
        FunctionStarted::No => assert_eq!(answer.unwrap().resource_list, "answer"),
        FunctionStarted::Maybe => {
            assert!(
                matches!(answer, Err(PodError::Interrupted { .. })),
                "{answer:?}"
            );
        }
    }
    assert!(matches!(
        next_event(&mut messages).await,
        PoolEvent::Finished { .. }
    ));
}

#[tokio::test]
async fn refused_calls_go_to_another_pod() {
    check(PodAction::Reset(REFUSED_STREAM), FunctionStarted::No).await;
    check(PodAction::GoAwayBefore, FunctionStarted::No).await;
}

#[tokio::test]
async fn calls_that_may_have_started_are_not_repeated() {
    check(PodAction::GoAwayAfter, FunctionStarted::Maybe).await;
    check(PodAction::HangUp, FunctionStarted::Maybe).await;
    for code in [NO_ERROR, INTERNAL_ERROR, CANCEL] {
        check(PodAction::Reset(code), FunctionStarted::Maybe).await;
    }
}

#[tokio::test]
async fn a_connection_closed_before_the_call_does_not_lose_it() {
    // The second call finds the connection closed or closing, and the pod running.
    let client = pod([PodAction::GoAwayBefore, PodAction::Answer("answer")]).await;
    let (evaluator, mut messages) = evaluator();
    let running = tokio::spawn(async move { evaluator.evaluate(call(None)).await });
    let reply = request(&mut messages).await;
    let _ = reply.send(Assignment::Pod(client.clone(), None));
    assert!(matches!(
        next_event(&mut messages).await,
        PoolEvent::CallLost {
            started: FunctionStarted::No,
            ..
        }
    ));
    let _ = reply.send(Assignment::Pod(client, None));
    loop {
        match next_event(&mut messages).await {
            PoolEvent::Finished { .. } => break,
            PoolEvent::CallLost { started, fault, .. } => {
                assert_eq!(started, FunctionStarted::No, "{fault}");
                let _ = reply.send(Assignment::Pod(
                    pod([PodAction::Answer("answer")]).await,
                    None,
                ));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(running.await.unwrap().unwrap().resource_list, "answer");
}

#[tokio::test]
async fn a_request_that_the_wrapper_would_refuse_is_not_sent() {
    let client = pod([PodAction::AnswerWithLimit("10")]).await;
    let (evaluator, mut messages) = evaluator();
    for is_first in [true, false] {
        let evaluator = evaluator.clone();
        let running = tokio::spawn(async move { evaluator.evaluate(call(None)).await });
        let reply = request(&mut messages).await;
        let _ = reply.send(Assignment::Pod(client.clone(), None));
        let finished = next_event(&mut messages).await;
        assert!(matches!(finished, PoolEvent::Finished { .. }));
        match running.await.unwrap() {
            Ok(_) => assert!(is_first),
            Err(PodError::Status(status)) => {
                assert_eq!(status.code(), Code::ResourceExhausted);
                let expected = "the request for the function has 24 bytes, more than the limit of 10 bytes (the wrapper \
                                server in its pod accepts 10 bytes); raise --max-request-body-size of the function runner, \
                                which passes it on to its pods";
                assert_eq!(status.message(), expected);
                assert!(!is_first);
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_reports_what_the_call_waited_for() {
    let timeout = Duration::from_secs(5);
    let deadline = Deadline {
        at: tokio::time::Instant::now().into_std() + timeout,
        timeout,
    };
    let (evaluator, mut messages) = evaluator();
    let running = tokio::spawn(async move { evaluator.evaluate(call(Some(deadline))).await });
    let reply = request(&mut messages).await;
    let delay = "pod p: cannot connect to p.fns:9446: Connection refused";
    let _ = reply.send(Assignment::Delayed(delay.into()));
    let error = running.await.unwrap().expect_err("no pod").to_string();
    let expected = "function evaluation timed out for example.org/f:v1 after 5s";
    assert_eq!(error, format!("{expected}: {delay}"));
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_is_stuck_gives_no_snapshot() {
    let (evaluator, mut messages) = evaluator();
    let timeout = Duration::from_secs(2);
    // Nothing reads the channel.
    assert_eq!(evaluator.snapshot(timeout).await, None);
    // The driver drops the request.
    let asked = tokio::spawn({
        let evaluator = evaluator.clone();
        async move { evaluator.snapshot(timeout).await }
    });
    for _ in 0..2 {
        assert!(matches!(messages.recv().await, Some(Message::Snapshot(_))));
    }
    assert_eq!(asked.await.unwrap(), None);
    // It has ended.
    drop(messages);
    assert_eq!(evaluator.snapshot(timeout).await, None);
}

#[tokio::test]
async fn the_identity_is_the_image_of_the_pod() {
    let (evaluator, mut messages) = evaluator();
    let found = evaluator
        .find(&FunctionSpec::image("example.org/f:v1"))
        .unwrap();
    let Found::Async(runner) = found else {
        panic!("not a peer");
    };
    let running = tokio::spawn(async move { runner.run(Bytes::from_static(b"list"), None).await });
    let reply = request(&mut messages).await;
    let digest: Arc<str> = "sha256:0".into();
    let client = pod([PodAction::Answer("answer")]).await;
    let _ = reply.send(Assignment::Pod(client, Some(digest)));
    let outcome = running.await.unwrap().unwrap();
    assert_eq!(
        outcome.identity.unwrap().as_str(),
        "image:example.org/f@sha256:0"
    );
}
