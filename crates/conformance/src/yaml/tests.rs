//! The suite itself: cases that pass, and every way in which one can fail.
//!
//! The inputs do not depend on details of YAML: only the runner is tested here.

use super::*;

fn checks(line: &str) -> Vec<(String, Option<String>)> {
    let case = Case::read(line).expect("a readable case");
    let summary = |check: Check| (check.row, check.failure.map(|failure| failure.summary()));
    check(&case, &[]).into_iter().map(summary).collect()
}

#[test]
fn equal_output_passes_and_same_is_followed() {
    let line = r#"{"id":"x","in":"a: 1\n","compact":{"same":"in"},"wide":{"same":"compact"}}"#;
    let wanted = [("compact".to_owned(), None), ("wide".to_owned(), None)];
    assert_eq!(checks(line), wanted);
}

#[test]
fn other_output_fails() {
    let line = r#"{"id":"x","in":"a: 1\n","compact":"a: 2\n"}"#;
    let wanted = [("compact".to_owned(), Some("differs".to_owned()))];
    assert_eq!(checks(line), wanted);
}

#[test]
fn a_refusal_where_go_accepts_fails() {
    let checks = checks(r#"{"id":"x","in":"a: [","compact":"a: []\n"}"#);
    let failure = checks[0].1.as_deref().unwrap_or_default();
    assert!(failure.starts_with("refused: yaml: "), "{failure}");
}

#[test]
fn accepting_what_go_refuses_fails() {
    let line = r#"{"id":"x","in":"a: 1\n","refused":{"compact":"yaml: line 1: no\n"}}"#;
    let failure = "accepted, but Go says: yaml: line 1: no".to_owned();
    assert_eq!(
        checks(line),
        [("refused.compact".to_owned(), Some(failure))]
    );
}

#[test]
fn line_of_refusal_is_compared_or_its_absence() {
    let refused = |got: &str| {
        let wanted = Expected::Refused("yaml: line 3: could not".to_owned());
        compare(&wanted, Err(got.to_owned())).is_some()
    };
    assert!(!refused("MalformedYAMLError: yaml: line 3: something else"));
    assert!(refused("yaml: line 4: could not"));
    assert!(refused("yaml: could not"));
    assert_eq!(go_line("yaml: control characters are not allowed"), None);
}

#[test]
fn nodes_are_compared_in_full() {
    let line = |column: usize| {
        format!(
            concat!(
                r#"{{"id":"x","in":"a\n","nodes":[{{"K":"doc","Ln":1,"Co":1,"C":["#,
                r#"{{"K":"scalar","Tag":"!!str","V":"a","Ln":1,"Co":{column}}}]}}]}}"#
            ),
            column = column
        )
    };
    assert_eq!(checks(&line(1)), [("nodes".to_owned(), None)]);
    let differs = Some("differs".to_owned());
    assert_eq!(checks(&line(2)), [("nodes".to_owned(), differs)]);
}

#[test]
fn base64_is_decoded() {
    let case = Case::read(r#"{"id":"x","in":{"base64":"//8="}}"#).expect("a readable case");
    assert_eq!(case.input, [0xff, 0xff]);
}

#[test]
fn malformed_cases_are_errors() {
    for line in [
        "{",
        r#"{"in":""}"#,
        r#"{"id":"x"}"#,
        r#"{"id":"x","in":"","compact":{"same":"wide"},"wide":{"same":"compact"}}"#,
        r#"{"id":"x","in":"","compact":{"same":"kio"}}"#,
        r#"{"id":"x","in":{"base64":"?"}}"#,
        r#"{"id":"x","in":"","nodes":[{"Ln":1}]}"#,
    ] {
        assert!(Case::read(line).is_err(), "{line}");
    }
}
