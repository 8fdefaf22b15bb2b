//! How strings are resolved and written: every column of `scalars.jsonl`.

use kiln_yaml::{Document, SequenceStyle, Style, is_yaml_1_1_non_string, parse, to_string};

use crate::fixtures::{Report, load, text};

#[test]
fn resolution() {
    let mut report = Report::default();
    for case in load("scalars.jsonl") {
        let Some(value) = text(&case, "v") else {
            continue;
        };
        let mut doc = Document::new_mapping();
        let node = doc.new_scalar(value, "");
        let wanted = text(&case, "resolve").expect("a tag");
        report.check(value, "resolve", value, doc.node(node).tag(), wanted);
        let wanted = case["nonstring11"].to_string();
        let ours = is_yaml_1_1_non_string(value).to_string();
        report.check(value, "nonstring11", value, &ours, &wanted);
    }
    report.finish(1500);
}

#[test]
fn writing() {
    let mut report = Report::default();
    for case in load("scalars.jsonl") {
        let Some(value) = text(&case, "v") else {
            continue;
        };
        for (column, write) in COLUMNS {
            if let Some(wanted) = text(&case, column) {
                report.check(value, column, value, &write(value), wanted);
            }
        }
    }
    report.finish(6000);
}

type Write = fn(&str) -> String;

const COLUMNS: [(&str, Write); 8] = [
    ("node", |v| single("k", v, "!!str", Style::NONE)),
    ("untagged", |v| single("k", v, "", Style::NONE)),
    ("flow", |v| single("k", v, "!!str", Style::FLOW)),
    ("key", |v| {
        let mut doc = Document::new_mapping();
        let (key, one) = (doc.new_string(v), doc.new_scalar("1", "!!int"));
        doc.push_entry(doc.root().id(), key, one);
        written(&doc)
    }),
    ("setfield", |v| {
        edited("k: old\n", |doc| doc.root_mut().set_string(&["k"], v))
    }),
    ("setfield_new", |v| {
        edited("a: b\n", |doc| doc.root_mut().set_string(&["k"], v))
    }),
    ("annotation", |v| {
        edited(CONFIG_MAP, |doc| doc.root_mut().set_annotation("a.b/c", v))
    }),
    ("label", |v| {
        edited(CONFIG_MAP, |doc| doc.root_mut().set_label("a.b/c", v))
    }),
];

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n";

fn single(key: &str, value: &str, tag: &str, style: Style) -> String {
    let mut doc = Document::new_mapping();
    let (key, value) = (doc.new_string(key), doc.new_scalar(value, tag));
    let root = doc.root().id();
    doc.push_entry(root, key, value);
    doc.set_style(root, style);
    written(&doc)
}

fn edited<T, E: std::fmt::Display>(
    input: &str,
    edit: impl FnOnce(&mut Document) -> Result<T, E>,
) -> String {
    let mut doc = parse(input)
        .expect("the input is YAML")
        .expect("the input has a document");
    match edit(&mut doc) {
        Ok(_) => written(&doc),
        Err(error) => error.to_string(),
    }
}

fn written(doc: &Document) -> String {
    to_string(doc, SequenceStyle::Compact)
}
