//! The output of the originals that were built with kustomize. The inputs are random; the outputs of older functions, which
//! indent lists, were parsed and written again before they were recorded.

use crate::recorded::{Recorded, read, run};

fn recorded() -> Vec<Recorded> {
    read(include_str!("../recorded_kustomize.jsonl"))
}

#[test]
fn functions_answer_as_the_originals_do() {
    for recorded in recorded() {
        let answer = run(&recorded.function, &recorded.input);
        let (function, input) = (&recorded.function, &recorded.input);
        assert_eq!(
            answer.stdout, recorded.answer.stdout,
            "{function}:\n{input}"
        );
        assert_eq!(answer, recorded.answer, "{function}:\n{input}");
    }
}

#[test]
fn twice_is_once() {
    // Replacements may add a part each time.
    let is_settled = |recorded: &Recorded| !recorded.function.starts_with("apply-replacements");
    let items = |list: &str| list.split("functionConfig:").next().map(str::to_owned);
    for recorded in recorded().into_iter().filter(is_settled) {
        let once = run(&recorded.function, &recorded.input);
        if once.exit_code == 0 {
            let twice = run(&recorded.function, &once.stdout);
            let (function, input) = (&recorded.function, &recorded.input);
            let (once, twice) = (items(&once.stdout), items(&twice.stdout));
            assert_eq!(once, twice, "{function}:\n{input}");
        }
    }
}

#[test]
fn comments_survive_where_nothing_goes_through_json() {
    let count = |text: &str| text.matches(" # ").count();
    let functions = recorded().into_iter();
    for recorded in functions.filter(|r| r.function == "set-annotations:v0.1.5") {
        // A replaced annotation loses its comment.
        if !recorded.input.contains("old # c") {
            let answer = run(&recorded.function, &recorded.input);
            assert_eq!(
                count(&recorded.input),
                count(&answer.stdout),
                "{}",
                recorded.input
            );
        }
    }
}
