//! The table's facts, and kyaml's copying of comments with them: every case of `comments.jsonl`,
//! `comments-random.jsonl` and `restore.jsonl`.

use std::fmt::Write as _;
use std::path::Path;

use kiln_yaml::{
    Document, ListKeys, SequenceStyle, Start, TypeId, copy_comments, parse, sync_order, to_string,
};
use serde_json::Value;

use super::{Schema, Scope, Shape};

#[test]
fn every_expression_is_understood() {
    let schema = Schema::builtin();
    let known = |of: TypeId| (of.0 as usize) < schema.shapes.len();
    for shape in &schema.shapes {
        match shape {
            Shape::Object(fields) => {
                assert!(fields.is_sorted_by_key(|(name, _)| *name));
                assert!(fields.iter().all(|(_, of)| known(*of)));
            }
            Shape::Map(value) => assert!(known(*value)),
            Shape::List { item, .. } => assert!(known(*item)),
            _ => {}
        }
    }
    assert!(schema.names.len() > 600);
    assert!(schema.resources.len() > 250);
}

#[test]
fn lists_have_kyamls_keys() {
    let keys = |api_version, kind, path: &[&str]| {
        let schema = Schema::builtin();
        let mut of = schema.resource(api_version, kind)?;
        for field in path {
            of = match *field {
                "[]" => schema.item(of)?,
                field => schema.field(of, field)?,
            };
        }
        schema.keys(of).map(|keys| keys.join("+"))
    };
    let pod = ["spec", "template", "spec", "containers"];
    assert_eq!(keys("apps/v1", "Deployment", &pod).as_deref(), Some("name"));
    let ports = [&pod[..], &["[]", "ports"]].concat();
    assert_eq!(
        keys("apps/v1", "Deployment", &ports).as_deref(),
        Some("containerPort+protocol")
    );
    assert_eq!(
        keys("v1", "Service", &["spec", "ports"]).as_deref(),
        Some("port+protocol")
    );
    assert_eq!(
        keys("v1", "ConfigMap", &["metadata", "finalizers"]).as_deref(),
        Some("")
    );
    assert_eq!(
        keys(
            "apps/v1",
            "Deployment",
            &[&pod[..], &["[]", "args"]].concat()
        ),
        None
    );
    assert_eq!(keys("example.com/v1", "Deployment", &pod), None);
}

#[test]
fn kinds_have_scopes() {
    let schema = Schema::builtin();
    assert_eq!(schema.scope("v1", "Pod"), Some(Scope::Namespaced));
    assert_eq!(schema.scope("v1", "Namespace"), Some(Scope::Cluster));
    assert_eq!(schema.scope("example.com/v1", "Pod"), None);
}

#[test]
fn comments_declare_types() {
    let schema = Schema::builtin();
    let declared = |comment| schema.declared(comment).map(|of| schema.shape(of));
    assert_eq!(declared(" {\"$openapi\":\"replicas\"}"), Some(&Shape::Any));
    assert!(matches!(
        declared(r##" {"$ref":"#/definitions/io.k8s.api.core.v1.PodSpec"}"##),
        Some(Shape::Object(_))
    ));
    assert_eq!(declared(" kpt-set: ${replicas}"), None);
    assert_eq!(declared(" {a: b}"), None);
    assert_eq!(declared(" {}"), None);
}

#[test]
fn recorded_comments() {
    let mut report = String::new();
    let mut checked = 0;
    let cases = load("comments.jsonl").into_iter();
    for case in cases.chain(load("comments-random.jsonl")) {
        let wanted = text(&case, "out").or(text(&case, "error"));
        let wanted = wanted.expect("an answer");
        let bare = match &case["bare"] {
            Value::Null => wanted,
            Value::String(text) => text,
            other => text(other, "error").expect("an error"),
        };
        let whole = answer(&case, |from, to| {
            copy_comments(
                (from, Start::Document),
                (to, Start::Document),
                Schema::builtin(),
            )
            .map_err(|error| error.to_string())
        });
        checked += check(&mut report, &case, "document", &whole, wanted);
        if case["bare"].is_null() && text(&case, "error").is_some() {
            // Refused as well, perhaps in other words.
            continue;
        }
        let item = answer(&case, |from, to| {
            let top = Start::Node(to.root().id());
            copy_comments((from, Start::Document), (to, top), Schema::builtin())
                .map_err(|error| error.to_string())?;
            *to = Document::from_node(to.root());
            Ok(())
        });
        checked += check(&mut report, &case, "bare", &item, bare);
    }
    assert!(report.is_empty(), "{report}");
    assert!(checked > 650);
}

#[test]
fn recorded_restores() {
    let mut report = String::new();
    let mut checked = 0;
    for case in load("restore.jsonl") {
        let wanted = text(&case, "out").or(text(&case, "error"));
        let ours = answer(&case, |from, to| {
            let top = Start::Node(to.root().id());
            copy_comments((from, Start::Document), (to, top), Schema::builtin())
                .map_err(|error| error.to_string())?;
            sync_order(from.root(), to, top).map_err(|error| error.to_string())?;
            *to = Document::from_node(to.root());
            Ok(())
        });
        checked += check(
            &mut report,
            &case,
            "restore",
            &ours,
            wanted.expect("an answer"),
        );
    }
    assert!(report.is_empty(), "{report}");
    assert!(checked > 200);
}

fn load(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../kiln-yaml/tests/fixtures")
        .join(name);
    let text = std::fs::read_to_string(path).expect("fixtures are part of the repository");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a fixture line is JSON"))
        .collect()
}

fn text<'a>(case: &'a Value, field: &str) -> Option<&'a str> {
    case.get(field)?.as_str()
}

fn answer(
    case: &Value,
    change: impl FnOnce(&Document, &mut Document) -> Result<(), String>,
) -> String {
    let read = |field| {
        let doc = parse(text(case, field).expect("a text")).map_err(|error| error.to_string())?;
        doc.ok_or_else(|| "EOF".to_owned())
    };
    let (from, to) = (read("from"), read("to"));
    let result = from.and_then(|from| {
        let mut to = to?;
        change(&from, &mut to)?;
        Ok(to_string(&to, SequenceStyle::Compact))
    });
    result.unwrap_or_else(|error| error)
}

fn check(report: &mut String, case: &Value, what: &str, ours: &str, wanted: &str) -> usize {
    if ours != wanted {
        let (id, from, to) = (&case["id"], &case["from"], &case["to"]);
        let _ = writeln!(
            report,
            "== {id} {what}\n-- from\n{from}\n-- to\n{to}\n-- wanted\n{wanted:?}\n-- ours\n{ours:?}"
        );
    }
    1
}
