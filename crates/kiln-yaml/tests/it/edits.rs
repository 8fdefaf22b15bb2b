//! Edits by path: every case of `edits.jsonl` and `edits-random.jsonl`.

use kiln_yaml::{Document, SequenceStyle, parse, to_string};
use serde_json::Value;

use crate::fixtures::{Report, load, text};

#[test]
fn recorded_edits() {
    let mut report = Report::default();
    let cases = load("edits.jsonl").into_iter();
    for case in cases.chain(load("edits-random.jsonl")) {
        let id = text(&case, "id").expect("an id");
        let input = text(&case, "in").expect("an input");
        let ours = parse(input)
            .map_err(|error| error.to_string())
            .and_then(|doc| {
                let mut doc = doc.ok_or("EOF")?;
                for op in case["ops"].as_array().expect("ops") {
                    apply(&mut doc, op)?;
                }
                Ok(doc)
            });
        let shown = format!("{input}\n{}", case["ops"]);
        match (ours, text(&case, "error")) {
            (Ok(doc), None) => {
                let wanted = |field| text(&case, field).expect("an output");
                let compact = to_string(&doc, SequenceStyle::Compact);
                report.check(id, "compact", &shown, &compact, wanted("out"));
                let wide = to_string(&doc, SequenceStyle::Wide);
                report.check(id, "wide", &shown, &wide, wanted("wide"));
            }
            (Ok(doc), Some(error)) => {
                let ours = to_string(&doc, SequenceStyle::Compact);
                report.check(id, "no error", &shown, &ours, error);
            }
            // Where kyaml crashes any error is good.
            (Err(_), Some(error)) if error.starts_with("panic: ") => {}
            (Err(ours), wanted) => report.check(id, "error", &shown, &ours, wanted.unwrap_or("")),
        }
    }
    report.finish(690);
}

fn apply(doc: &mut Document, op: &Value) -> Result<(), String> {
    let path: Vec<&str> = op["path"]
        .as_array()
        .map(|path| path.iter().map(|e| e.as_str().expect("a key")).collect())
        .unwrap_or_default();
    let (key, value) = (
        text(op, "key").unwrap_or(""),
        text(op, "value").unwrap_or(""),
    );
    let parsed = |doc: &mut Document| -> Result<_, String> {
        let new = parse(text(op, "yaml").unwrap_or("")).map_err(|error| error.to_string())?;
        Ok(doc.import(new.ok_or("EOF")?.root()))
    };
    let result = match text(op, "op").expect("an op") {
        "set" => {
            let node = doc.new_scalar(value, text(op, "tag").unwrap_or(""));
            doc.root_mut().set(&path, node).map(drop)
        }
        "set_yaml" => {
            let node = parsed(doc)?;
            doc.root_mut().set(&path, node).map(drop)
        }
        "append" => {
            let node = parsed(doc)?;
            doc.root_mut().append(&path, node).map(drop)
        }
        "remove" => doc.root_mut().remove(&path).map(drop),
        "annotate" => doc.root_mut().set_annotation(key, value).map(drop),
        "label" => doc.root_mut().set_label(key, value).map(drop),
        "clear_annotation" => doc.root_mut().clear_annotation(key).map(drop),
        "clear_empty_annotations" => doc.root_mut().clear_empty_annotations(),
        "set_name" => doc.root_mut().set_name(value).map(drop),
        "set_namespace" => doc.root_mut().set_namespace(value).map(drop),
        other => return Err(format!("unknown op {other}")),
    };
    result.map_err(|error| error.to_string())
}
