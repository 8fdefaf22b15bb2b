//! Places, queues, and what becomes of those who leave.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::{Admission, Lane};
use crate::observer::{NoObserver, Observer};
use crate::options::AdmissionOptions;

fn admission(places: usize, queue: usize) -> Arc<Admission> {
    let places = NonZeroUsize::new(places).expect("at least one");
    let options = AdmissionOptions {
        processes: places,
        native: places,
        slow: places,
        forwarded: places,
        queue,
    };
    let observer: Arc<dyn Observer> = Arc::new(NoObserver);
    Arc::new(Admission::new(options, &observer))
}

#[tokio::test]
async fn lanes_do_not_wait_for_each_other() {
    let admission = admission(1, 0);
    let lanes = Lane::ALL;
    let mut places = Vec::new();
    for lane in lanes {
        places.push(admission.enter(lane).await.expect("a free place"));
    }
    for lane in lanes {
        assert!(admission.enter(lane).await.is_err());
    }
}

#[tokio::test]
async fn who_finds_the_queue_full_is_told_when_to_come_back() {
    let admission = admission(1, 1);
    let place = admission.enter(Lane::Processes).await.expect("a place");
    let (sender, receiver) = oneshot::channel();
    let waiter = Arc::clone(&admission);
    let waiter = tokio::spawn(async move {
        let waiting = waiter.enter(Lane::Processes);
        tokio::pin!(waiting);
        let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(waiting.as_mut().poll(cx)));
        assert!(polled.await.is_pending());
        let _ = sender.send(());
        waiting.await.map(drop)
    });
    receiver.await.expect("somebody who waits");
    let full = admission.enter(Lane::Processes).await.err();
    let full = full.expect("a full queue");
    assert_eq!(full.waiting, 1);
    assert!(full.retry_after >= Duration::from_millis(100));
    drop(place);
    assert_eq!(waiter.await.expect("a waiter"), Ok(()));
}

#[tokio::test]
async fn who_leaves_the_queue_makes_room() {
    let admission = admission(1, 1);
    let place = admission.enter(Lane::Small).await.expect("a place");
    for _ in 0..3 {
        let waiting = admission.enter(Lane::Small);
        tokio::pin!(waiting);
        let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(waiting.as_mut().poll(cx)));
        assert!(polled.await.is_pending());
    }
    drop(place);
    admission.enter(Lane::Small).await.expect("a place");
}

#[test]
fn lists_have_lanes_by_size() {
    assert_eq!(Lane::of(false, 1 << 30), Lane::Processes);
    assert_eq!(Lane::of(true, 1000), Lane::Small);
    assert_eq!(Lane::of(true, 1 << 20), Lane::Large);
}
