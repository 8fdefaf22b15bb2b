//! A change of a document changes no more lines of its file than it has to, and never what the file means.

use kiln_krm::package::{Bytes, FileAction, ReadSet, WriteOptions, plan_write};
use kiln_krm::read::{FileOptions, read_file};
use kiln_krm::{Resource, roundtrip};
use proptest::prelude::*;

use crate::shared::yaml_pairs;

/// A file and what became of it.
struct Written {
    /// The resources as they were changed.
    resources: Vec<Resource>,
    kept: String,
    reencoded: String,
}

/// Changes the resources of a file and writes them in both ways; none if it holds none or nothing changes.
fn write(input: &[u8], edit: impl FnOnce(&mut Vec<Resource>)) -> Option<Written> {
    let mut resources = read_file("f.yaml", input.to_vec(), &FileOptions::default()).ok()?;
    let before = ReadSet::of(&resources);
    edit(&mut resources);
    let written = |bytes| {
        let options = WriteOptions {
            bytes,
            ..WriteOptions::default()
        };
        let plan = plan_write(resources.clone(), &before, &options);
        let plan = plan.expect("what was read can be written");
        match plan.into_iter().next()?.action {
            FileAction::Write(content) => String::from_utf8(content).ok(),
            FileAction::Delete => None,
        }
    };
    let (kept, reencoded) = (written(Bytes::Keep)?, written(Bytes::Reencode)?);
    Some(Written {
        resources,
        kept,
        reencoded,
    })
}

impl Written {
    /// Whether the kept text means what it should: the resources by value, and encoded anew it is the re-encoded text,
    /// comments included.
    fn is_right(&self) -> bool {
        let again = read_file(
            "f.yaml",
            self.kept.clone().into_bytes(),
            &FileOptions::default(),
        );
        let Ok(again) = again else {
            return false;
        };
        let is_same = |(one, other): (&Resource, &Resource)| {
            stripped(one).root().value_eq(stripped(other).root())
        };
        let has_same_values =
            again.len() == self.resources.len() && again.iter().zip(&self.resources).all(is_same);
        has_same_values && normal(&self.kept) == normal(&self.reencoded)
    }

    /// The lines of a text that are not in what was kept, in order.
    fn lost_lines<'a>(&self, input: &'a str) -> Vec<&'a str> {
        let mut lines = self.kept.lines();
        let is_lost = |line: &&str| {
            let mut rest = lines.clone();
            let is_found = rest.any(|kept| kept == *line);
            if is_found {
                lines = rest;
            }
            !is_found
        };
        input.lines().filter(is_lost).collect()
    }
}

/// A resource without the guess about its sequences, which is made anew for each text.
fn stripped(resource: &Resource) -> kiln_yaml::Document {
    let mut resource = resource.clone();
    let key = "internal.config.kubernetes.io/seqindent";
    resource.clear_annotations(&[key]).expect("a mapping");
    resource.into_document()
}

