//! What ends the wait for a function that runs elsewhere.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use kiln_krm::Dialect;

use super::*;
use crate::cancel::CancelToken;
use crate::context::{Deadline, Limits, StderrListener};
use crate::evaluator::Found;

/// A function that the test ends. It reports when it starts and when it is dropped.
struct Elsewhere {
    begun: Sender<Waker>,
    dropped: Sender<()>,
    answer: Arc<Mutex<Option<Result<Outcome, RunError>>>>,
}

struct ReportsDrop(Sender<()>);

impl Drop for ReportsDrop {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

impl AsyncRunner for Elsewhere {
    fn run(&self, list: Bytes, _: Option<Deadline>) -> RunFuture<'_> {
        let dropped = ReportsDrop(self.dropped.clone());
        Box::pin(async move {
            let _dropped = dropped;
            assert!(list.starts_with(b"apiVersion: "), "{list:?}");
            std::future::poll_fn(|task| {
                let answer = self.answer.lock().unwrap().take();
                let _ = self.begun.send(task.waker().clone());
                answer.map_or(Poll::Pending, Poll::Ready)
            })
            .await
        })
    }
}

/// The test's side of it.
struct Control {
    begun: Receiver<Waker>,
    dropped: Receiver<()>,
    answer: Arc<Mutex<Option<Result<Outcome, RunError>>>>,
}

fn elsewhere() -> (Arc<dyn Runner>, Control) {
    let (begun, hears_begun) = channel();
    let (dropped, hears_dropped) = channel();
    let answer = Arc::new(Mutex::new(None));
    let runner = Elsewhere {
        begun,
        dropped,
        answer: Arc::clone(&answer),
    };
    let control = Control {
        begun: hears_begun,
        dropped: hears_dropped,
        answer,
    };
    (Found::Async(Arc::new(runner)).into_runner(), control)
}

fn run(runner: &dyn Runner, ctx: &RunContext) -> Result<Outcome, RunError> {
    runner.run(&Input::new(Dialect::Current, &[], None), ctx)
}

fn outcome() -> Outcome {
    Outcome {
        exit_code: 3,
        signal: None,
        output: Output::Wire(Bytes::from_static(b"answer")),
        stderr: b"said".to_vec(),
        elapsed: Duration::ZERO,
        identity: None,
        is_cached: false,
    }
}

#[test]
fn the_answer_ends_the_wait() {
    let (runner, control) = elsewhere();
    let received = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&received);
    let ctx = RunContext {
        on_stderr: Some(StderrListener::new(move |piece| {
            listener.lock().unwrap().extend_from_slice(piece);
        })),
        ..RunContext::default()
    };
    let running = thread::spawn(move || run(runner.as_ref(), &ctx));
    let waker = control.begun.recv().unwrap();
    *control.answer.lock().unwrap() = Some(Ok(outcome()));
    waker.wake();
    let outcome = running.join().unwrap().unwrap();
    assert_eq!(outcome.exit_code, 3);
    assert_eq!(*received.lock().unwrap(), b"said");
}

#[test]
fn the_deadline_ends_the_wait_and_the_call() {
    let (runner, control) = elsewhere();
    let timeout = Duration::from_millis(20);
    let ctx = RunContext {
        deadline: Deadline::after(timeout),
        ..RunContext::default()
    };
    let error = run(runner.as_ref(), &ctx).unwrap_err();
    assert!(matches!(error, RunError::TimedOut { timeout: given, .. } if given == timeout));
    control.dropped.recv().unwrap();
}

#[test]
fn cancelling_ends_the_wait_and_the_call() {
    let (runner, control) = elsewhere();
    let cancel = CancelToken::new();
    let ctx = RunContext {
        cancel: cancel.clone(),
        ..RunContext::default()
    };
    let running = thread::spawn(move || run(runner.as_ref(), &ctx));
    control.begun.recv().unwrap();
    cancel.cancel();
    assert!(matches!(running.join().unwrap(), Err(RunError::Cancelled)));
    control.dropped.recv().unwrap();
}

#[test]
fn a_call_that_is_cancelled_already_does_not_begin() {
    let (runner, control) = elsewhere();
    let ctx = RunContext::default();
    ctx.cancel.cancel();
    assert!(matches!(
        run(runner.as_ref(), &ctx),
        Err(RunError::Cancelled)
    ));
    assert!(control.begun.try_recv().is_err());
}

#[test]
fn an_answer_over_the_limit_is_refused() {
    let (runner, control) = elsewhere();
    *control.answer.lock().unwrap() = Some(Ok(outcome()));
    let ctx = RunContext {
        limits: Limits {
            max_output: 9,
            ..Limits::default()
        },
        ..RunContext::default()
    };
    let error = run(runner.as_ref(), &ctx).unwrap_err();
    assert!(matches!(error, RunError::OutputTooLarge { limit: 9 }));
}
