//! Tests of the module above.

use super::*;
use crate::read::{FileOptions, read_file, read_input};

fn json(text: &str) -> Result<String, EncodeError> {
    let resources = read_file(
        "d/f.json",
        text.as_bytes().to_vec(),
        &FileOptions::default(),
    );
    write_documents(resources.unwrap(), Dialect::Current)
}

/// What Go makes of a value, recorded with kyaml v0.21.1.
#[test]
fn values_as_json() {
    for (yaml, wanted) in [
        ("1.0", "1"),
        ("1e3", "1000"),
        ("1e20", "100000000000000000000"),
        ("1e21", "1e+21"),
        ("1e-6", "0.000001"),
        ("1e-7", "1e-7"),
        ("1.5e300", "1.5e+300"),
        ("123456789012345678901234567890", "1.2345678901234568e+29"),
        ("9007199254740993", "9007199254740993"),
        ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", "18446744073709552000"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("-9223372036854775809", "-9223372036854776000"),
        ("0777", "511"),
        ("0o17", "15"),
        ("0x1F", "31"),
        ("-0x1F", "-31"),
        ("+0b11", "3"),
        ("1_000", "1000"),
        ("08", "8"),
        ("-0", "0"),
        ("-0.0", "-0"),
        ("+5", "5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("0.1", "0.1"),
        ("3.14159265358979323846", "3.141592653589793"),
        ("1e400", "\"1e400\""),
        ("0xFFFFFFFFFFFFFFFFFF", "\"0xFFFFFFFFFFFFFFFFFF\""),
        ("12:30:45", "\"12:30:45\""),
        ("yes", "\"yes\""),
        ("True", "true"),
        ("~", "null"),
        ("NULL", "null"),
        ("\"1\"", "\"1\""),
        ("!!str 1", "\"1\""),
        ("!!float 1", "1"),
        ("!!int \"3\"", "3"),
        ("!foo x", "\"x\""),
        ("!!binary aGVsbG8=", "\"hello\""),
        ("2001-1-2", "\"2001-01-02T00:00:00Z\""),
        ("2001-02-30", "\"2001-02-30\""),
        (
            "2001-12-14t21:59:43.10-05:00",
            "\"2001-12-14T21:59:43.1-05:00\"",
        ),
        ("2001-12-14 21:59:43", "\"2001-12-14T21:59:43Z\""),
        ("2001-12-14T21:59:43-00:00", "\"2001-12-14T21:59:43Z\""),
        (
            "\"<>&\\u2028\\b\\f\\n\\t\\u0001é😀\"",
            "\"\\u003c\\u003e\\u0026\\u2028\\b\\f\\n\\t\\u0001é😀\"",
        ),
        (
            "[1, {b: 2, a: []}, {}]",
            "[\n    1,\n    {\n      \"a\": [],\n      \"b\": 2\n    },\n    {}\n  ]",
        ),
        // Through the YAML writer, a null in a flow mapping becomes an empty string.
        ("{a: }", "{\n    \"a\": \"\"\n  }"),
    ] {
        let wanted = format!("{{\n  \"k\": {wanted}\n}}\n");
        assert_eq!(json(&format!("k: {yaml}\n")), Ok(wanted), "{yaml}");
    }
}

#[test]
fn documents_as_json() {
    for (yaml, wanted) in [
        (
            "a: &x {p: 1, q: 2}\nb:\n  <<: *x\n  q: 3\n",
            r#"{"a":{"p":1,"q":2},"b":{"p":1,"q":3}}"#,
        ),
        (
            "x: {<<: [{a: 1}, {a: 2, c: 3}]}\n",
            r#"{"x":{"a":1,"c":3}}"#,
        ),
        (
            "z: &y {n: {<<: {m: 1}}}\nx: {<<: *y}\n",
            r#"{"x":{"n":{"m":1}},"z":{"n":{"m":1}}}"#,
        ),
        ("a: &x 1\nb: &x 2\nc: *x\n", r#"{"a":1,"b":2,"c":2}"#),
        ("1: a\ntrue: b\nnull: c\n", r#"{"1":"a","true":"b"}"#),
        (
            "z: 1\nA: 2\na: 3\né: 4\n\"10\": 5\n\"9\": 6\n",
            r#"{"10":5,"9":6,"A":2,"a":3,"z":1,"é":4}"#,
        ),
        ("[1, 2]\n", r#"{"bareSeqNodeWrappingKey":[1,2]}"#),
    ] {
        let ours: String = json(yaml).unwrap().split_whitespace().collect();
        assert_eq!(ours, wanted, "{yaml}");
    }
}

#[test]
fn what_json_cannot_say() {
    let nine = |name: &str| vec![format!("*{name}"); 9].join(", ");
    let levels = "abcdefg".chars().zip("bcdefgh".chars());
    let levels = levels.map(|(a, b)| format!("{b}: &{b} [{}]\n", nine(&a.to_string())));
    let laughs = format!("a: &a [x]\n{}", levels.collect::<String>());
    for (yaml, message) in [
        ("k: .inf\n", "json: unsupported value: +Inf"),
        ("k: .NaN\n", "json: unsupported value: NaN"),
        (
            "k: {2: x}\n",
            "json: unsupported type: map[interface {}]interface {}",
        ),
        (
            "a: 1\nb:\n  c: 1\n  c: 2\n",
            "yaml: unmarshal errors:\n  line 4: mapping key \"c\" already defined at line 3",
        ),
        (
            "? {a: b}\n: c\n",
            "yaml: unmarshal errors:\n  line 1: cannot unmarshal !!map into string",
        ),
        (
            "k: !!bool \"yes\"\n",
            "yaml: cannot decode !!str `yes` as a !!bool",
        ),
        (
            "k: !!binary \"!!\"\n",
            "yaml: !!binary value contains invalid base64 data",
        ),
        (
            "k: !!int 1.5\n",
            "yaml: cannot decode !!float `1.5` as a !!int",
        ),
        ("a: &x [*x]\n", "yaml: anchor 'x' value contains itself"),
        (
            "b: {<<: 5}\n",
            "yaml: map merge requires map or sequence of maps as the value",
        ),
        (
            laughs.as_str(),
            "yaml: document contains excessive aliasing",
        ),
    ] {
        let wanted = format!("json: error calling MarshalJSON for type *yaml.RNode: {message}");
        assert_eq!(json(yaml).unwrap_err().to_string(), wanted);
    }
}

#[test]
fn depth_is_no_problem() {
    let deep = format!("a: {}{}\n", "[".repeat(9_000), "]".repeat(9_000));
    assert!(json(&deep).is_ok());
    assert!(!json::is_valid(&"[".repeat(100_000)));
}

#[test]
fn valid_json_is_recognised() {
    for text in [
        "{}",
        " [1, -2.5e+3, \"a\\u00e9\\n\", true, false, null, {\"a\": {}}] \n",
        "0",
        "\"x\"",
        "[[], []]",
    ] {
        assert!(json::is_valid(text), "{text}");
    }
    for text in [
        "",
        "{a: 1}",
        "{\"a\": 'x'}",
        "[1,]",
        "01",
        "1.",
        "-",
        "\"\\x41\"",
        "[1] 2",
        "{\"a\"}",
        "nul",
        "[",
        "\"a\nb\"",
        "1e",
    ] {
        assert!(!json::is_valid(text), "{text}");
    }
}

#[test]
fn each_document_has_its_own_style() {
    let text = "a:\n  - 1\n---\nb:\n- 1\n---\n- - 1\n";
    let list = read_input(text.as_bytes().to_vec(), Dialect::Current).unwrap();
    assert_eq!(write_documents(list.items, Dialect::Current).unwrap(), text);
}

#[test]
fn the_older_writer_is_compact_and_knows_json_by_its_text() {
    let read = |text: &str| {
        read_input(text.as_bytes().to_vec(), Dialect::Legacy)
            .unwrap()
            .items
    };
    let write = |text| write_documents(read(text), Dialect::Legacy).unwrap();
    assert_eq!(write("a:\n  - 1\n"), "a:\n- 1\n");
    assert_eq!(
        write("{\"b\": 1.0, \"a\": {}}\n"),
        "{\n  \"a\": {},\n  \"b\": 1\n}\n"
    );
    assert_eq!(write("{b: 1}\n"), "{b: 1}\n");
}

#[test]
fn json_that_is_mostly_indentation_ends_where_the_allowance_does() {
    let (open, close) = ("{a: ".repeat(3000), "}".repeat(3000));
    let text = format!("a: {open}[{}]{close}\n", "x, ".repeat(3000));
    let document = kiln_yaml::parse(&text).unwrap().unwrap();
    assert!(json::to_json(&document).unwrap().len() > 18 << 20);
    let allowance = kiln_yaml::Allowance::new(4 << 20);
    let _entered = allowance.enter();
    let error = json::to_json(&document).unwrap_err();
    assert_eq!(error.0, json::Reason::TooLong);
    assert!(allowance.is_exceeded());
}
