//! Which losses a call survives, with pods that lose calls in every way there is. The test is the driver.

use tokio::sync::mpsc::UnboundedReceiver;

use super::*;
use crate::scripted_pod::{Does, REFUSED_STREAM, pod};
use crate::state::Failure;

const CANCEL: u32 = 8;
const INTERNAL_ERROR: u32 = 2;
const NO_ERROR: u32 = 0;

fn evaluator() -> (PodEvaluator, UnboundedReceiver<Message>) {
    let (to, messages) = mpsc::unbounded_channel();
    let inner = Inner {
        to,
        next_request: AtomicU64::new(1),
        prefix: String::new(),
        max_message_size: 1 << 20,
        usable: watch::channel(true).1,
        tasks: Vec::new(),
    };
    let inner = Arc::new(inner);
    (PodEvaluator { inner }, messages)
}

fn call(deadline: Option<Deadline>) -> Call {
    Call {
        image: "example.org/f:v1".to_owned(),
        resource_list: Bytes::from_static(b"list"),
        deadline,
        metadata: MetadataMap::new(),
    }
}

/// Waits for a request and says where it is told what becomes of it.
async fn request(messages: &mut UnboundedReceiver<Message>) -> UnboundedSender<Assignment> {
    match messages.recv().await {
        Some(Message::Request { reply, .. }) => reply,
        _ => panic!("no request"),
    }
}

async fn told(messages: &mut UnboundedReceiver<Message>) -> Event {
    match messages.recv().await {
        Some(Message::Tell(event)) => event,
        _ => panic!("no event"),
    }
}

/// A call that a pod loses like this goes on to another pod if the function surely has not started, and to none if it may.
async fn check(does: Does, expected: Started) {
    let (evaluator, mut messages) = evaluator();
    let running = tokio::spawn(async move { evaluator.evaluate(call(None)).await });
    let reply = request(&mut messages).await;
    let _ = reply.send(Assignment::Go(pod([does]).await));
    let Event::Lost { started, fault, .. } = told(&mut messages).await else {
        panic!("{does:?}: not lost");
    };
    assert_eq!(started, expected, "{does:?}: {fault}");
    let _ = reply.send(match started {
        Started::No => Assignment::Go(pod([Does::Answer("answer")]).await),
        Started::Maybe => Assignment::Fail(Failure::Interrupted(fault)),
    });
    let answer = running.await.unwrap();
    match started {
        Started::No => assert_eq!(answer.unwrap().resource_list, "answer"),
        Started::Maybe => {
            assert!(
                matches!(answer, Err(PodError::Interrupted { .. })),
                "{answer:?}"
            );
        }
    }
    assert!(matches!(told(&mut messages).await, Event::Over { .. }));
}

#[tokio::test]
async fn calls_that_were_refused_go_on_to_another_pod() {
    check(Does::Reset(REFUSED_STREAM), Started::No).await;
    check(Does::GoAwayBefore, Started::No).await;
}

#[tokio::test]
async fn calls_that_may_have_begun_are_not_repeated() {
    check(Does::GoAwayAfter, Started::Maybe).await;
    check(Does::HangUp, Started::Maybe).await;
    for code in [NO_ERROR, INTERNAL_ERROR, CANCEL] {
        check(Does::Reset(code), Started::Maybe).await;
    }
}

#[tokio::test]
async fn a_connection_that_was_closed_before_the_call_is_no_loss() {
    // The second call finds the connection closed or closing, and the pod there.
    let client = pod([Does::GoAwayBefore, Does::Answer("answer")]).await;
    let (evaluator, mut messages) = evaluator();
    let running = tokio::spawn(async move { evaluator.evaluate(call(None)).await });
    let reply = request(&mut messages).await;
    let _ = reply.send(Assignment::Go(client.clone()));
    assert!(matches!(
        told(&mut messages).await,
        Event::Lost {
            started: Started::No,
            ..
        }
    ));
    let _ = reply.send(Assignment::Go(client));
    loop {
        match told(&mut messages).await {
            Event::Over { .. } => break,
            Event::Lost { started, fault, .. } => {
                assert_eq!(started, Started::No, "{fault}");
                let _ = reply.send(Assignment::Go(pod([Does::Answer("answer")]).await));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(running.await.unwrap().unwrap().resource_list, "answer");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_in_vain_says_what_it_waited_for() {
    let timeout = Duration::from_secs(5);
    let deadline = Deadline {
        at: tokio::time::Instant::now().into_std() + timeout,
        timeout,
    };
    let (evaluator, mut messages) = evaluator();
    let running = tokio::spawn(async move { evaluator.evaluate(call(Some(deadline))).await });
    let reply = request(&mut messages).await;
    let trouble = "pod p: cannot connect to p.fns:9446: Connection refused";
    let _ = reply.send(Assignment::Trouble(trouble.into()));
    let error = running.await.unwrap().expect_err("no pod").to_string();
    let expected = "function evaluation timed out for example.org/f:v1 after 5s";
    assert_eq!(error, format!("{expected}: {trouble}"));
}
