//! Random edits of random documents.
//!
//! The documents have no repeated keys, no anchors and no folded scalars: a repeated key comes to light when the first
//! is removed, an alias may lose its anchor, and folding changes values in kyaml too. Nor have they tabs, with which
//! kyaml writes literals that cannot be read.

use std::collections::BTreeMap;

use kiln_yaml::{Document, EditError, SequenceStyle, Slot, Style, parse, to_string};
use proptest::prelude::*;

/// A tree to make text from.
#[derive(Clone, Debug)]
enum Tree {
    Scalar(String, Style),
    List(Vec<(Tree, bool)>, Style),
    Map(BTreeMap<String, (Tree, bool)>, Style),
}

#[derive(Clone, Debug)]
enum Edit {
    Set(Vec<String>, String),
    SetTree(Vec<String>, Tree),
    Remove(Vec<String>),
    Append(Vec<String>, Tree),
    Annotate(String, String),
    Label(String, String),
    ClearAnnotation(String),
    Name(String),
    Namespace(String),
}

const KEYS: [&str; 8] = [
    "a",
    "b",
    "c",
    "metadata",
    "annotations",
    "labels",
    "name",
    "yes",
];

fn key() -> impl Strategy<Value = String> {
    prop::sample::select(&KEYS[..]).prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(
            &[
                "",
                "x",
                "yes",
                "1",
                "0x1F",
                "1e3",
                "null",
                "~",
                "2001-01-01",
                "a: b",
                "# c",
                " x ",
                "a\nb",
                "- x",
                "'q'",
                "\"",
                "é",
                "\u{1F600}",
                "*x",
                "[",
                "|",
            ][..]
        )
        .prop_map(str::to_owned),
        // Plain, it reads back as a merge key.
        "[ -~]{0,12}".prop_filter("not a merge key", |text| text != "<<"),
    ]
}

fn style() -> impl Strategy<Value = Style> {
    prop::sample::select(
        &[
            Style::NONE,
            Style::NONE,
            Style::DOUBLE_QUOTED,
            Style::SINGLE_QUOTED,
            Style::LITERAL,
        ][..],
    )
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = (value(), style()).prop_map(|(value, style)| Tree::Scalar(value, style));
    let collection =
        prop::sample::select(&[Style::NONE, Style::NONE, Style::NONE, Style::FLOW][..]);
    leaf.prop_recursive(4, 40, 5, move |inner| {
        let child = (inner, any::<bool>());
        prop_oneof![
            (
                prop::collection::vec(child.clone(), 0..4),
                collection.clone()
            )
                .prop_map(|(items, style)| Tree::List(items, style)),
            (
                prop::collection::btree_map(key(), child, 0..5),
                collection.clone()
            )
                .prop_map(|(fields, style)| Tree::Map(fields, style)),
        ]
    })
}

fn root() -> impl Strategy<Value = Tree> {
    prop::collection::btree_map(key(), (tree(), any::<bool>()), 0..6)
        .prop_map(|fields| Tree::Map(fields, Style::NONE))
}

fn element() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => key(),
        1 => prop::sample::select(&["0", "1", "-", "[name=x]", "[=x]", "[x]", "*", "-1", "", " a "][..])
            .prop_map(str::to_owned),
    ]
}

fn path() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(element(), 1..4)
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        4 => (path(), value()).prop_map(|(path, value)| Edit::Set(path, value)),
        2 => (path(), tree()).prop_map(|(path, tree)| Edit::SetTree(path, tree)),
        3 => path().prop_map(Edit::Remove),
        2 => (path(), tree()).prop_map(|(path, tree)| Edit::Append(path, tree)),
        1 => (key(), value()).prop_map(|(key, value)| Edit::Annotate(key, value)),
        1 => (key(), value()).prop_map(|(key, value)| Edit::Label(key, value)),
        1 => key().prop_map(Edit::ClearAnnotation),
        1 => value().prop_map(Edit::Name),
        1 => value().prop_map(Edit::Namespace),
    ]
}

/// Builds a tree in a document; every node marked so gets a line or a head comment of its own.
fn build(doc: &mut Document, tree: &Tree, flow: bool, count: &mut usize) -> kiln_yaml::NodeId {
    let comment = |doc: &mut Document, node, wanted: bool, count: &mut usize| {
        *count += 1;
        if wanted && !flow {
            doc.set_comment(node, Slot::Head, &format!("# comment {count}"));
        }
    };
    match tree {
        Tree::Scalar(value, style) => {
            let node = doc.new_string(value);
            doc.set_style(node, *style);
            node
        }
        Tree::List(items, style) => {
            let list = doc.new_sequence_node();
            doc.set_style(list, *style);
            let flow_below = flow || *style == Style::FLOW;
            for (item, commented) in items {
                let node = build(doc, item, flow_below, count);
                let scalar = matches!(item, Tree::Scalar(..));
                comment(doc, node, *commented && scalar && !flow_below, count);
                doc.push_item(list, node);
            }
            list
        }
        Tree::Map(fields, style) => {
            let map = doc.new_mapping_node();
            doc.set_style(map, *style);
            let flow_below = flow || *style == Style::FLOW;
            for (name, (value, commented)) in fields {
                let key = doc.new_string(name);
                comment(doc, key, *commented && !flow_below, count);
                let value = build(doc, value, flow_below, count);
                doc.push_entry(map, key, value);
            }
            map
        }
    }
}

