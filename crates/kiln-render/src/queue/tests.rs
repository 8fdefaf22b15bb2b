//! Order, turns and failures, without any package.

use std::thread;

use super::{Begun, Next, TaskHandle, TaskQueue};
use crate::log::{Event, Log};
use crate::task::{EarlierFailure, TaskOrder};

type Queue = TaskQueue<&'static str, &'static str>;

/// A root that was read and has sub-packages.
fn queue(sub_packages: usize) -> Queue {
    let queue = Queue::new("root");
    let root = begin(&queue);
    queue.postpone(&root.order, "root", vec!["sub-package"; sub_packages]);
    queue
}

fn begin(queue: &Queue) -> Begun<&'static str> {
    queue.begin().expect("a task is ready")
}

fn begin_three(queue: &Queue) -> [Begun<&'static str>; 3] {
    [(); 3].map(|()| begin(queue))
}

fn handle<'a>(
    queue: &'a Queue,
    begun: &'a Begun<&'static str>,
) -> TaskHandle<'a, &'static str, &'static str> {
    let order = &begun.order;
    TaskHandle { queue, order }
}

fn warn(queue: &Queue, begun: &Begun<&'static str>, text: &str) {
    handle(queue, begun).event(Event::Warning(text.to_owned()));
}

/// What the calling thread can do without waiting: it stops at the first task that has not ended.
fn take(queue: &Queue, count: usize) -> Vec<String> {
    let texts = (0..count).map(|_| match queue.next(1, 1) {
        Some(Next::Log(events)) => format!("{events:?}"),
        Some(Next::Take(_, result)) => result.to_owned(),
        Some(Next::AddThread | Next::Do(_)) | None => "nothing".to_owned(),
    });
    texts.collect()
}

fn warning(texts: &[&str]) -> String {
    let events: Vec<Event> = texts
        .iter()
        .map(|text| Event::Warning((*text).to_owned()))
        .collect();
    format!("{events:?}")
}

#[test]
fn the_first_is_begun_first_and_the_parent_last() {
    let queue = queue(2);
    let (first, second) = (begin(&queue), begin(&queue));
    assert_eq!(first.order, TaskOrder::root().sub_package(0));
    assert_eq!(second.order, TaskOrder::root().sub_package(1));
    let mut passed = Vec::new();
    queue.succeed(&second.order, "second", |_, number| passed.push(number));
    queue.succeed(&first.order, "first", |_, number| passed.push(number));
    assert_eq!(passed, [1, 0]);
    let root = begin(&queue);
    assert_eq!(root.order, TaskOrder::root());
    queue.succeed(&root.order, "root", |_, _| panic!("it has no parent"));
    assert!(queue.begin().is_none());
    assert_eq!(take(&queue, 4), ["first", "second", "root", "nothing"]);
}

#[test]
fn threads_are_added_as_long_as_tasks_lack_one() {
    let queue = queue(3);
    assert!(matches!(queue.next(0, 0), Some(Next::Do(_))));
    assert!(matches!(queue.next(0, 2), Some(Next::AddThread)));
    assert!(matches!(queue.next(1, 2), Some(Next::AddThread)));
}

#[test]
fn events_are_logged_in_order() {
    let queue = queue(3);
    let [first, second, third] = begin_three(&queue);
    warn(&queue, &third, "third");
    warn(&queue, &second, "second");
    warn(&queue, &first, "first");
    assert_eq!(take(&queue, 1), [warning(&["first"])]);
    queue.succeed(&third.order, "3", |_, _| {});
    queue.succeed(&first.order, "1", |_, _| {});
    assert_eq!(take(&queue, 2), ["1".to_owned(), warning(&["second"])]);
    warn(&queue, &second, "more");
    queue.succeed(&second.order, "2", |_, _| {});
    let rest = [
        warning(&["more"]),
        "2".to_owned(),
        warning(&["third"]),
        "3".to_owned(),
    ];
    assert_eq!(take(&queue, 4), rest);
}

#[test]
fn a_failure_ends_later_tasks_only() {
    let queue = queue(4);
    let [first, second, third] = begin_three(&queue);
    queue.fail(&second.order, "failed");
    assert!(third.cancel.is_cancelled() && !first.cancel.is_cancelled());
    assert_eq!(handle(&queue, &third).await_turn(), Err(EarlierFailure));
    assert_eq!(handle(&queue, &first).await_turn(), Ok(()));
    queue.postpone(&third.order, "third", vec!["not begun"]);
    queue.succeed(&first.order, "first", |_, _| {});
    assert!(queue.begin().is_none());
    assert_eq!(take(&queue, 2), ["first", "failed"]);
    assert_eq!(queue.remove_waiting(&TaskOrder::root()), Some("root"));
}

#[test]
fn the_first_of_two_failures_counts() {
    let queue = queue(3);
    let [first, second, third] = begin_three(&queue);
    queue.fail(&third.order, "third");
    assert!(!second.cancel.is_cancelled());
    queue.fail(&first.order, "first");
    assert!(second.cancel.is_cancelled());
    assert_eq!(handle(&queue, &second).await_turn(), Err(EarlierFailure));
}

#[test]
fn a_turn_comes_when_earlier_tasks_are_taken() {
    let queue = queue(2);
    let (first, second) = (begin(&queue), begin(&queue));
    thread::scope(|scope| {
        let turn = scope.spawn(|| handle(&queue, &second).await_turn());
        queue.succeed(&first.order, "first", |_, _| {});
        assert_eq!(take(&queue, 1), ["first"]);
        assert_eq!(turn.join().expect("does not panic"), Ok(()));
    });
}

#[test]
fn nothing_waits_after_a_stop() {
    let queue = queue(3);
    let (first, second) = (begin(&queue), begin(&queue));
    thread::scope(|scope| {
        let turn = scope.spawn(|| handle(&queue, &second).await_turn());
        queue.stop();
        assert_eq!(turn.join().expect("does not panic"), Err(EarlierFailure));
        let idle = scope.spawn(|| queue.begin().is_none());
        for begun in [&first, &second] {
            assert!(begun.cancel.is_cancelled());
            queue.fail(&begun.order, "cancelled");
        }
        assert!(idle.join().expect("does not panic"));
    });
}
