//! The output of the originals, byte for byte. The inputs are our own: random lists of the types that the functions treat
//! specially, with comments, styles, wrong types and configurations of every kind.

use kiln_functions::registry::{FunctionVersion, Registry};
use kiln_functions::wire::{self, ProgramOutput};
use kiln_functions::{Context, NoFiles};
use kiln_runtime::RunContext;
use serde_json::Value;

pub(crate) struct Recorded {
    pub(crate) function: String,
    pub(crate) input: String,
    pub(crate) answer: ProgramOutput,
}

fn recorded() -> Vec<Recorded> {
    read(include_str!("../recorded.jsonl"))
}

/// Recorded calls, one per line.
pub(crate) fn read(lines: &str) -> Vec<Recorded> {
    let read = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| value[key].as_str().unwrap().to_owned();
        Recorded {
            function: text("function"),
            input: text("input"),
            answer: ProgramOutput {
                stdout: text("stdout"),
                stderr: text("stderr"),
                exit_code: value["exit"].as_i64().unwrap().try_into().unwrap(),
                is_random: false,
            },
        }
    };
    lines.lines().map(read).collect()
}

fn version(function: &str) -> &'static FunctionVersion {
    let (name, version) = function.split_once(':').unwrap();
    let info = Registry::builtin().function(name).unwrap();
    info.version(version).unwrap()
}

pub(crate) fn run(function: &str, input: &str) -> ProgramOutput {
    let ctx = Context {
        environment: &[],
        files: &NoFiles,
        run: &RunContext::default(),
    };
    wire::run(version(function), input.as_bytes(), &ctx).unwrap()
}

#[test]
fn functions_answer_as_the_originals_do() {
    for recorded in recorded() {
        let answer = run(&recorded.function, &recorded.input);
        assert_eq!(
            answer.stdout, recorded.answer.stdout,
            "{}:\n{}",
            recorded.function, recorded.input
        );
        assert_eq!(
            answer, recorded.answer,
            "{}:\n{}",
            recorded.function, recorded.input
        );
    }
}

/// The items of a list as text.
pub(crate) fn items(list: &str) -> &str {
    let start = list.find("items:").unwrap_or(list.len());
    let items = &list[start..];
    let end = items
        .find("\nfunctionConfig:")
        .or_else(|| items.find("\nresults:"));
    &items[..end.unwrap_or(items.len())]
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
            recorded.function
        );
    }
}

#[test]
fn comments_survive() {
    let count = |text: &str| items(text).matches(" # c").count();
    for recorded in recorded() {
        // This version writes subjects from scratch.
        if recorded.function == "set-namespace:v0.4.1" && recorded.input.contains("subjects:") {
            continue;
        }
        let answer = run(&recorded.function, &recorded.input);
        assert_eq!(
            count(&recorded.input),
            count(&answer.stdout),
            "{}",
            recorded.input
        );
    }
}
