//! The output of the originals that use kyaml's framework. The inputs are random. Lists are compared after parsing them:
//! those of older kyaml are indented differently.

use kiln_functions::registry::Registry;
use kiln_functions::wire::{self, ProgramOutput};
use kiln_functions::{Context, NoFiles};
use kiln_krm::read::read_function_output;
use kiln_krm::{Dialect, Wrapper, write_list};
use kiln_runtime::RunContext;
use serde_json::Value;

use crate::recorded::items;

struct Recorded {
    function: String,
    input: String,
    answer: ProgramOutput,
}

fn recorded() -> Vec<Recorded> {
    let files = [
        include_str!("../recorded_kyaml.jsonl"),
        include_str!("../recorded_annotate.jsonl"),
        include_str!("../recorded_format.jsonl"),
        include_str!("../recorded_fix.jsonl"),
    ];
    let lines = files.into_iter().flat_map(str::lines);
    let lines = lines.chain(include_str!("../recorded_gcp.jsonl").lines());
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
    lines.map(read).collect()
}

fn run(function: &str, input: &str) -> ProgramOutput {
    let version = Registry::builtin().find_image(function).unwrap();
    let ctx = Context {
        environment: &[],
        files: &NoFiles,
        run: &RunContext::default(),
    };
    let mut answer = wire::run(version, input.as_bytes(), &ctx).unwrap();
    answer.stdout = read_again(&answer.stdout);
    answer
}

/// A list after parsing and writing it.
fn read_again(list: &str) -> String {
    let list = read_function_output(list.as_bytes().to_vec(), Dialect::Current).unwrap();
    let wrapper = list.wrapper.clone();
    let wrapper = wrapper.unwrap_or_else(|| Wrapper::resource_list(Dialect::Current));
    let config = list.function_config.as_ref();
    write_list(&wrapper, &list.items, config, list.results.as_ref())
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
fn what_is_done_twice_is_done_once() {
    let is_idempotent = |function: &str| {
        function == "set-enforcement-action:latest"
            || function.starts_with("format:")
            || function == "fix:latest"
    };
    for recorded in recorded() {
        let once = run(&recorded.function, &recorded.input);
        if once.exit_code == 0 && is_idempotent(&recorded.function) {
            let twice = run(&recorded.function, &once.stdout);
            let [once, twice] = [&once, &twice].map(|answer| items(&answer.stdout).trim_end());
            assert_eq!(once, twice, "{}", recorded.input);
        }
    }
}
