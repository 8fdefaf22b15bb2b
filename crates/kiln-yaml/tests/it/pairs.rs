//! Reading and writing whole streams: every column of `pairs.jsonl`.

use kiln_yaml::{
    Encoder, Error, Kind, NodeRef, Position, SequenceStyle, Slot, parse_all, parse_until_error,
};
use serde_json::{Map, Value, json};

use crate::fixtures::{Report, load, text};

#[test]
fn texts_and_refusals() {
    let mut report = Report::default();
    for case in load("pairs.jsonl") {
        let (Some(id), Some(input)) = (text(&case, "id"), text(&case, "in")) else {
            panic!("a pair has an id and an input: {case}");
        };
        for (column, style) in [
            ("compact", SequenceStyle::Compact),
            ("wide", SequenceStyle::Wide),
        ] {
            let wanted = match (text(&case, column), case.get(column)) {
                (Some(wanted), _) => wanted,
                (None, Some(_)) => text(&case, "compact").unwrap_or_default(),
                (None, None) => text(&case["refused"], column).unwrap_or_default(),
            };
            // A refusal is recorded as the message's first line.
            let ours = rewrite(input, style).unwrap_or_else(|error| format!("{error}\n"));
            report.check(id, column, input, &ours, wanted);
        }
    }
    report.finish(500);
}

#[test]
fn trees() {
    let mut report = Report::default();
    for case in load("pairs.jsonl") {
        let (Some(id), Some(input)) = (text(&case, "id"), text(&case, "in")) else {
            panic!("a pair has an id and an input: {case}");
        };
        let (documents, _) = parse_until_error(input.as_bytes());
        let ours: Vec<Value> = documents
            .iter()
            .map(|document| {
                let mut fields = Map::new();
                fields.insert("K".into(), json!("doc"));
                put(&mut fields, "H", document.comment(Slot::Head));
                put(&mut fields, "F", document.comment(Slot::Foot));
                put_place(&mut fields, document.position());
                fields.insert("C".into(), json!([tree(document.root())]));
                Value::Object(fields)
            })
            .collect();
        let ours = Value::Array(ours).to_string();
        report.check(id, "nodes", input, &ours, &case["nodes"].to_string());
    }
    report.finish(250);
}

fn rewrite(input: &str, style: SequenceStyle) -> Result<String, Error> {
    let mut encoder = Encoder::new();
    for document in parse_all(input.as_bytes())? {
        encoder.document(&document, style);
    }
    Ok(encoder.finish())
}

/// A node as the recorder writes it down; recursion is fine for recorded inputs.
fn tree(node: NodeRef<'_>) -> Value {
    let mut fields = Map::new();
    let kind = match node.kind() {
        Kind::Mapping => "map",
        Kind::Sequence => "seq",
        Kind::Scalar => "scalar",
        Kind::Alias => "alias",
    };
    fields.insert("K".into(), json!(kind));
    put(&mut fields, "Tag", node.tag());
    put(&mut fields, "V", node.value());
    if node.style().bits() != 0 {
        fields.insert("St".into(), json!(node.style().bits()));
    }
    put(&mut fields, "A", node.anchor());
    put(&mut fields, "H", node.comment(Slot::Head));
    put(&mut fields, "L", node.comment(Slot::Line));
    put(&mut fields, "F", node.comment(Slot::Foot));
    if let Some(position) = node.position() {
        put_place(&mut fields, position);
    }
    let children: Vec<Value> = node.children().map(tree).collect();
    if !children.is_empty() {
        fields.insert("C".into(), Value::Array(children));
    }
    Value::Object(fields)
}

fn put(fields: &mut Map<String, Value>, name: &str, text: &str) {
    if !text.is_empty() {
        fields.insert(name.into(), json!(text));
    }
}

fn put_place(fields: &mut Map<String, Value>, Position { line, column }: Position) {
    fields.insert("Ln".into(), json!(line));
    fields.insert("Co".into(), json!(column));
}
