//! Kubernetes types as schemas, and messages about invalid values. Messages and their nesting are those of
//! kubeconform v0.7.0 on the same input.

use crate::port::go_json::{Json, Scalars, read};

use super::{ParseError, TypeTable, UnknownFields, parse, validate};

fn json(yaml: &str) -> Json {
    let document = kiln_yaml::parse(yaml).unwrap().unwrap();
    read(document.root(), Scalars::Yaml12).unwrap()
}

fn text_field<'a>(json: &'a Json, name: &str) -> &'a str {
    json.root()
        .get(name)
        .and_then(|value| value.as_str())
        .unwrap()
}

#[track_caller]
fn check(unknown_fields: UnknownFields, yaml: &str, expect: &[(&str, &str)]) {
    let json = json(yaml);
    let (api_version, kind) = (text_field(&json, "apiVersion"), text_field(&json, "kind"));
    let schema = TypeTable::current().schema(api_version, kind, unknown_fields);
    let found = validate(&schema.expect("there is a schema"), json.root()).unwrap();
    let found: Vec<(&str, &str)> = found
        .iter()
        .map(|violation| (violation.path.as_str(), violation.message.as_str()))
        .collect();
    assert_eq!(found, expect);
}

#[test]
fn required_fields_come_first_and_unknown_ones_last() {
    check(
        UnknownFields::Refused,
        "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: x, other: 1}}",
        &[
            ("/spec", "missing properties 'selector', 'template'"),
            ("/spec/replicas", "got string, want null or integer"),
            ("/spec", "additional properties 'other' not allowed"),
        ],
    );
    check(
        UnknownFields::Allowed,
        "{apiVersion: v1, kind: ConfigMap, other: 1, data: {a: b}}",
        &[],
    );
}

#[test]
fn groups_within_groups_are_reported_as_one() {
    let container = "{name: 5, image: [], ports: [{hostPort: a}]}";
    check(
        UnknownFields::Allowed,
        &format!("{{apiVersion: v1, kind: Pod, spec: {{containers: [{container}], hostname: 1}}}}"),
        &[
            ("/spec/containers/0", "validation failed"),
            ("/spec/hostname", "got number, want null or string"),
        ],
    );
    check(
        UnknownFields::Allowed,
        &format!("{{apiVersion: v1, kind: Pod, spec: {{containers: [{container}]}}}}"),
        &[
            ("/spec/containers/0/name", "got number, want string"),
            ("/spec/containers/0/image", "got array, want null or string"),
            ("/spec/containers/0/ports/0", "validation failed"),
        ],
    );
}

#[test]
fn numbers_or_strings_are_alternatives() {
    let service = |port: &str| {
        format!(
            "{{apiVersion: v1, kind: Service, spec: {{ports: [{{port: 1.0, targetPort: {port}}}]}}}}"
        )
    };
    let path = "/spec/ports/0/targetPort";
    check(UnknownFields::Refused, &service("http"), &[]);
    check(UnknownFields::Refused, &service("80"), &[]);
    let neither = [(path, "oneOf failed, none matched")];
    check(UnknownFields::Refused, &service("true"), &neither);
    let both = [(path, "oneOf failed, subschemas 0, 1 matched")];
    check(UnknownFields::Refused, &service("null"), &both);
}

#[test]
fn a_group_is_known_by_its_first_part() {
    check(
        UnknownFields::Refused,
        "{apiVersion: apps.example.com/v1, kind: deployment}",
        &[
            ("/apiVersion", "value must be 'apps/v1'"),
            ("/kind", "value must be 'Deployment'"),
        ],
    );
    let schema =
        |api_version, kind| TypeTable::current().schema(api_version, kind, UnknownFields::Allowed);
    assert!(schema("example.com/v1", "Deployment").is_none());
    // Their schemas would be infinite.
    assert!(schema("apiextensions.k8s.io/v1", "CustomResourceDefinition").is_none());
}

#[test]
fn every_type_has_a_schema_that_ends() {
    for table in [TypeTable::current()]
        .into_iter()
        .chain(TypeTable::of_kubeval())
    {
        assert!(table.make_all() > 10);
    }
}

#[track_caller]
fn check_file(schema: &str, yaml: &str, expect: &[&str]) {
    let schemas = parse("/x.json", schema, &|_| None).unwrap();
    let found = validate(&schemas, json(yaml).root()).unwrap();
    let found: Vec<String> = found
        .iter()
        .map(|violation| format!("{} {}", violation.path, violation.message))
        .collect();
    assert_eq!(found, expect);
}

#[test]
fn files_say_more_than_kubernetes_does() {
    let schema = r##"{"definitions": {"small": {"maximum": 3, "exclusiveMaximum": true}},
        "properties": {"a": {"$ref": "#/definitions/small"}, "b": {"minLength": 2, "pattern": "^x"},
        "c": {"enum": [1, "it's"]}, "d": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "e": {"type": "array", "minItems": 1, "uniqueItems": true}, "f": {"format": "date-time"},
        "g": {"not": {}}, "h": {"format": "duration"}, "i": {"maxLength": 1}}}"##;
    check_file(
        schema,
        "{a: 5000, b: y, c: 2, d: 1, e: [1, 1.0], f: soon, g: 1, h: 1h30m, i: ok}",
        &[
            "/a validation failed",
            "/b validation failed",
            "/c value must be one of 1, 'it\\'s'",
            "/d anyOf failed",
            "/e items at 0 and 1 are equal",
            "/f 'soon' is not valid date-time: less than 20 characters long",
            "/g not failed",
            "/i maxLength: got 2, want 1",
        ],
    );
    check_file(
        r#"{"properties": {"a": {"maximum": 3, "exclusiveMaximum": true}}}"#,
        "a: 5000",
        &["/a exclusiveMaximum: got 5,000, want 3"],
    );
}

#[test]
fn formats_are_remarks_in_new_drafts() {
    check_file(
        r#"{"$schema": "http://json-schema.org/schema#", "properties": {"f": {"format": "date-time"}}}"#,
        "f: soon",
        &[],
    );
}

#[test]
fn what_cannot_be_checked_is_refused() {
    let refused = |schema: &str| parse("/x.json", schema, &|_| None).err();
    let unsupported = |what: &str| {
        Some(ParseError::Unsupported {
            path: "/x.json".to_owned(),
            what: what.to_owned(),
        })
    };
    assert_eq!(
        refused(r#"{"contains": {}}"#),
        unsupported("the keyword contains")
    );
    assert_eq!(
        refused(r#"{"format": "uri"}"#),
        unsupported("the format uri")
    );
    assert_eq!(
        refused("[]"),
        Some(ParseError::Invalid("/x.json".to_owned()))
    );
}

#[test]
fn a_schema_without_end_is_noticed() {
    let schemas = parse("/x.json", r##"{"$ref": "#"}"##, &|_| None).unwrap();
    assert!(validate(&schemas, json("a: 1").root()).is_err());
}
