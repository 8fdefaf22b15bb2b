//! Slots, queues, and calls that leave them.

use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::{Admission, Caller, Lane};
use crate::observer::{NoObserver, Observer};
use crate::options::AdmissionOptions;

fn caller(connection: u64) -> Caller {
    Caller {
        address: IpAddr::V4(Ipv4Addr::LOCALHOST),
        connection,
    }
}

fn admission(slots: usize, queue: usize) -> Arc<Admission> {
    let slots = NonZeroUsize::new(slots).expect("at least one");
    let options = AdmissionOptions {
        processes: slots,
        native: slots,
        slow: slots,
        forwarded: slots,
        queue,
    };
    let observer: Arc<dyn Observer> = Arc::new(NoObserver);
    Arc::new(Admission::new(options, &observer))
}

#[tokio::test]
async fn lanes_do_not_wait_for_each_other() {
    let admission = admission(1, 0);
    let lanes = Lane::ALL;
    let mut slots = Vec::new();
    for lane in lanes {
        slots.push(admission.enter(lane, caller(1)).await.expect("a free slot"));
    }
    for lane in lanes {
        assert!(admission.enter(lane, caller(1)).await.is_err());
    }
}

#[tokio::test]
async fn a_full_queue_says_when_to_try_again() {
    let admission = admission(1, 1);
    let slot = admission
        .enter(Lane::Processes, caller(1))
        .await
        .expect("a slot");
    let (sender, receiver) = oneshot::channel();
    let waiter = Arc::clone(&admission);
    let waiter = tokio::spawn(async move {
        let waiting = waiter.enter(Lane::Processes, caller(1));
        tokio::pin!(waiting);
        let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(waiting.as_mut().poll(cx)));
        assert!(polled.await.is_pending());
        let _ = sender.send(());
        waiting.await.map(drop)
    });
    receiver.await.expect("a waiting call");
    let full = admission.enter(Lane::Processes, caller(1)).await.err();
    let full = full.expect("a full queue");
    assert_eq!(full.waiting, 1);
    assert!(full.retry_after >= Duration::from_millis(100));
    drop(slot);
    assert_eq!(waiter.await.expect("a waiter"), Ok(()));
}

#[tokio::test]
async fn a_call_that_leaves_the_queue_makes_room() {
    let admission = admission(1, 1);
    let slot = admission
        .enter(Lane::Small, caller(1))
        .await
        .expect("a slot");
    for _ in 0..3 {
        let waiting = admission.enter(Lane::Small, caller(1));
        tokio::pin!(waiting);
        let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(waiting.as_mut().poll(cx)));
        assert!(polled.await.is_pending());
    }
    drop(slot);
    admission
        .enter(Lane::Small, caller(1))
        .await
        .expect("a slot");
}

#[test]
fn lists_have_lanes_by_size() {
    assert_eq!(Lane::of(false, 1 << 30), Lane::Processes);
    assert_eq!(Lane::of(true, 1000), Lane::Small);
    assert_eq!(Lane::of(true, 1 << 20), Lane::Large);
}

/// Polls a call until it waits.
async fn is_waiting<F: Future>(mut call: std::pin::Pin<&mut F>) -> bool {
    std::future::poll_fn(|cx| std::task::Poll::Ready(call.as_mut().poll(cx)))
        .await
        .is_pending()
}

#[tokio::test]
async fn a_full_queue_refuses_the_client_with_the_most_calls() {
    let admission = admission(1, 2);
    let slot = admission
        .enter(Lane::Small, caller(1))
        .await
        .expect("a slot");
    let mut first = std::pin::pin!(admission.enter(Lane::Small, caller(1)));
    let mut second = std::pin::pin!(admission.enter(Lane::Small, caller(1)));
    assert!(is_waiting(first.as_mut()).await);
    assert!(is_waiting(second.as_mut()).await);
    let mut other = std::pin::pin!(admission.enter(Lane::Small, caller(2)));
    assert!(is_waiting(other.as_mut()).await);
    let full = second.await.err().expect("a refusal");
    assert_eq!(full.waiting, 2);
    drop(slot);
    drop(first.await.expect("a slot"));
    other.await.expect("a slot");
}

#[tokio::test]
async fn a_slot_for_a_call_that_went_away_goes_to_the_next() {
    let admission = admission(1, 2);
    let slot = admission
        .enter(Lane::Small, caller(1))
        .await
        .expect("a slot");
    let mut next = Box::pin(admission.enter(Lane::Small, caller(1)));
    let mut after = std::pin::pin!(admission.enter(Lane::Small, caller(1)));
    assert!(is_waiting(next.as_mut()).await);
    assert!(is_waiting(after.as_mut()).await);
    drop(slot);
    // It has its slot by now, and never looks.
    drop(next);
    after.await.expect("a slot");
}

#[tokio::test]
async fn slow_calls_take_turns_by_client() {
    let admission = admission(1, 1);
    let mut running = admission.enter(Lane::Small, caller(1)).await.ok();
    assert!(admission.goes_on(&mut running), "the lane is free");
    assert!(admission.goes_on(&mut running), "no call waits");
    let second = admission.enter(Lane::Small, caller(2)).await.ok();
    let mut second = std::pin::pin!(admission.next_turn(second, caller(2)));
    assert!(is_waiting(second.as_mut()).await);
    // It waits without the slot that it had.
    let third = admission.enter(Lane::Small, caller(1)).await.ok();
    // One call waits, and the queue has room for one: but this one had a turn.
    assert!(!admission.goes_on(&mut running));
    let mut first = std::pin::pin!(admission.next_turn(running, caller(1)));
    assert!(is_waiting(first.as_mut()).await);
    let mut second = Some(second.await.expect("a turn"));
    let refused = admission.next_turn(third, caller(1)).await;
    assert_eq!(refused.err().map(|full| full.waiting), Some(1));
    assert!(!admission.goes_on(&mut second));
    let mut second = std::pin::pin!(admission.next_turn(second, caller(2)));
    assert!(is_waiting(second.as_mut()).await);
    first.await.expect("a turn");
    second.await.expect("a turn");
}
