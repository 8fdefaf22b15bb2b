//! Equal calls at the same time.

use std::sync::Condvar;

use kiln_runtime::Deadline;

use super::*;

/// A function that waits until the test lets it go on.
struct Gate {
    /// How many calls have begun, and how many may end.
    calls: Mutex<(usize, usize)>,
    changed: Condvar,
    exit_code: i32,
}

struct Gated(Arc<Gate>);

impl Gate {
    fn new(exit_code: i32) -> Arc<Gate> {
        Arc::new(Gate {
            calls: Mutex::default(),
            changed: Condvar::new(),
            exit_code,
        })
    }

    /// Waits until so many calls have begun.
    fn await_begun(&self, count: usize) {
        let calls = self.calls.lock().unwrap();
        drop(self.changed.wait_while(calls, |(begun, _)| *begun < count));
    }

    fn let_end(&self, count: usize) {
        self.calls.lock().unwrap().1 += count;
        self.changed.notify_all();
    }

    fn begun(&self) -> usize {
        self.calls.lock().unwrap().0
    }
}

impl Evaluator for Gated {
    fn find(&self, _: &FunctionSpec) -> Result<Found, FindError> {
        Ok(Found::blocking(Gated(Arc::clone(&self.0))))
    }
}

impl Runner for Gated {
    fn run(&self, _: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
        let gate = Arc::clone(&self.0);
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let cancelled = Arc::clone(&is_cancelled);
        let _guard = ctx.cancel.on_cancel(move || {
            let _calls = gate.calls.lock().unwrap();
            cancelled.store(true, Ordering::Relaxed);
            gate.changed.notify_all();
        });
        let mut calls = self.0.calls.lock().unwrap();
        calls.0 += 1;
        self.0.changed.notify_all();
        let waits =
            |(_, ended): &mut (usize, usize)| *ended == 0 && !is_cancelled.load(Ordering::Relaxed);
        let mut calls = self.0.changed.wait_while(calls, waits).unwrap();
        if is_cancelled.load(Ordering::Relaxed) {
            return Err(RunError::Cancelled);
        }
        calls.1 -= 1;
        Ok(Outcome {
            exit_code: self.0.exit_code,
            signal: None,
            output: Output::Wire(LIST.into()),
            stderr: Vec::new(),
            elapsed: Duration::ZERO,
            identity: Some(FunctionIdentity::wasm("1", "wasi1")),
            is_cached: false,
        })
    }

    fn reproducible(&self, _: &RunContext) -> Option<ReproducibleCall> {
        Some(call("1"))
    }
}

/// A chain with that function, which counts calls that wait for another.
fn gated(store: &Path, gate: &Arc<Gate>) -> Arc<dyn Runner> {
    let results = ResultCache::open(store, ResultLimits::default()).unwrap();
    let answers = AnswerCache::new(Arc::new(results), CacheMode::Images, |_| {});
    let chain = ChainOptions {
        image: Some(Arc::new(Gated(Arc::clone(gate)))),
        answers: Some(Arc::new(answers)),
        ..ChainOptions::default()
    };
    let found = chain.chain().find(&FunctionSpec::image("a.io/x:v1"));
    found.unwrap().into_runner()
}

fn run_gated(runner: &Arc<dyn Runner>, ctx: &RunContext) -> Result<Outcome, RunError> {
    let text = list("");
    runner.run(&Input::from_wire(Dialect::Current, &text), ctx)
}

/// Waits until a call waits for another one: it has a listener for its cancellation.
fn await_waiting(ctx: &RunContext) {
    while !ctx.cancel.has_listeners() {
        std::thread::yield_now();
    }
}

#[test]
fn equal_calls_in_flight_run_once() {
    let store = tempfile::tempdir().unwrap();
    let gate = Gate::new(0);
    let runner = gated(store.path(), &gate);
    let contexts: Vec<RunContext> = (0..4).map(|_| RunContext::default()).collect();
    std::thread::scope(|scope| {
        let (first, others) = contexts.split_first().unwrap();
        let first = scope.spawn(|| run_gated(&runner, first));
        gate.await_begun(1);
        let others: Vec<_> = others
            .iter()
            .map(|ctx| scope.spawn(|| run_gated(&runner, ctx)))
            .collect();
        contexts[1..].iter().for_each(await_waiting);
        gate.let_end(1);
        assert!(!first.join().unwrap().unwrap().is_cached);
        for other in others {
            assert!(other.join().unwrap().unwrap().is_cached);
        }
    });
    assert_eq!(gate.begun(), 1);
}

#[test]
fn a_cancelled_call_hands_over() {
    let store = tempfile::tempdir().unwrap();
    let gate = Gate::new(0);
    let runner = gated(store.path(), &gate);
    let contexts: Vec<RunContext> = (0..3).map(|_| RunContext::default()).collect();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| run_gated(&runner, &contexts[0]));
        gate.await_begun(1);
        let others: Vec<_> = contexts[1..]
            .iter()
            .map(|ctx| scope.spawn(|| run_gated(&runner, ctx)))
            .collect();
        contexts[1..].iter().for_each(await_waiting);
        contexts[0].cancel.cancel();
        assert!(matches!(first.join().unwrap(), Err(RunError::Cancelled)));
        // One of the others runs now.
        gate.await_begun(2);
        gate.let_end(1);
        for other in others {
            assert_eq!(other.join().unwrap().unwrap().exit_code, 0);
        }
    });
    assert_eq!(gate.begun(), 2);
}

#[test]
fn a_failed_call_is_not_shared() {
    let store = tempfile::tempdir().unwrap();
    let gate = Gate::new(1);
    let runner = gated(store.path(), &gate);
    let contexts: Vec<RunContext> = (0..3).map(|_| RunContext::default()).collect();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| run_gated(&runner, &contexts[0]));
        gate.await_begun(1);
        let others: Vec<_> = contexts[1..]
            .iter()
            .map(|ctx| scope.spawn(|| run_gated(&runner, ctx)))
            .collect();
        contexts[1..].iter().for_each(await_waiting);
        gate.let_end(1);
        assert_eq!(first.join().unwrap().unwrap().exit_code, 1);
        gate.await_begun(3);
        gate.let_end(2);
        for other in others {
            assert_eq!(other.join().unwrap().unwrap().exit_code, 1);
        }
    });
}

#[test]
fn a_waiting_call_has_its_own_deadline() {
    let store = tempfile::tempdir().unwrap();
    let gate = Gate::new(0);
    let runner = gated(store.path(), &gate);
    let contexts: Vec<RunContext> = (0..2).map(|_| RunContext::default()).collect();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| run_gated(&runner, &contexts[0]));
        gate.await_begun(1);
        let ctx = RunContext {
            deadline: Deadline::after(Duration::from_millis(1)),
            ..RunContext::default()
        };
        let late = run_gated(&runner, &ctx);
        assert!(matches!(late, Err(RunError::TimedOut { .. })));
        let given_up = scope.spawn(|| run_gated(&runner, &contexts[1]));
        await_waiting(&contexts[1]);
        contexts[1].cancel.cancel();
        assert!(matches!(given_up.join().unwrap(), Err(RunError::Cancelled)));
        gate.let_end(1);
        assert_eq!(first.join().unwrap().unwrap().exit_code, 0);
    });
    assert_eq!(gate.begun(), 1);
}