/// The tree as a document that was read from text.
fn read(tree: &Tree) -> Document {
    let mut doc = Document::new_mapping();
    let root = build(&mut doc, tree, false, &mut 0);
    doc.set_root(root);
    let text = to_string(&doc, SequenceStyle::Compact);
    let read = parse(&text)
        .expect("what was written can be read")
        .expect("a document");
    assert!(read.root().value_eq(doc.root()), "{text}");
    read
}

fn apply(doc: &mut Document, edit: &Edit) -> Result<(), EditError> {
    fn refs(path: &[String]) -> Vec<&str> {
        path.iter().map(String::as_str).collect()
    }
    match edit {
        Edit::Set(path, value) => doc.root_mut().set_string(&refs(path), value).map(drop),
        Edit::SetTree(path, tree) => {
            let node = build(doc, tree, false, &mut 1000);
            doc.root_mut().set(&refs(path), node).map(drop)
        }
        Edit::Remove(path) => doc.root_mut().remove(&refs(path)).map(drop),
        Edit::Append(path, tree) => {
            let node = build(doc, tree, false, &mut 2000);
            doc.root_mut().append(&refs(path), node).map(drop)
        }
        Edit::Annotate(key, value) => doc.root_mut().set_annotation(key, value).map(drop),
        Edit::Label(key, value) => doc.root_mut().set_label(key, value).map(drop),
        Edit::ClearAnnotation(key) => doc.root_mut().clear_annotation(key).map(drop),
        Edit::Name(value) => doc.root_mut().set_name(value).map(drop),
        Edit::Namespace(value) => doc.root_mut().set_namespace(value).map(drop),
    }
}

/// Every value with its path, its text, its style and its comments and those of its key.
fn facts(doc: &Document) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    doc.root().visit(|visit| {
        let all = Slot::ALL;
        let comments = |node: kiln_yaml::NodeRef<'_>| all.map(|slot| node.comment(slot).to_owned());
        let path = visit.display_path().to_string();
        let node = visit.node;
        let key = visit.key().map(comments);
        let fact = format!(
            "{} {:?} {:?} {key:?}",
            node.value(),
            node.style(),
            comments(node)
        );
        facts.insert(path, fact);
    });
    facts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn edits_keep_documents_readable(root in root(), edits in prop::collection::vec(edit(), 0..8)) {
        let mut doc = read(&root);
        prop_assert!(doc.is_unchanged());
        for edit in &edits {
            // Errors are fine; crashes and broken trees are not.
            let _ = apply(&mut doc, edit);
        }
        for style in [SequenceStyle::Compact, SequenceStyle::Wide] {
            let text = to_string(&doc, style);
            let again = parse(&text);
            prop_assert!(again.is_ok(), "{again:?}\n{text}");
            let again = again.expect("checked").expect("a document");
            prop_assert!(again.root().value_eq(doc.root()), "{text}");
        }
        prop_assert!(Document::from_node(doc.root()).root().same_tree(doc.root()));
    }

    #[test]
    fn what_is_set_is_found_and_all_else_stays(root in root(), path in prop::collection::vec(key(), 1..4), value in value()) {
        let mut doc = read(&root);
        let before = facts(&doc);
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let result = doc.root_mut().set_string(&path, &value);
        let after = facts(&doc);
        match result {
            Ok(Some(id)) => {
                prop_assert!(!doc.is_unchanged());
                let found = doc.root().lookup(&path).expect("no error").expect("a node");
                prop_assert_eq!(found.id(), id);
                prop_assert_eq!(found.value(), value);
                let set = path.join(".");
                for (place, fact) in &before {
                    let touched = place == &set || place.starts_with(&format!("{set}.")) || place.starts_with(&format!("{set}["));
                    prop_assert!(touched || after.get(place) == Some(fact), "{place}");
                }
            }
            // A null or something without fields on the way.
            Ok(None) | Err(_) => {
                prop_assert!(doc.is_unchanged());
                prop_assert_eq!(before, after);
            }
        }
    }

    #[test]
    fn what_is_removed_is_gone_and_all_else_stays(root in root(), path in prop::collection::vec(key(), 1..4)) {
        let mut doc = read(&root);
        let before = facts(&doc);
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let there = doc.root().lookup(&path).is_ok_and(|node| node.is_some());
        let removed = doc.root_mut().remove(&path).unwrap_or(false);
        prop_assert_eq!(there, removed);
        prop_assert_eq!(doc.is_unchanged(), !removed);
        prop_assert!(!doc.root().lookup(&path).is_ok_and(|node| node.is_some()));
        let gone = path.join(".");
        let after = facts(&doc);
        for (place, fact) in &before {
            let touched = removed && (place == &gone || place.starts_with(&format!("{gone}.")) || place.starts_with(&format!("{gone}[")));
            prop_assert_eq!(after.get(place), (!touched).then_some(fact), "{}", place);
        }
    }

    #[test]
    fn annotations_and_labels_are_found(root in root(), key in key(), value in value()) {
        let mut doc = read(&root);
        if let Ok(Some(_)) = doc.root_mut().set_annotation(&key, &value) {
            let found = doc.root().get_path(&["metadata", "annotations", &key]).expect("an annotation");
            prop_assert_eq!(found.value(), &value);
            prop_assert_eq!(found.tag(), "!!str");
            prop_assert!(doc.root_mut().clear_annotation(&key).expect("no error"));
        }
        if let Ok(Some(_)) = doc.root_mut().set_label(&key, &value) {
            let found = doc.root().get_path(&["metadata", "labels", &key]).expect("a label");
            prop_assert_eq!(found.value(), &value);
        }
    }
}
