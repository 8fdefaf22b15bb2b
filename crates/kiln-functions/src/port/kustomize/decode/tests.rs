//! Configurations of all kinds against a test type.

use kiln_yaml::parse;

use super::{ConfigShape, ConfigValue, FieldShape, StructShape, YamlReader, decode};

static INNER: StructShape = StructShape {
    go_type: "test.Inner",
    fields: &[
        FieldShape {
            name: "kind",
            embedded_in: Some("Gvk"),
            shape: ConfigShape::Text,
        },
        FieldShape::new("path", ConfigShape::Text),
        FieldShape::new("create", ConfigShape::Bool),
        FieldShape::new("index", ConfigShape::Int),
    ],
};

static OUTER: StructShape = StructShape {
    go_type: "test.Outer",
    fields: &[
        FieldShape::new("texts", ConfigShape::TextMap),
        FieldShape::new("inner", ConfigShape::List(&ConfigShape::Struct(&INNER))),
    ],
};

fn read(text: &str, reader: YamlReader) -> Result<ConfigValue, String> {
    let document = parse(text).unwrap().unwrap();
    decode(&document, &OUTER, reader).map_err(|error| error.to_string())
}

#[track_caller]
fn check_text(yaml: &str, text: &str) {
    let value = read(&format!("texts: {{a: {yaml}}}"), YamlReader::Kubernetes).unwrap();
    assert_eq!(value.field_map("texts")["a"], text, "{yaml}");
}

#[test]
fn words_and_numbers_become_texts() {
    for (yaml, text) in [
        ("yes", "true"),
        ("'yes'", "yes"),
        ("off", "false"),
        ("017", "15"),
        ("0x1f", "31"),
        ("0b11", "3"),
        ("1_000", "1000"),
        (".5", "0.5"),
        ("1e10", "1e+10"),
        ("1000000.5", "1.0000005e+06"),
        ("2020-01-01", "2020-01-01"),
        ("null", ""),
        ("99999999999999999999", "1e+20"),
        ("08", "8"),
    ] {
        check_text(yaml, text);
    }
}

#[test]
fn what_does_not_fit_is_named_as_go_names_it() {
    for (reader, yaml, error) in [
        (
            YamlReader::Kubernetes,
            "texts: [a]",
            "array into Go struct field Outer.texts of type map[string]string",
        ),
        (
            YamlReader::Kubernetes,
            "inner: {a: b}",
            "object into Go struct field Outer.inner of type []test.Inner",
        ),
        (
            YamlReader::Kubernetes,
            "inner: [a]",
            "string into Go struct field Outer.inner of type test.Inner",
        ),
        (
            YamlReader::Kubernetes,
            "inner: [{path: a, kind: 4}]",
            "number into Go struct field Inner.inner.Gvk.kind of type string",
        ),
        (
            YamlReader::Kubernetes,
            "inner: [{create: 'yes'}]",
            "string into Go struct field Inner.inner.create of type bool",
        ),
        (
            YamlReader::Json,
            "inner: [{index: 1.5}]",
            "number 1.5 into Go struct field Inner.inner.index of type int",
        ),
        (
            YamlReader::Json,
            "texts: {a: 1}",
            "number into Go struct field Outer.texts of type string",
        ),
    ] {
        let expected = format!("json: cannot unmarshal {error}");
        assert_eq!(read(yaml, reader), Err(expected), "{yaml}");
    }
}

#[test]
fn nothing_is_nothing_and_empty_is_empty() {
    let value = read("texts:\ninner: []\nother: [1]", YamlReader::Kubernetes).unwrap();
    assert_eq!(value.field("texts"), None);
    assert_eq!(
        value.field("inner").and_then(ConfigValue::items),
        Some(&[][..])
    );
}

#[test]
fn aliases_and_merges_are_followed() {
    let yaml = "base: &b {a: x, b: w}\ntexts: {<<: *b, a: z}\ninner: [&i {path: p}, *i]";
    let value = read(yaml, YamlReader::Kubernetes).unwrap();
    let texts = value.field_map("texts");
    assert_eq!((&*texts["a"], &*texts["b"]), ("z", "w"));
    let items = value.field("inner").and_then(ConfigValue::items).unwrap();
    assert_eq!(items[1].field_text("path"), "p");
}
