//! What documents take from an allowance and give back.

use std::sync::Arc;

use super::{Allowance, may_build, take_for_good};
use crate::{Document, Encoder, SequenceStyle, Slot, parse, to_string};

const TEXT: &str = "a: b # c\nd: [e, f]\n";

#[test]
fn documents_give_back_what_they_took() {
    let allowance = Allowance::new(1 << 20);
    let entered = allowance.enter();
    let mut document = parse(TEXT).unwrap().unwrap();
    let read = allowance.used();
    assert!(read > TEXT.len() as u64);
    document
        .root_mut()
        .set_string(&["a"], &"x".repeat(1000))
        .unwrap();
    assert!(allowance.used() >= read + 1000);
    let copy = document.clone();
    assert!(allowance.used() >= 2 * read);
    drop((document, copy));
    assert_eq!(allowance.used(), 0);
    assert!(!allowance.is_exceeded());
    drop(entered);
    assert!(Allowance::current().is_none());
}

#[test]
fn an_exceeded_allowance_stores_no_more_and_stays_exceeded() {
    let mut given = parse(TEXT).unwrap().unwrap();
    let allowance = Allowance::new(4096);
    let entered = allowance.enter();
    let long = "x".repeat(3000);
    given.root_mut().set_string(&["a"], &long).unwrap();
    assert!(!allowance.is_exceeded());
    let root = given.root().id();
    for _ in 0..1000 {
        given.set_comment(root, Slot::Head, &long);
        let node = given.new_string(&long);
        assert_eq!(given.node(node).value(), "");
    }
    assert!(allowance.is_exceeded());
    assert!(given.pool.len() < 4096);
    assert_eq!(given.root().get("a").unwrap().value(), long);
    // Copies of trees have no children, and trees stay trees.
    let copy = given.import(given.clone().root());
    assert!(given.node(copy).is_empty());
    drop(given);
    assert!(allowance.is_exceeded() && allowance.left() == 0);
    assert!(!may_build(1) && !take_for_good(1));
    drop(entered);
    assert!(may_build(1 << 30));
}

#[test]
fn documents_that_outlive_the_work_grow_freely() {
    let allowance = Allowance::new(4096);
    let entered = allowance.enter();
    let mut document = Document::new_mapping();
    document
        .root_mut()
        .set_string(&["a"], &"x".repeat(9000))
        .unwrap();
    assert!(allowance.is_exceeded());
    drop(entered);
    let long = "y".repeat(9000);
    document.root_mut().set_string(&["b"], &long).unwrap();
    assert_eq!(document.root().get("b").unwrap().value(), long);
    // The next piece of work counts what is left of it.
    let next = Allowance::new(1 << 20);
    let _entered = next.enter();
    document.root_mut().set_string(&["c"], &long).unwrap();
    assert!((9000..20_000).contains(&next.used()));
}

#[test]
fn other_threads_are_not_counted() {
    let allowance = Allowance::new(4096);
    let _entered = allowance.enter();
    let other = std::thread::spawn(|| {
        let mut document = Document::new_mapping();
        document
            .root_mut()
            .set_string(&["a"], &"x".repeat(9000))
            .unwrap();
        to_string(&document, SequenceStyle::Compact).len()
    });
    assert!(other.join().unwrap() > 9000);
    assert!(!allowance.is_exceeded());
}

#[test]
fn texts_end_where_the_allowance_does() {
    // A few hundred bytes that are megabytes of indentation.
    let deep = format!(
        "{}[{}]{}",
        "[".repeat(2000),
        "x, ".repeat(2000),
        "]".repeat(2000)
    );
    let mut document = parse(&deep).unwrap().unwrap();
    for id in 0..document.nodes.len() {
        document.set_style(crate::NodeId(id as u32), crate::Style::NONE);
    }
    assert!(to_string(&document, SequenceStyle::Wide).len() > 4 << 20);

    let mut encoder = Encoder::with_limit(10_000);
    encoder.document(&document, SequenceStyle::Wide);
    assert!(encoder.is_over_limit());
    assert!(encoder.finish().len() < 20_000);

    let allowance: Arc<Allowance> = Allowance::new(10_000);
    let _entered = allowance.enter();
    assert!(to_string(&document, SequenceStyle::Wide).len() < 20_000);
    assert!(allowance.is_exceeded());
}
