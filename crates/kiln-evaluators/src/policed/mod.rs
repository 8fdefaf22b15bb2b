//! Evaluators under a policy: whether a function may run in this way, within which limits, and whether its image is signed.
//!
//! Every evaluator of a chain but the program's own is wrapped in a [`PolicedEvaluator`], so that no function runs unchecked.

mod verified;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kiln_krm::image::with_prefix;
use kiln_policy::{PolicyMax, RunWay, canonical_image};
use kiln_runtime::{
    AsyncRunner, Deadline, Evaluator, FindError, Found, FunctionSpec, Input, KeepAnswers, Limits,
    Outcome, ReproducibleCall, RunContext, RunError, RunFuture, Runner, Target,
};

use verified::VerifiedRunner;

use crate::policy_guard::{PolicyGuard, Verification};
use crate::{CONTAINER, EXEC, IMAGE, NATIVE, POD, REMOTE, WASM};

/// An evaluator that runs what a policy allows in its way.
pub(crate) struct PolicedEvaluator {
    pub(crate) evaluator: Arc<dyn Evaluator>,
    pub(crate) way: RunWay,
    /// The prefix of short image names, if callers send them.
    pub(crate) prefix: Option<String>,
    pub(crate) guard: Arc<PolicyGuard>,
}

/// The way to run functions that an evaluator of the chain stands for; `None` for an evaluator of one program only.
pub(crate) fn way(evaluator: &str) -> Option<RunWay> {
    Some(match evaluator {
        EXEC => RunWay::Exec,
        NATIVE => RunWay::Native,
        WASM => RunWay::Wasm,
        REMOTE => RunWay::Remote,
        IMAGE => RunWay::Image,
        CONTAINER => RunWay::Engine,
        POD => RunWay::Pod,
        _ => return None,
    })
}

impl Evaluator for PolicedEvaluator {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        let full = self.full_name(function);
        let found = match self.way {
            RunWay::Engine => self.evaluator.find(&unambiguous(&full))?,
            _ => self.evaluator.find(function)?,
        };
        let builtin = match &found {
            Found::Blocking(runner) => runner.worker_image(),
            Found::Async(_) => None,
        };
        let permission = self.guard.policy().decide(&full, self.way, builtin);
        let permission = permission.map_err(FindError::denied)?;
        let found = match self.guard.verification(&full, self.way, &permission) {
            None => found,
            Some(verification) => self.verified(found, verification),
        };
        let (max, answers) = (permission.max, permission.answers);
        let is_plain = max == PolicyMax::default() && answers == KeepAnswers::AsConfigured;
        Ok(match (is_plain, found) {
            (true, found) => found,
            (false, Found::Blocking(runner)) => Found::blocking(LimitedRunner {
                runner,
                max,
                answers,
            }),
            (false, Found::Async(runner)) => Found::Async(Arc::new(LimitedRunner {
                runner,
                max,
                answers,
            })),
        })
    }

    fn may_deny(&self) -> bool {
        true
    }
}

impl PolicedEvaluator {
    fn verified(&self, found: Found, verification: Verification) -> Found {
        let evaluator = Arc::clone(&self.evaluator);
        match found {
            Found::Blocking(found) => Found::blocking(VerifiedRunner {
                found,
                evaluator,
                verification,
            }),
            Found::Async(found) => Found::Async(Arc::new(VerifiedRunner {
                found,
                evaluator,
                verification,
            })),
        }
    }

    fn full_name(&self, function: &FunctionSpec) -> FunctionSpec {
        match (&function.target, &self.prefix) {
            (Target::Image(image), Some(prefix)) => FunctionSpec {
                target: Target::Image(with_prefix(prefix, image)),
                ..function.clone()
            },
            _ => function.clone(),
        }
    }
}

/// The image by the name that the policy decided about. An engine may read a short name as an image of another registry, or
/// as the ID of a local image.
fn unambiguous(function: &FunctionSpec) -> FunctionSpec {
    let mut function = function.clone();
    if let Target::Image(image) = &mut function.target
        && let Ok(canonical) = canonical_image(image)
    {
        *image = canonical.reference;
    }
    function
}

/// A runner with the limits of a policy.
struct LimitedRunner<R: ?Sized> {
    runner: Arc<R>,
    max: PolicyMax,
    answers: KeepAnswers,
}

impl LimitedRunner<dyn Runner> {
    /// The context of a call, with limits that are at most those of the policy.
    fn limited(&self, ctx: &RunContext) -> RunContext {
        let memory = ctx.limits.memory.into_iter().chain(self.max.memory).min();
        RunContext {
            deadline: Deadline::at_most(ctx.deadline, self.max.time),
            answers: self.answers,
            limits: Limits {
                memory,
                ..ctx.limits
            },
            ..ctx.clone()
        }
    }
}

impl Runner for LimitedRunner<dyn Runner> {
    fn run(&self, input: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
        self.runner.run(input, &self.limited(ctx))
    }

    fn check_permission(&self, ctx: &RunContext) -> Result<(), RunError> {
        self.runner.check_permission(&self.limited(ctx))
    }

    fn is_native(&self) -> bool {
        self.runner.is_native()
    }

    fn is_module(&self) -> bool {
        self.runner.is_module()
    }

    fn reproducible(&self, ctx: &RunContext) -> Option<ReproducibleCall> {
        self.runner.reproducible(&self.limited(ctx))
    }

    fn worker_image(&self) -> Option<&str> {
        self.runner.worker_image()
    }

    fn max_time(&self) -> Option<Duration> {
        self.max.time
    }
}

impl AsyncRunner for LimitedRunner<dyn AsyncRunner> {
    fn run(&self, list: Bytes, deadline: Option<Deadline>) -> RunFuture<'_> {
        self.runner
            .run(list, Deadline::at_most(deadline, self.max.time))
    }

    fn max_time(&self) -> Option<Duration> {
        self.max.time
    }
}

#[cfg(test)]
mod tests;
