//! What earlier releases answered. The inputs are ours, made at random; the answers of functions that indent lists were
//! read and written once more before they were recorded.

use crate::recorded::{read, run};

#[test]
fn former_versions_answer_as_they_did() {
    for recorded in read(include_str!("../recorded_versions.jsonl")) {
        let answer = run(&recorded.function, &recorded.input);
        let (function, input) = (&recorded.function, &recorded.input);
        assert_eq!(
            answer.stdout, recorded.answer.stdout,
            "{function}:\n{input}"
        );
        assert_eq!(answer, recorded.answer, "{function}:\n{input}");
    }
}
