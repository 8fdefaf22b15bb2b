//! Runners of functions whose signatures are verified first. Verification may need the registry, so it is part of a run.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kiln_runtime::{
    AsyncRunner, Deadline, Evaluator, FindError, Found, FunctionSpec, Input, Outcome, RunContext,
    RunError, RunFuture, Runner,
};

use crate::policy_guard::Verification;

/// A runner that verifies the function, then runs what was verified.
pub(super) struct VerifiedRunner<R: ?Sized> {
    /// The runner of the function by the name that the caller gave.
    pub(super) found: Arc<R>,
    pub(super) evaluator: Arc<dyn Evaluator>,
    pub(super) verification: Verification,
}

impl<R: ?Sized> VerifiedRunner<R> {
    fn find(&self, verified: &FunctionSpec) -> Result<Found, RunError> {
        self.evaluator.find(verified).map_err(|error| match error {
            FindError::NotFound { .. } => RunError::NotFound(Box::new(error)),
            FindError::Refused(error) => RunError::Unavailable(error),
            FindError::Denied(error) => RunError::Denied(error),
        })
    }
}

impl Runner for VerifiedRunner<dyn Runner> {
    fn run(&self, input: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
        let verified = self.verification.wait(ctx)?;
        self.find(&verified)?.into_runner().run(input, ctx)
    }

    fn check_permission(&self, ctx: &RunContext) -> Result<(), RunError> {
        self.verification.wait(ctx).map(drop)
    }

    fn is_native(&self) -> bool {
        self.found.is_native()
    }

    fn is_module(&self) -> bool {
        self.found.is_module()
    }

    fn max_time(&self) -> Option<Duration> {
        self.found.max_time()
    }
}

impl AsyncRunner for VerifiedRunner<dyn AsyncRunner> {
    fn run(&self, list: Bytes, deadline: Option<Deadline>) -> RunFuture<'_> {
        Box::pin(async move {
            let verified = self.verification.verify().await?;
            match self.find(&verified)? {
                Found::Async(runner) => runner.run(list, deadline).await,
                // An evaluator of peers finds runners of peers only.
                Found::Blocking(_) => Err(RunError::NotFound(Box::new(FindError::not_found(
                    &verified,
                )))),
            }
        })
    }

    fn max_time(&self) -> Option<Duration> {
        self.found.max_time()
    }
}
