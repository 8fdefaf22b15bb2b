//! The rule of the chain, with runtimes that answer as told.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::*;
use crate::{Input, Outcome, Output, RunContext, RunError};

#[derive(Debug, thiserror::Error)]
#[error("the registry is on fire")]
struct OnFire;

#[derive(Clone, Copy)]
enum Answer {
    NotFound,
    Refused,
    Runner(i32),
    /// Finds a runner that fails.
    Fails(Failing),
}

#[derive(Clone, Copy)]
enum Failing {
    NotFound,
    Unavailable,
}

struct Fake {
    answer: Answer,
    asked: Arc<AtomicUsize>,
}

struct Exits(i32);

impl Runner for Failing {
    fn run(&self, _: &Input<'_>, _: &RunContext) -> Result<Outcome, RunError> {
        Err(match self {
            Failing::NotFound => RunError::NotFound("never heard of it".into()),
            Failing::Unavailable => RunError::Unavailable("no engine".into()),
        })
    }
}

impl Runner for Exits {
    fn run(&self, _: &Input<'_>, _: &RunContext) -> Result<Outcome, RunError> {
        Ok(Outcome {
            exit_code: self.0,
            signal: None,
            output: Output::Wire(Vec::new()),
            stderr: Vec::new(),
            elapsed: Duration::ZERO,
        })
    }
}

impl Runtime for Fake {
    fn find(&self, function: &FunctionSpec) -> Result<Arc<dyn Runner>, FindError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        match self.answer {
            Answer::NotFound => Err(FindError::not_found(function)),
            Answer::Refused => Err(FindError::refused(OnFire)),
            Answer::Runner(code) => Ok(Arc::new(Exits(code))),
            Answer::Fails(failing) => Ok(Arc::new(failing)),
        }
    }
}

/// Asks a chain and tells its answer and how many runtimes it asked.
fn ask(answers: &[Answer]) -> (Result<i32, String>, usize) {
    let asked = Arc::new(AtomicUsize::new(0));
    let fakes = answers.iter().map(|&answer| {
        let asked = Arc::clone(&asked);
        Box::new(Fake { answer, asked }) as Box<dyn Runtime>
    });
    let chain = Chain::new(fakes.collect());
    let found = chain.find(&FunctionSpec::image("example.com/set-x:v1"));
    let code = match found {
        Ok(runner) => {
            let input = Input::new(kiln_krm::Dialect::Current, &[], None);
            let outcome = runner.run(&input, &RunContext::default());
            let outcome = outcome.map_err(|error| error.to_string());
            outcome.map(|outcome| outcome.exit_code)
        }
        Err(error) => Err(error.to_string()),
    };
    (code, asked.load(Ordering::SeqCst))
}

const NOT_FOUND: &str = r#"function "example.com/set-x:v1" not found"#;

#[test]
fn the_first_that_knows_the_function_runs_it() {
    let answers = [Answer::NotFound, Answer::Runner(3), Answer::Runner(4)];
    assert_eq!(ask(&answers), (Ok(3), 2));
}

#[test]
fn any_other_error_ends_the_search() {
    let answers = [Answer::NotFound, Answer::Refused, Answer::Runner(4)];
    assert_eq!(
        ask(&answers),
        (Err("the registry is on fire".to_owned()), 2)
    );
}

#[test]
fn the_end_of_the_chain_is_not_found() {
    assert_eq!(ask(&[Answer::NotFound; 3]), (Err(NOT_FOUND.to_owned()), 3));
    assert_eq!(ask(&[]), (Err(NOT_FOUND.to_owned()), 0));
}

#[test]
fn who_does_not_know_the_function_after_all_is_passed_over() {
    let late = Answer::Fails(Failing::NotFound);
    assert_eq!(
        ask(&[late, Answer::NotFound, Answer::Runner(4)]),
        (Ok(4), 3)
    );
    assert_eq!(ask(&[late, late, Answer::Runner(4)]), (Ok(4), 3));
    assert_eq!(
        ask(&[Answer::Runner(1), late, Answer::Runner(4)]),
        (Ok(1), 1)
    );
}

#[test]
fn the_last_who_was_asked_says_why_nobody_runs_it() {
    let late = Answer::Fails(Failing::NotFound);
    let says = |text: &str| Err(text.to_owned());
    assert_eq!(
        ask(&[late, Answer::NotFound]),
        (says("never heard of it"), 2)
    );
    assert_eq!(ask(&[late]), (says("never heard of it"), 1));
    assert_eq!(
        ask(&[late, Answer::Fails(Failing::Unavailable)]),
        (says("never heard of it; no engine"), 2)
    );
    assert_eq!(
        ask(&[late, Answer::Refused]),
        (says("never heard of it; the registry is on fire"), 2)
    );
}

#[test]
fn a_chain_is_a_runtime_of_another() {
    let inner = Chain::new(Vec::new());
    let outer = Chain::new(vec![Box::new(inner)]);
    let error = outer.find(&FunctionSpec::exec("cat")).err().unwrap();
    assert_eq!(error.to_string(), r#"function "cat" not found"#);
}
