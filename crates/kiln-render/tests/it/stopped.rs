//! What a function printed until it was stopped.

use std::time::Duration;

use kiln_krm::package::MemoryFiles;
use kiln_render::{Jobs, RenderCompat};
use kiln_runtime::{
    CancelToken, Evaluator, FindError, Found, FunctionSpec, Input, Outcome, RunContext, RunError,
    Runner,
};

use crate::setup::{RenderSetup, kptfile};

/// A function that is stopped after it has printed a line.
#[derive(Clone)]
struct Stopped(fn(Vec<u8>) -> RunError);

impl Runner for Stopped {
    fn run(&self, _: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
        let stderr = b"starting\n".to_vec();
        ctx.stopped_stderr.set(stderr.clone());
        Err((self.0)(stderr))
    }
}

impl Evaluator for Stopped {
    fn find(&self, _: &FunctionSpec) -> Result<Found, FindError> {
        Ok(Found::blocking(self.clone()))
    }
}

#[track_caller]
fn check(compat: RenderCompat, error: fn(Vec<u8>) -> RunError, stderr: &str) {
    let setup = RenderSetup {
        compat,
        jobs: Jobs::ONE,
        evaluator: &Stopped(error),
        cancel: CancelToken::new(),
    };
    let mut files = MemoryFiles::new();
    let root = kptfile("r", "pipeline:\n  mutators:\n  - exec: function\n");
    files.insert("Kptfile", root);
    let after = setup.render(files);
    let result = after.rendered.results.items.first().expect("a result");
    assert_eq!(result.stderr, stderr);
    assert_ne!(result.exit_code, 0);
}

#[test]
fn it_is_in_the_result() {
    check(RenderCompat::Kiln, |_| RunError::Cancelled, "starting\n");
    check(
        RenderCompat::Kiln,
        |_| RunError::OutputTooLarge { limit: 1 },
        "starting\n",
    );
    let timed_out = |stderr| RunError::TimedOut {
        timeout: Duration::ZERO,
        stderr,
    };
    check(RenderCompat::Kiln, timed_out, "starting\n");
    check(RenderCompat::Kpt, timed_out, "starting\n");
    check(RenderCompat::Kpt, |_| RunError::Cancelled, "");
}
