//! Order, turns and failures, without any package.

use std::sync::mpsc;
use std::thread;

use super::{Schedule, Taken};
use crate::lane::{Overtaken, OwnedEvent, Turns};
use crate::place::Place;

/// Root entered, with as many packages below as asked for.
fn split(inner: usize) -> Schedule<&'static str> {
    let schedule = Schedule::new(Place::root(), "enter");
    let taken = schedule.take().expect("the root can be entered");
    schedule.finish(&taken.place, |upcoming| {
        for number in 0..inner {
            upcoming.add(Place::root().inner(number), "inner", 0);
        }
        upcoming.add(Place::root().running(), "run", inner);
    });
    schedule
}

fn take(schedule: &Schedule<&'static str>) -> Taken<&'static str> {
    schedule.take().expect("something is ready")
}

fn warning(text: &str) -> OwnedEvent {
    OwnedEvent::Warning(text.to_owned())
}

fn texts(receiver: &mpsc::Receiver<OwnedEvent>) -> Vec<String> {
    let text = |event| match event {
        OwnedEvent::Warning(text) => text,
        other => format!("{other:?}"),
    };
    receiver.try_iter().map(text).collect()
}

#[test]
fn the_first_is_taken_first_and_the_outer_last() {
    let schedule = split(2);
    let (first, second) = (take(&schedule), take(&schedule));
    assert_eq!(first.place, Place::root().inner(0));
    assert_eq!(second.place, Place::root().inner(1));
    assert!(first.wants_help && !second.wants_help);
    let outer = Place::root().running();
    for place in [&second.place, &first.place] {
        assert_eq!(schedule.ready(), 0);
        schedule.finish(place, |upcoming| upcoming.release(&outer, |_| {}));
    }
    assert_eq!(take(&schedule).place, outer);
    schedule.finish(&outer, |_| {});
    assert!(schedule.take().is_none());
}

#[test]
fn only_the_first_talks() {
    let schedule = split(3);
    let (sender, receiver) = mpsc::channel();
    schedule.tell(sender);
    let [first, second, third] = [(); 3].map(|()| take(&schedule).place);
    schedule.event(&third, warning("third"));
    schedule.event(&second, warning("second"));
    schedule.event(&first, warning("first"));
    assert_eq!(texts(&receiver), ["first"]);
    schedule.finish(&third, |_| {});
    schedule.finish(&first, |_| {});
    assert_eq!(texts(&receiver), ["second"]);
    schedule.event(&second, warning("more of the second"));
    schedule.finish(&second, |_| {});
    assert_eq!(texts(&receiver), ["more of the second", "third"]);
}

#[test]
fn a_failure_ends_what_comes_later_and_nothing_else() {
    let schedule = split(4);
    let (sender, receiver) = mpsc::channel();
    schedule.tell(sender);
    let [first, second, third] = [(); 3].map(|()| take(&schedule));
    schedule.event(&third.place, warning("third"));
    schedule.event(&second.place, warning("second"));
    schedule.fail(&second.place);
    assert!(third.cancel.is_cancelled() && !first.cancel.is_cancelled());
    assert_eq!(schedule.ready(), 0);
    assert_eq!(schedule.await_turn(&third.place), Err(Overtaken));
    assert_eq!(schedule.await_turn(&first.place), Ok(()));
    schedule.finish(&third.place, |_| panic!("nobody wants to know"));
    assert_eq!(texts(&receiver), [""; 0]);
    schedule.event(&first.place, warning("first"));
    schedule.finish(&first.place, |_| {});
    assert_eq!(texts(&receiver), ["first", "second"]);
    assert!(schedule.take().is_none());
    let waiting = schedule.into_waiting();
    let left: Vec<Place> = waiting.into_keys().collect();
    assert_eq!(left, [Place::root().inner(3), Place::root().running()]);
}

#[test]
fn the_first_of_two_failures_counts() {
    let schedule = split(3);
    let [first, second, third] = [(); 3].map(|()| take(&schedule));
    schedule.fail(&third.place);
    assert!(!second.cancel.is_cancelled());
    schedule.fail(&first.place);
    assert!(second.cancel.is_cancelled());
    assert_eq!(schedule.await_turn(&second.place), Err(Overtaken));
}

#[test]
fn whoever_waits_for_his_turn_gets_it() {
    let schedule = split(2);
    let (first, second) = (take(&schedule), take(&schedule));
    thread::scope(|scope| {
        let waiting = scope.spawn(|| schedule.await_turn(&second.place));
        schedule.finish(&first.place, |_| {});
        assert_eq!(waiting.join().expect("does not panic"), Ok(()));
    });
}

#[test]
fn nobody_waits_for_a_thread_that_panicked() {
    let schedule = split(2);
    let (_first, second) = (take(&schedule), take(&schedule));
    thread::scope(|scope| {
        let turn = scope.spawn(|| schedule.await_turn(&second.place));
        let work = scope.spawn(|| schedule.take().is_none());
        schedule.abandon();
        assert_eq!(turn.join().expect("does not panic"), Err(Overtaken));
        assert!(work.join().expect("does not panic"));
    });
}
