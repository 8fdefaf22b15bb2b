//! Walking over a tree.

use kiln_yaml::{Slot, parse};

#[test]
fn scalars_come_in_order_with_path_and_comments() {
    let text = "a: 1 # one\nb: # list\n- x # ex\n- {c: 2, d: []}\n- [y]\ne:\n";
    let doc = parse(text).expect("YAML").expect("a document");
    let mut seen = Vec::new();
    doc.root().visit(|visit| {
        let path = visit.display_path();
        let (value, comment) = (visit.node.value(), visit.node.comment(Slot::Line));
        if visit.node.is_scalar() {
            seen.push(format!("{path} {value} {comment}"));
        }
    });
    assert_eq!(
        seen,
        ["a 1 # one", "b[0] x # ex", "b[1].c 2 ", "b[2][0] y ", "e  "]
    );
}

#[test]
fn collections_come_before_what_is_in_them() {
    let doc = parse("b: # list\n- x\n")
        .expect("YAML")
        .expect("a document");
    let mut seen = Vec::new();
    doc.root().visit(|visit| {
        let comment = visit.key().map(|key| key.comment(Slot::Line));
        seen.push((visit.display_path().to_string(), comment));
    });
    let wanted = [("", None), ("b", Some("# list")), ("b[0]", None)];
    assert_eq!(
        seen,
        wanted.map(|(path, comment)| (path.to_owned(), comment))
    );
}

#[test]
fn deep_trees_do_not_overflow() {
    let text = format!("{}x{}\n", "[".repeat(9_000), "]".repeat(9_000));
    let doc = parse(&text).expect("YAML").expect("a document");
    let mut depth = 0;
    doc.root().visit(|visit| depth = visit.path.len());
    assert_eq!(depth, 9_000);
}
