//! The rule of the chain, with evaluators that answer as the test sets.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::*;
use crate::{AsyncRunner, Deadline, Input, Outcome, Output, RunContext, RunError, RunFuture};

#[derive(Debug, thiserror::Error)]
#[error("the registry is on fire")]
struct OnFire;

#[derive(Debug, thiserror::Error)]
#[error("not allowed")]
struct NotAllowed;

#[derive(Clone, Copy)]
enum Answer {
    NotFound,
    Refused,
    Denied,
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
            output: Output::Wire(bytes::Bytes::new()),
            stderr: Vec::new(),
            elapsed: Duration::ZERO,
            identity: None,
            is_cached: false,
        })
    }
}

impl Evaluator for Fake {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        match self.answer {
            Answer::NotFound => Err(FindError::not_found(function)),
            Answer::Refused => Err(FindError::refused(OnFire)),
            Answer::Denied => Err(FindError::denied(NotAllowed)),
            Answer::Runner(code) => Ok(Found::blocking(Exits(code))),
            Answer::Fails(failing) => Ok(Found::blocking(failing)),
        }
    }
}

/// Runs a chain and returns its answer and the number of evaluators that it asked.
fn ask(answers: &[Answer]) -> (Result<i32, String>, usize) {
    let asked = Arc::new(AtomicUsize::new(0));
    let fakes = answers.iter().map(|&answer| {
        let asked = Arc::clone(&asked);
        let fake: Arc<dyn Evaluator> = Arc::new(Fake { answer, asked });
        ("fake", fake)
    });
    let chain = EvaluatorChain::new(fakes.collect());
    let found = chain.find(&FunctionSpec::image("example.com/set-x:v1"));
    let code = match found {
        Ok(found) => {
            let runner = found.into_runner();
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
fn a_runner_that_does_not_know_the_function_after_all_is_skipped() {
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
fn the_last_evaluator_reports_why_the_function_did_not_run() {
    let late = Answer::Fails(Failing::NotFound);
    let error = |text: &str| Err(text.to_owned());
    assert_eq!(
        ask(&[late, Answer::NotFound]),
        (error("never heard of it"), 2)
    );
    assert_eq!(ask(&[late]), (error("never heard of it"), 1));
    assert_eq!(
        ask(&[late, Answer::Fails(Failing::Unavailable)]),
        (error("never heard of it; no engine"), 2)
    );
    assert_eq!(
        ask(&[late, Answer::Refused]),
        (error("never heard of it; the registry is on fire"), 2)
    );
}

#[test]
fn a_chain_is_an_evaluator_of_another() {
    let inner: Arc<dyn Evaluator> = Arc::new(EvaluatorChain::default());
    let outer = EvaluatorChain::new(vec![("inner", inner)]);
    let error = outer.find(&FunctionSpec::exec("cat")).err().unwrap();
    assert_eq!(error.to_string(), r#"function "cat" not found"#);
}

/// Finds a function that runs elsewhere and turns out to be unknown there.
struct Elsewhere;

impl Evaluator for Elsewhere {
    fn find(&self, _: &FunctionSpec) -> Result<Found, FindError> {
        Ok(Found::Async(Arc::new(Elsewhere)))
    }
}

impl AsyncRunner for Elsewhere {
    fn run(&self, _: bytes::Bytes, _: Option<Deadline>) -> RunFuture<'_> {
        let error = RunError::NotFound("no registry knows it".into());
        Box::pin(std::future::ready(Err(error)))
    }
}

#[test]
fn the_rule_is_the_same_for_functions_that_run_elsewhere() {
    let fake = |answer| -> Arc<dyn Evaluator> {
        let asked = Arc::default();
        Arc::new(Fake { answer, asked })
    };
    let chain = EvaluatorChain::new(vec![
        ("exec", fake(Answer::NotFound)),
        ("pod", Arc::new(Elsewhere)),
        ("native", fake(Answer::Runner(5))),
        ("last", fake(Answer::NotFound)),
    ]);
    assert_eq!(
        chain.names().collect::<Vec<_>>(),
        ["exec", "pod", "native", "last"]
    );
    let function = FunctionSpec::image("set-x:v1");
    let input = Input::new(kiln_krm::Dialect::Current, &[], None);
    let runner = chain.find(&function).unwrap().into_runner();
    let outcome = runner.run(&input, &RunContext::default()).unwrap();
    assert_eq!(outcome.exit_code, 5);

    let (mut search, found) = chain.search(&function).unwrap();
    assert_eq!(search.evaluator(), "pod");
    assert!(matches!(found, Found::Async(_)));
    let not_found = RunError::NotFound("no registry knows it".into());
    let found = search.settle::<()>(Err(not_found));
    assert!(matches!(found, ControlFlow::Continue(Found::Blocking(_))));
    assert_eq!(search.evaluator(), "native");
    assert!(matches!(
        search.settle(Ok("answer")),
        ControlFlow::Break(Ok("answer"))
    ));
}

#[test]
fn an_evaluator_that_is_not_allowed_is_skipped_and_not_forgotten() {
    let late = Answer::Fails(Failing::NotFound);
    let denied = || Err("not allowed".to_owned());
    assert_eq!(ask(&[Answer::Denied, Answer::Runner(4)]), (Ok(4), 2));
    assert_eq!(ask(&[Answer::Denied, Answer::NotFound]), (denied(), 2));
    assert_eq!(ask(&[Answer::NotFound, Answer::Denied]), (denied(), 2));
    assert_eq!(ask(&[Answer::Denied, late]), (denied(), 2));
    assert_eq!(ask(&[late, Answer::Denied]), (denied(), 2));
}
