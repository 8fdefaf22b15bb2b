//! Trees as JSON.

use super::{Json, JsonContent, JsonError, JsonRef, Scalars, read};

fn json(yaml: &str, scalars: Scalars) -> Result<Json, JsonError> {
    let document = kiln_yaml::parse(yaml).expect("the test has valid YAML");
    read(document.expect("there is a document").root(), scalars)
}

#[track_caller]
fn check(yaml: &str, scalars: Scalars, expect: &str) {
    let json = json(yaml, scalars).expect("it has a form in JSON");
    assert_eq!(text(json.root()), expect);
}

fn text(value: JsonRef<'_>) -> String {
    match value.content() {
        JsonContent::Array => {
            let items: Vec<String> = value.items().map(text).collect();
            format!("[{}]", items.join(","))
        }
        JsonContent::Object => {
            let field = |(name, value): (&str, JsonRef<'_>)| format!("{name:?}:{}", text(value));
            let fields: Vec<String> = value.fields().map(field).collect();
            format!("{{{}}}", fields.join(","))
        }
        JsonContent::Null => "null".to_owned(),
        JsonContent::Bool(value) => value.to_string(),
        JsonContent::Int(value) => value.to_string(),
        JsonContent::Float(value) => value.to_string(),
        JsonContent::String(text) => format!("{text:?}"),
    }
}

#[test]
fn scalars_mean_what_the_library_says() {
    let yaml = "[yes, 'yes', on, True, ~, 0x10, 017, 1_000, 1.5, 2001-1-2, '1', -3]";
    check(
        yaml,
        Scalars::Yaml12,
        r#"["yes","yes","on",true,null,16,15,1000,1.5,"2001-01-02T00:00:00Z","1",-3]"#,
    );
    check(
        yaml,
        Scalars::Yaml11,
        r#"[true,"yes",true,true,null,16,15,1000,1.5,"2001-1-2","1",-3]"#,
    );
}

#[test]
fn aliases_and_merges_are_followed() {
    check(
        "{a: &a {x: 1, y: 2}, b: *a, c: {<<: *a, y: 3}}",
        Scalars::Yaml12,
        r#"{"a":{"x":1,"y":2},"b":{"x":1,"y":2},"c":{"y":3,"x":1}}"#,
    );
}

#[test]
fn what_has_no_form_is_refused() {
    assert_eq!(json("{1: a}", Scalars::Yaml12).err(), Some(JsonError::Key));
    check(
        "{1: a, true: b}",
        Scalars::Yaml11,
        r#"{"1":"a","true":"b"}"#,
    );
    assert_eq!(
        json("a: .nan", Scalars::Yaml12).err(),
        Some(JsonError::Number("NaN"))
    );
}

#[test]
fn aliases_do_not_explode() {
    let mut yaml = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let before = level - 1;
        let items = vec![format!("*a{before}"); 10].join(", ");
        yaml.push_str(&format!("a{level}: &a{level} [{items}]\n"));
    }
    assert_eq!(
        json(&yaml, Scalars::Yaml12).err(),
        Some(JsonError::TooLarge)
    );
}
