//! The output of the originals for Google Cloud, byte for byte. The inputs are random; of outputs in random order one with
//! our order was recorded.

use crate::recorded::{Recorded, items, read, run};

fn recorded() -> Vec<Recorded> {
    read(include_str!("../recorded_cloud.jsonl"))
}

#[test]
fn functions_answer_as_the_originals_do() {
    for recorded in recorded() {
        let answer = run(&recorded.function, &recorded.input);
        let about = format!("{}:\n{}", recorded.function, recorded.input);
        assert_eq!(answer.stdout, recorded.answer.stdout, "{about}");
        assert_eq!(answer, recorded.answer, "{about}");
    }
}

#[test]
fn twice_is_once() {
    for recorded in recorded() {
        let once = run(&recorded.function, &recorded.input);
        if once.exit_code != 0 {
            continue;
        }
        let twice = run(&recorded.function, &once.stdout);
        assert_eq!(
            items(&once.stdout),
            items(&twice.stdout),
            "{}",
            recorded.input
        );
    }
}
