//! Restoring the order of fields: every case of `order.jsonl` and `order-random.jsonl`.

use kiln_yaml::{Document, SequenceStyle, Start, parse, sync_order, to_string};
use serde_json::Value;

use crate::fixtures::{Report, load, text};

#[test]
fn recorded_orders() {
    let mut report = Report::default();
    let cases = load("order.jsonl").into_iter();
    for case in cases.chain(load("order-random.jsonl")) {
        let id = text(&case, "id").expect("an id");
        let (from, to) = (&case["from"], &case["to"]);
        let shown = format!("{from}\n{to}");
        let whole = ordered(&case, |_| Start::Document);
        let wanted = text(&case, "out")
            .or(text(&case, "error"))
            .expect("an answer");
        report.check(id, "document", &shown, &whole, wanted);
        if case["bare"].is_null() && text(&case, "error").is_some() {
            // Refused as well, perhaps in other words.
            continue;
        }
        let bare = ordered(&case, |doc| Start::Node(doc.root().id()));
        let wanted = match &case["bare"] {
            Value::Null => wanted,
            Value::String(text) => text,
            other => text(other, "error").expect("an error"),
        };
        report.check(id, "bare", &shown, &bare, wanted);
    }
    report.finish(650);
}

fn ordered(case: &Value, start: impl Fn(&Document) -> Start) -> String {
    let read = |field| {
        let input = text(case, field).expect("a text");
        let doc = parse(input).map_err(|error| error.to_string())?;
        doc.ok_or_else(|| "EOF".to_owned())
    };
    let (from, to) = (read("from"), read("to"));
    let result = from.and_then(|from| {
        let mut to = to?;
        let start = start(&to);
        sync_order(from.root(), &mut to, start).map_err(|error| error.to_string())?;
        if let Start::Node(node) = start {
            to = Document::from_node(to.node(node));
        }
        Ok(to_string(&to, SequenceStyle::Compact))
    });
    result.unwrap_or_else(|error| error)
}
