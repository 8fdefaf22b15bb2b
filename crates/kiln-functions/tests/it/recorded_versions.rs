//! The output of earlier releases. The inputs are random; the outputs of functions that indent lists were parsed and written
//! again before they were recorded.

use crate::recorded::{read, run};

#[test]
fn former_versions_answer_as_they_did() {
    let mut differences = Vec::new();
    for recorded in read(include_str!("../recorded_versions.jsonl")) {
        let answer = run(&recorded.function, &recorded.input);
        if answer != recorded.answer {
            let (function, input) = (&recorded.function, &recorded.input);
            let wanted = &recorded.answer;
            differences.push(format!(
                "{function}:\n{input}\nwanted {wanted:?}\ngot    {answer:?}"
            ));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}
