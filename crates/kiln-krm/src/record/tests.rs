//! What hostile documents may cost. That valid ones are read rightly is shown by recorded answers.

use std::time::Instant;

use crate::kptfile::{Kptfile, KptfileProblem};
use crate::record::DecodeError;

const HEAD: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\n";

#[track_caller]
fn error_of(body: &str) -> String {
    let started = Instant::now();
    let error = Kptfile::read(format!("{HEAD}{body}").as_bytes()).unwrap_err();
    assert!(
        started.elapsed().as_secs() < 20,
        "took {:?}",
        started.elapsed()
    );
    error.to_string()
}

#[test]
fn many_equal_keys_are_not_all_listed() {
    let error = error_of(&"a: 1\n".repeat(100_000));
    assert_eq!(error.lines().count(), 10_001);
    assert!(error.starts_with(
        "yaml: unmarshal errors:\n  line 4: mapping key \"a\" already defined at line 3\n  line 5: mapping key \"a\" already defined at line 3\n"
    ));
}

#[test]
fn many_unknown_keys_are_not_all_listed() {
    let body: String = (0..100_000).map(|n| format!("k{n}: 1\n")).collect();
    let error = error_of(&body);
    assert!(
        error.starts_with(
            "yaml: unmarshal errors:\n  line 3: field k0 not found in type v1.KptFile\n"
        )
    );
    assert_eq!(error.lines().count(), 10_001);
}

#[test]
fn merges_are_followed_to_a_limit() {
    let mut body = String::from("x0: &x0 {image: a}\n");
    for n in 1..5_000 {
        body.push_str(&format!("x{n}: &x{n} {{<<: *x{}}}\n", n - 1));
    }
    body.push_str("pipeline: {mutators: [{<<: *x4999}]}\n");
    assert_eq!(
        error_of(&body),
        "yaml: document contains excessive aliasing"
    );
    let inline = format!("pipeline: {}{}\n", "{<<: ".repeat(5_000), "}".repeat(5_000));
    assert_eq!(
        error_of(&inline),
        "yaml: document contains excessive aliasing"
    );
}

#[test]
fn aliases_are_not_expanded_without_end() {
    let mut body = String::from("pipeline:\n  mutators:\n  - configMap: &m {");
    for n in 0..500 {
        body.push_str(&format!("k{n}: v, "));
    }
    body.push_str("}\n");
    body.push_str(&"  - configMap: *m\n".repeat(20_000));
    assert_eq!(
        error_of(&body),
        "yaml: document contains excessive aliasing"
    );
}

#[test]
fn deep_unknown_values_are_not_descended_into() {
    let deep = format!(
        "pipeline: {{image: {}{}}}\n",
        "[".repeat(9_000),
        "]".repeat(9_000)
    );
    assert_eq!(
        error_of(&deep),
        "yaml: unmarshal errors:\n  line 3: field image not found in type v1.Pipeline"
    );
    let deep = format!(
        "metadata: {{name: {}{}}}\n",
        "[".repeat(9_000),
        "]".repeat(9_000)
    );
    assert_eq!(
        error_of(&deep),
        "yaml: unmarshal errors:\n  line 3: cannot unmarshal !!seq into string"
    );
}

#[test]
fn aliases_of_long_texts_are_excessive_however_few() {
    let body = format!(
        "info: {{description: &d '{}', keywords: [{}]}}\n",
        "d".repeat(1 << 20),
        "*d, ".repeat(90)
    );
    assert_eq!(
        error_of(&body),
        "yaml: document contains excessive aliasing"
    );
}

#[test]
fn misfits_are_described_without_the_types_of_go() {
    let check = |body: &str, text: &str, hint: &str| {
        let error = Kptfile::read(format!("{HEAD}{body}").as_bytes()).unwrap_err();
        let KptfileProblem::Decode(DecodeError::Misfits(misfits)) = error else {
            panic!("{error}");
        };
        let problem = &misfits[0].problem;
        assert_eq!(
            (problem.plain_text().as_str(), problem.hint().as_str()),
            (text, hint)
        );
    };
    let unknown = "unknown field \"mutator\"";
    check(
        "pipeline: {mutator: []}\n",
        unknown,
        "did you mean \"mutators\"?",
    );
    let fields = "the fields here are mutators, validators";
    check("pipeline: {x: []}\n", "unknown field \"x\"", fields);
    check(
        "metadata: {name: [a]}\n",
        "expected a text, not a list",
        "fix the value",
    );
    check(
        "pipeline: {mutators: a}\n",
        "expected a list, not `a`",
        "fix the value",
    );
    check(
        "pipeline: []\n",
        "expected a mapping, not a list",
        "fix the value",
    );
    let twice = "key \"a\" is already set at line 3";
    check("a: 1\na: 2\n", twice, "remove one of the two");
}
