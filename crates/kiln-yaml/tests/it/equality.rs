//! Equality by value, and sameness of trees.

use std::time::{Duration, Instant};

use kiln_yaml::{Document, Slot, parse};

#[test]
fn spelling_and_order_do_not_count() {
    equal("a: 1\nb: [x, y]\n", "# c\nb:\n- \"x\"\n- 'y' # d\na: 0x1\n");
    equal("a: 1_000\n", "a: 1000\n");
    equal("a: 1.50\nb: .inf\n", "b: +.Inf\na: 15e-1\n");
    equal("a: True\nb: ~\n", "b:\na: true\n");
    equal("a: |\n  x\n", "a: \"x\\n\"\n");
    equal(
        "? [1, 2]\n: x\n? {a: 1}\n: y\n",
        "? {a: 1}\n: y\n? [1, 2]\n: x\n",
    );
    equal("{}\n", "{}\n");
}

#[test]
fn types_and_order_of_items_count() {
    differ("a: 1\n", "a: \"1\"\n");
    differ("a: 1\n", "a: 1.0\n");
    differ("a: ''\n", "a:\n");
    differ("[1, 2]\n", "[2, 1]\n");
    differ("a: 1\n", "a: 1\nb: 1\n");
    differ("a: 1\na: 2\n", "a: 1\n");
    differ("{}\n", "[]\n");
    differ("a: !x 1\n", "a: 1\n");
}

#[test]
fn aliases_stand_for_their_nodes() {
    equal("a: &x {k: 1}\nb: *x\n", "a: {k: 1}\nb: {k: 1}\n");
    equal("a: &x 1\nb: &x 2\nc: *x\n", "a: 1\nb: 2\nc: 2\n");
    differ("a: &x {k: 1}\nb: *x\n", "a: {k: 1}\nb: {k: 2}\n");
}

#[test]
fn aliases_inside_of_their_nodes_end() {
    equal("&x [1, *x]\n", "&y [1, *y]\n");
    differ("&x [1, *x]\n", "&y [2, *y]\n");
    differ("&x [1, [*x]]\n", "&y [1, *y]\n");
}

/// Each level would double what the one before stands for.
#[test]
fn aliases_are_not_expanded() {
    let mut text = String::from("a0: &a0 x\n");
    for level in 1..200 {
        let below = level - 1;
        text.push_str(&format!("a{level}: &a{level} [*a{below}, *a{below}]\n"));
    }
    let start = Instant::now();
    equal(&text, &text.replace("&a", "&b").replace("*a", "*b"));
    differ(&text, &text.replace("x\n", "y\n"));
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn deep_trees_do_not_overflow() {
    let text = format!("{}x{}\n", "[".repeat(9_000), "]".repeat(9_000));
    let doc = read(&text);
    assert!(doc.root().value_eq(read(&text).root()));
    assert!(doc.same_tree(&doc.clone()));
    let copy = Document::from_node(doc.root());
    assert!(copy.same_tree(&doc));
}

#[test]
fn sameness_sees_all_that_is_written() {
    let text = "# d\n\n# h\na: &x 'v' # l\nb: [1, *x]\nc: !t z\n# f\n";
    let doc = read(text);
    assert!(doc.same_tree(&read(text)));
    for other in [
        text.replace("# d", "# e"),
        text.replace("# h", "# e"),
        text.replace("# l", "# e"),
        text.replace("# f", "# e"),
        text.replace("'v'", "\"v\""),
        text.replace("'v'", "v"),
        text.replace("x", "y"),
        text.replace("[1, *x]", "[*x, 1]"),
        text.replace("[1, *x]", "[1, *x, 2]"),
        text.replace("!t z", "z"),
    ] {
        assert!(!doc.same_tree(&read(&other)), "{other}");
    }
    let mut changed = doc.clone();
    let root = changed.root().id();
    changed.set_comment(root, Slot::Line, "# new");
    assert!(!doc.same_tree(&changed));
}

fn read(text: &str) -> Document {
    parse(text).expect("YAML").expect("a document")
}

#[track_caller]
fn equal(one: &str, other: &str) {
    let (one, other) = (read(one), read(other));
    assert!(one.root().value_eq(other.root()));
    assert!(other.root().value_eq(one.root()));
}

#[track_caller]
fn differ(one: &str, other: &str) {
    let (one, other) = (read(one), read(other));
    assert!(!one.root().value_eq(other.root()));
    assert!(!other.root().value_eq(one.root()));
}