/// A text encoded anew, without blank lines and indentation.
fn normal(text: &str) -> Vec<String> {
    let text = roundtrip::pkg(text.as_bytes()).expect("it could be read before");
    let lines = text.lines().map(|line| line.trim().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

#[test]
fn real_files_keep_their_lines() {
    let (mut count, mut whole) = (0, 0);
    for case in yaml_pairs("real") {
        let Ok(input) = String::from_utf8(case.input.clone()) else {
            continue;
        };
        // Of a key that is there twice the writer removes one; the next reader takes the other for its own.
        if input.contains("config.kubernetes.io/index") {
            continue;
        }
        let resources = read_file("f.yaml", case.input.clone(), &FileOptions::default());
        for changed in 0..resources.map_or(0, |resources| resources.len()) {
            let written = write(&case.input, |resources| {
                // A sequence cannot keep an annotation.
                if let Some(resource) = resources.get_mut(changed)
                    && resource.root().get("bareSeqNodeWrappingKey").is_none()
                {
                    resource
                        .set_annotation("kiln/test", "x")
                        .expect("a mapping");
                }
            });
            let Some(written) = written else {
                continue;
            };
            count += 1;
            whole += usize::from(written.lost_lines(&input).is_empty());
            let fell_back = written.kept == written.reencoded;
            assert!(
                written.is_right() || fell_back,
                "document {changed} of {}\n{}",
                case.id,
                written.kept
            );
        }
    }
    assert!(
        whole * 100 >= count * 95,
        "{whole} of {count} kept all lines"
    );
}

/// How a text is laid out.
#[derive(Clone, Debug)]
struct Layout {
    indent: usize,
    dash_indent: usize,
    padding: usize,
    is_crlf: bool,
    is_ended: bool,
    /// Which entries have something before them: a blank line, a comment, both.
    gaps: Vec<u8>,
}

fn layout() -> impl Strategy<Value = Layout> {
    let numbers = (1usize..6, 0usize..4, 1usize..4);
    let ends = (any::<bool>(), any::<bool>());
    let gaps = prop::collection::vec(0u8..8, 1..12);
    (numbers, ends, gaps).prop_map(
        |((indent, dash_indent, padding), (is_crlf, is_ended), gaps)| Layout {
            indent,
            dash_indent,
            padding,
            is_crlf,
            is_ended,
            gaps,
        },
    )
}

#[derive(Clone, Debug)]
enum Value {
    Scalar(&'static str),
    Map(Vec<(&'static str, Value)>),
    List(Vec<Value>),
}

const KEYS: [&str; 6] = ["a", "b", "name", "kind", "x-y", "spec"];

fn value() -> impl Strategy<Value = Value> {
    let scalars = [
        "1",
        "x",
        "'q'",
        "\"d\"",
        "[1,  2]",
        "{a: 1,b: 2}",
        "~",
        "yes",
        "x # c",
        "\"\\u00e9\"",
        "1.0",
    ];
    let leaf = prop::sample::select(scalars.to_vec()).prop_map(Value::Scalar);
    leaf.prop_recursive(4, 24, 4, |inner| {
        let entries = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            (entries, 0usize..6).prop_map(|(values, from)| {
                let keys = KEYS.iter().cycle().skip(from);
                Value::Map(keys.copied().zip(values).collect())
            }),
            prop::collection::vec(inner, 1..4).prop_map(Value::List),
        ]
    })
}

/// A text that is being laid out.
struct Writer<'a> {
    layout: &'a Layout,
    entries: usize,
    text: String,
}

impl Writer<'_> {
    fn document(layout: &Layout, entries: &[(&'static str, Value)]) -> String {
        let mut writer = Writer {
            layout,
            entries: 0,
            text: String::new(),
        };
        writer.entries(entries, 0);
        let mut text = writer.text;
        if !layout.is_ended {
            text.truncate(text.trim_end().len());
        }
        match layout.is_crlf {
            true => text.replace('\n', "\r\n"),
            false => text,
        }
    }

    fn entries(&mut self, entries: &[(&'static str, Value)], column: usize) {
        for (key, value) in entries {
            self.gap(column);
            self.text.push_str(&format!("{}{key}:", " ".repeat(column)));
            let below = match value {
                Value::List(_) => column + self.layout.dash_indent,
                _ => column + self.layout.indent,
            };
            self.value(value, below);
        }
    }

    fn gap(&mut self, column: usize) {
        self.entries += 1;
        let gaps = &self.layout.gaps;
        let kind = gaps[self.entries % gaps.len()];
        if kind & 1 == 1 {
            self.text.push('\n');
        }
        if kind & 6 == 6 {
            let note = format!("{}# note {}\n", " ".repeat(column), self.entries);
            self.text.push_str(&note);
        }
    }

    /// Writes a value behind what is on the line already.
    fn value(&mut self, value: &Value, column: usize) {
        match value {
            Value::Scalar(text) => {
                let padding = " ".repeat(self.layout.padding);
                self.text.push_str(&format!("{padding}{text}\n"));
            }
            Value::Map(entries) => {
                self.text.push('\n');
                self.entries(entries, column);
            }
            Value::List(items) => {
                self.text.push('\n');
                for item in items {
                    self.text.push_str(&format!("{}-", " ".repeat(column)));
                    self.value(item, column + 1 + self.layout.padding);
                }
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Edit {
    Replace,
    Remove,
    Add,
}

/// Changes the `at`th mapping of a document: the last entry it has, or one more.
fn change(resource: &mut Resource, at: usize, edit: &Edit) {
    let document = resource.document_mut();
    let mut mappings = Vec::new();
    let mut pending = vec![document.root()];
    while let Some(node) = pending.pop() {
        // Notes about the position of a resource are not a part of it.
        let is_metadata = |key: &str| node.get("metadata").is_some() && key == "metadata";
        if node.is_mapping() && !node.is_empty() {
            mappings.push(node.id());
        }
        let entries = node.entries().filter(|(key, _)| !is_metadata(key.value()));
        pending.extend(entries.map(|(_, value)| value));
        pending.extend(node.items());
    }
    let Some(mapping) = mappings.get(at % mappings.len().max(1)).copied() else {
        return;
    };
    let mut children = document.child_ids(mapping);
    let metadata = children
        .iter()
        .position(|child| document.node(*child).value() == "metadata");
    if let Some(place) = metadata {
        children.drain(place..place + 2);
    }
    match (edit, children.as_slice()) {
        (Edit::Replace, [.., _, value]) => {
            let new = document.new_string("replaced");
            document.replace_child(mapping, *value, new);
        }
        (Edit::Remove, [.., key, value]) => {
            let (key, value) = (*key, *value);
            let mut left = document.child_ids(mapping);
            left.retain(|child| *child != key && *child != value);
            document.set_children(mapping, &left);
        }
        _ => {
            let (key, value) = (document.new_string("added"), document.new_string("value"));
            document.push_entry(mapping, key, value);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn a_change_keeps_the_meaning_and_most_lines(
        layout in layout(),
        values in prop::collection::vec(value(), 1..5),
        at in any::<usize>(),
        edit in prop::sample::select(vec![Edit::Replace, Edit::Remove, Edit::Add]),
    ) {
        let entries: Vec<_> = ["top", "data", "list", "more"].into_iter().zip(values).collect();
        let input = Writer::document(&layout, &entries);
        let written = write(input.as_bytes(), |resources| {
            if let Some(resource) = resources.first_mut() {
                change(resource, at, &edit);
            }
        });
        if let Some(written) = written {
            let fell_back = written.kept.replace("\r\n", "\n") == written.reencoded;
            prop_assert!(written.is_right() || fell_back, "{input}\n---- kept\n{}\n---- reencoded\n{}", written.kept, written.reencoded);
        }
    }

    /// Where something is added at the end, not a single line is lost.
    #[test]
    fn what_is_added_last_costs_no_line(
        layout in layout(),
        values in prop::collection::vec(value(), 1..5),
    ) {
        let entries: Vec<_> = ["top", "data", "list", "more"].into_iter().zip(values).collect();
        let input = Writer::document(&layout, &entries);
        let written = write(input.as_bytes(), |resources| {
            let Some(resource) = resources.first_mut() else {
                return;
            };
            let document = resource.document_mut();
            let (key, value) = (document.new_string("added"), document.new_string("value"));
            let root = document.root().id();
            document.push_entry(root, key, value);
        });
        if let Some(written) = written {
            prop_assert_eq!(written.lost_lines(&input), Vec::<&str>::new(), "{}\n----\n{}", input, written.kept);
        }
    }
}
