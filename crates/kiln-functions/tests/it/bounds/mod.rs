//! No input makes a function use much more memory than its output limit, or run past its deadline.
//!
//! An allocator counts the peak memory of each thread. Calls have the limits of a service with messages of 6 MiB.

mod hostile;

use std::time::Duration;

use allocation_counter::measure as count;
use hostile::{CASES, Case, list};
use kiln_functions::registry::{FunctionVersion, Registry};
use kiln_functions::wire::{self, ProgramOutput};
use kiln_functions::{Context, NativeEvaluator, NoFiles};
use kiln_krm::Dialect;
use kiln_krm::read::read_input;
use kiln_runtime::{Deadline, Evaluator, FunctionSpec, Input, Limits, RunContext, RunError};

/// Twice a message.
const MAX_OUTPUT: u64 = 12 << 20;

/// The peak memory of a call: its allowance of 120 MiB, and as much again each for values that are not stored yet,
/// for copies of results, and for the growth of the allocator.
const MOST: u64 = 480 << 20;

fn limited() -> RunContext {
    RunContext {
        // A guard against hangs.
        deadline: Deadline::after(Duration::from_secs(120)),
        limits: Limits {
            max_output: MAX_OUTPUT,
            ..Limits::default()
        },
        ..RunContext::default()
    }
}

fn run(
    version: &FunctionVersion,
    input: &str,
    run: &RunContext,
) -> Result<ProgramOutput, RunError> {
    let ctx = Context {
        environment: &[],
        files: &NoFiles,
        run,
    };
    wire::run(version, input.as_bytes(), &ctx)
}

/// How a call with too much input ended.
#[derive(Debug)]
enum Ended {
    /// It failed because of its memory or the length of its output.
    OverLimit,
    /// With an answer, which may be an error.
    Answered,
}

#[track_caller]
fn measure(name: &str, version: &FunctionVersion, input: &str) -> Ended {
    let mut outcome = None;
    let peak = count(|| outcome = Some(run(version, input, &limited()))).bytes_max;
    let outcome = outcome.expect("it was run");
    let tags = version.tags;
    assert!(
        peak < MOST,
        "{name} {tags:?} held {} MiB for an input of {} KiB",
        peak >> 20,
        input.len() >> 10
    );
    match outcome {
        Err(RunError::OutputTooLarge { limit: MAX_OUTPUT }) => Ended::OverLimit,
        Err(error) => panic!("{name} {tags:?}: {error}"),
        Ok(answer) => {
            let stderr = &answer.stderr;
            assert!(!stderr.contains("panicked"), "{name} {tags:?}: {stderr}");
            match stderr.starts_with("function needs more than 120 MiB for its resources") {
                true => {
                    assert_eq!(answer.exit_code, 1);
                    assert!(stderr.contains("--max-output"), "{stderr}");
                    Ended::OverLimit
                }
                false => Ended::Answered,
            }
        }
    }
}

/// All versions of all functions except `sleep`.
fn versions() -> impl Iterator<Item = (&'static str, &'static FunctionVersion)> {
    let functions = Registry::builtin().all_functions();
    let functions = functions.filter(|info| info.name != "sleep");
    functions.flat_map(|info| info.versions.iter().map(|version| (info.name, version)))
}

#[test]
fn long_values_for_many_resources_end_at_the_limit() {
    for Case {
        function,
        input,
        expected,
    } in CASES
    {
        let input = input();
        let info = Registry::builtin().function(function).unwrap();
        let over: Vec<&str> = info
            .versions
            .iter()
            .filter(|version| matches!(measure(function, version, &input), Ended::OverLimit))
            .flat_map(|version| version.tags)
            .copied()
            .collect();
        let newest = info.newest().unwrap().tags.first().unwrap();
        match expected {
            hostile::Expected::OverLimit => assert!(
                over.contains(newest),
                "{function} is not refused; versions that are: {over:?}"
            ),
            hostile::Expected::Bounded => {}
        }
    }
}

#[test]
fn every_function_is_bounded_whatever_it_is_configured_with() {
    for config in hostile::configurations() {
        let input = list(&hostile::ordinary(60), &config);
        for (name, version) in versions() {
            measure(name, version, &input);
        }
    }
}

#[test]
fn a_large_package_is_not_refused() {
    // As many resources as fit into a message of 6 MiB.
    let items = hostile::ordinary(30_000);
    let config = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {namespace: prod, prepend: x-}}";
    let input = list(&items, config);
    assert!(input.len() > 5 << 20, "{}", input.len());
    for info in Registry::builtin()
        .functions()
        .filter(|info| info.name != "sleep")
    {
        let ended = measure(info.name, info.newest().unwrap(), &input);
        assert!(matches!(ended, Ended::Answered), "{}", info.name);
    }
}

/// Runs a function on trees; it fails within the limit. Returns its standard error.
#[track_caller]
fn failed_on_trees(function: &str, input: String) -> String {
    let given = read_input(input.into_bytes(), Dialect::Current).unwrap();
    let input = Input::new(
        Dialect::Current,
        &given.items,
        given.function_config.as_ref(),
    );
    let runtime = NativeEvaluator::new(Registry::builtin());
    let runner = runtime
        .find(&FunctionSpec::image(format!("{function}:latest")))
        .unwrap()
        .into_runner();
    let mut outcome = None;
    let peak = count(|| outcome = Some(runner.run(&input, &limited()))).bytes_max;
    assert!(peak < MOST, "{peak}");
    let outcome = outcome.expect("it was run").unwrap();
    assert_eq!(outcome.exit_code, 1);
    outcome.stderr_text().into_owned()
}

#[test]
fn trees_are_bounded_like_text() {
    let case = CASES
        .iter()
        .find(|case| case.function == "set-labels")
        .unwrap();
    let stderr = failed_on_trees("set-labels", (case.input)());
    assert!(
        stderr.starts_with("function needs more than 120 MiB"),
        "{stderr}"
    );
}

/// A package in which search-replace creates a field at the end of a path.
fn with_path(levels: usize, resources: usize) -> String {
    let path = vec!["a"; levels].join(".");
    let config = format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c}}, data: {{by-path: {path}, put-value: x}}}}"
    );
    list(&hostile::ordinary(resources), &config)
}

#[test]
fn trees_that_nothing_can_read_are_refused() {
    let stderr = failed_on_trees("search-replace", with_path(20_000, 1));
    assert!(
        stderr
            .starts_with("function returned a resource that is nested more than 10000 levels deep"),
        "{stderr}"
    );
}

#[test]
fn the_indentation_of_deep_trees_counts() {
    let stderr = failed_on_trees("search-replace", with_path(5_000, 20));
    assert!(
        stderr.starts_with("function needs more than 120 MiB"),
        "{stderr}"
    );
}

#[test]
fn work_that_has_no_end_stops_at_the_deadline() {
    for (function, input) in hostile::ENDLESS {
        let late = RunContext {
            deadline: Deadline::after(Duration::from_millis(200)),
            ..limited()
        };
        let version = Registry::builtin()
            .function(function)
            .unwrap()
            .newest()
            .unwrap();
        let outcome = run(version, &input(), &late);
        assert!(
            matches!(outcome, Err(RunError::TimedOut { .. })),
            "{function}: {outcome:?}"
        );
    }
}
