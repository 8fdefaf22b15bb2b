//! Edits that are described, and edits that are not.

use crate::document::{Document, Slot};

fn parse(text: &str) -> Document {
    crate::parse(text).unwrap().unwrap()
}

const TEXT: &str = "a: 1 # one\nb:\n  c: x\n  d: y\nlist:\n- p\n- q\n";

#[test]
fn a_copy_has_no_edits() {
    let before = parse(TEXT);
    let edits = before.clone().edits_since(&before).unwrap();
    assert!(edits.is_empty());
    assert!(edits.lost_comments.is_empty());
}

#[test]
fn a_value_that_is_set_to_itself_is_no_edit() {
    let before = parse(TEXT);
    let mut after = before.clone();
    after.root_mut().set_string(&["b", "c"], "x").unwrap();
    assert!(after.edits_since(&before).unwrap().is_empty());
}

#[test]
fn values_and_new_fields_are_edits() {
    let before = parse(TEXT);
    let mut after = before.clone();
    after.root_mut().set_string(&["b", "c"], "z").unwrap();
    after.root_mut().set_string(&["b", "new"], "n").unwrap();
    after.root_mut().set_string(&["b", "newer"], "n").unwrap();
    let edits = after.edits_since(&before).unwrap();
    let b = before.root().get("b").unwrap();
    let c = b.get("c").unwrap().id();
    assert_eq!(edits.values, [(b.id(), c)]);
    let [added] = &edits.added[..] else {
        panic!("{edits:?}");
    };
    let names: Vec<&str> = added.fields(&after).map(|(key, _)| key.value()).collect();
    assert_eq!((added.mapping, names), (b.id(), vec!["new", "newer"]));
    assert!(!edits.has_removed);
}

#[test]
fn removed_fields_are_an_edit() {
    let before = parse(TEXT);
    let mut after = before.clone();
    after.root_mut().remove(&["b", "c"]).unwrap();
    let edits = after.edits_since(&before).unwrap();
    assert!(edits.has_removed && edits.added.is_empty() && edits.values.is_empty());
}

#[test]
fn the_comment_of_a_value_that_is_replaced_comes_back() {
    let before = parse(TEXT);
    let mut after = before.clone();
    after.root_mut().set_string(&["a"], "2").unwrap();
    let a = before.root().get("a").unwrap().id();
    assert_eq!(after.node(a).comment(Slot::Line), "");
    let edits = after.edits_since(&before).unwrap();
    assert_eq!(edits.lost_comments, [(a, Slot::Line)]);
    after.restore_comments(&before, &edits.lost_comments);
    assert_eq!(after.node(a).comment(Slot::Line), "# one");
    let edits = after.edits_since(&before).unwrap();
    assert!(edits.lost_comments.is_empty());
}

#[test]
fn other_edits_are_not_described() {
    let before = parse(TEXT);
    let edited = |edit: &dyn Fn(&mut Document)| {
        let mut after = before.clone();
        edit(&mut after);
        after.edits_since(&before)
    };
    let b = before.root().get("b").unwrap().id();
    let list = before.root().get("list").unwrap().id();
    let key = before.root().entry("a").unwrap().0.id();
    // Another item, another order, another kind, another key, a field removed and one added, a new comment.
    assert_eq!(
        edited(&|it| {
            let item = it.new_string("r");
            it.push_item(list, item);
        }),
        None
    );
    assert_eq!(
        edited(&|it| {
            let mut children = it.child_ids(b);
            children.rotate_left(2);
            it.set_children(b, &children);
        }),
        None
    );
    assert_eq!(
        edited(&|it| {
            let map = it.new_mapping_node();
            it.root_mut().set(&["a"], map).unwrap();
        }),
        None
    );
    assert_eq!(edited(&|it| it.set_value(key, "other")), None);
    assert_eq!(
        edited(&|it| {
            it.root_mut().remove(&["b", "c"]).unwrap();
            it.root_mut().set_string(&["b", "c"], "z").unwrap();
        }),
        None
    );
    assert_eq!(edited(&|it| it.set_comment(b, Slot::Head, "# new")), None);
}

#[test]
fn documents_of_other_texts_are_not_compared() {
    assert_eq!(parse(TEXT).edits_since(&parse(TEXT)), None);
    let whole = parse("items:\n- a: 1\n- a: 2\n");
    let sequence = whole.root().get("items").unwrap().id();
    let items = whole.clone().into_items(sequence);
    assert_eq!(items[0].edits_since(&items[0]), None);
    let part = Document::from_node(whole.root());
    assert_eq!(part.edits_since(&whole), None);
}
