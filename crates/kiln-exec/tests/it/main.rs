//! Functions that are programs of this machine.

#[cfg(target_os = "linux")]
mod sandbox;

use std::time::Duration;

use kiln_exec::ExecEvaluator;
use kiln_krm::{Dialect, Resource};
use kiln_runtime::{
    Deadline, Evaluator, FindError, FunctionSpec, Input, Outcome, Output, RunContext, RunError,
    Target,
};
use kiln_yaml::{Document, parse_first};

const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

const LIST: &str = "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: a
functionConfig:
  data:
    k: v
";

fn document(text: &str) -> Document {
    parse_first(text.as_bytes()).unwrap().unwrap()
}

fn find_error(evaluator: &ExecEvaluator, function: &FunctionSpec) -> FindError {
    evaluator.find(function).err().unwrap()
}

fn config_map(name: &str) -> Resource {
    let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n");
    Resource::new(document(&text))
}

fn run(function: &FunctionSpec) -> Result<Outcome, RunError> {
    let items = [config_map("a")];
    let config = document("data:\n  k: v\n");
    run_on(
        function,
        &Input::new(Dialect::Current, &items, Some(&config)),
    )
}

fn run_on(function: &FunctionSpec, input: &Input<'_>) -> Result<Outcome, RunError> {
    let ctx = RunContext {
        deadline: Deadline::after(Duration::from_secs(60)),
        ..RunContext::default()
    };
    let found = ExecEvaluator::new(SEARCH_PATH).find(function).ok().unwrap();
    found.into_runner().run(input, &ctx)
}

fn wire(outcome: Outcome) -> String {
    match outcome.output {
        Output::Wire(bytes) => String::from_utf8(bytes.into()).unwrap(),
        Output::List(_) => panic!("a process answers with text"),
    }
}

#[test]
fn the_list_goes_in_and_the_answer_comes_out() {
    assert_eq!(wire(run(&FunctionSpec::exec("cat")).unwrap()), LIST);
    let outcome = run(&FunctionSpec::exec("sed -e 's/k: v/k: new value/'")).unwrap();
    assert_eq!(outcome.exit_code, 0);
    assert_eq!(wire(outcome), LIST.replace("k: v", "k: new value"));
}

#[test]
fn ten_thousand_resources_come_back_whole() {
    let items: Vec<Resource> = (0..10_000)
        .map(|n| config_map(&format!("map-{n}")))
        .collect();
    let input = Input::new(Dialect::Current, &items, None);
    let answer = wire(run_on(&FunctionSpec::exec("cat"), &input).unwrap());
    assert!(answer.len() > 500_000);
    assert!(answer == input.wire(), "the answer differs");
    // A function that reads only a little of it does not wait, nor do we.
    let outcome = run_on(&FunctionSpec::exec("head -c 100"), &input).unwrap();
    assert_eq!(wire(outcome), answer[..100]);
}

#[test]
fn a_failing_function_is_data() {
    let command_line = "sh -c 'echo partial; echo oops >&2; exit 7'";
    let outcome = run(&FunctionSpec::exec(command_line)).unwrap();
    assert_eq!(outcome.exit_code, 7);
    assert_eq!(outcome.exit_text(), "exit status 7");
    assert_eq!(outcome.stderr_text(), "oops\n");
    assert_eq!(wire(outcome), "partial\n");
    let outcome = run(&FunctionSpec::exec("sh -c 'kill -9 $$'")).unwrap();
    assert_eq!(outcome.exit_code, -1);
    assert_eq!(outcome.exit_text(), "signal: killed");
}

#[test]
fn programs_get_no_arguments_and_are_not_split() {
    let error = run(&FunctionSpec::new(Target::Program("./no such".to_owned()))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "fork/exec ./no such: no such file or directory"
    );
    let outcome = run(&FunctionSpec::new(Target::Program("/bin/cat".to_owned())));
    assert_eq!(wire(outcome.unwrap()), LIST);
}

#[test]
fn what_cannot_start_is_an_error_of_the_run() {
    for (command_line, expected) in [
        ("./nope -x", "fork/exec ./nope: no such file or directory"),
        (
            "x-x y",
            r#"exec: "x-x": executable file not found in $PATH"#,
        ),
        (" ", r#"exec: " ": executable file not found in $PATH"#),
        ("''", "exec: no command"),
    ] {
        let error = run(&FunctionSpec::exec(command_line)).unwrap_err();
        assert!(matches!(error, RunError::NotStarted(_)));
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn bad_quotes_are_refused_when_the_function_is_found() {
    let error = find_error(
        &ExecEvaluator::new(SEARCH_PATH),
        &FunctionSpec::exec("cat \"unclosed"),
    );
    assert!(matches!(error, FindError::Refused(_)));
    assert_eq!(
        error.to_string(),
        r#"exec command "cat \"unclosed" must be valid: EOF found when expecting closing quote"#
    );
}

#[test]
fn images_are_not_found() {
    let evaluator = ExecEvaluator::new(SEARCH_PATH);
    let error = find_error(&evaluator, &FunctionSpec::image("example.com/x:v1"));
    assert!(matches!(error, FindError::NotFound { .. }));
}

#[test]
#[cfg(target_os = "linux")]
fn functions_get_none_of_our_files() {
    let file = std::fs::File::open("/dev/zero").unwrap();
    // As if it had been inherited: the duplicate is not closed when a program is executed.
    let _inherited = rustix::io::dup(&file).unwrap();
    let listed = wire(run(&FunctionSpec::exec("ls /proc/self/fd")).unwrap());
    // The fourth is the directory that is being listed.
    assert_eq!(listed, "0\n1\n2\n3\n");
}
