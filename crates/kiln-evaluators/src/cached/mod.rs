//! Evaluators whose answers are kept: the same function with the same input is not run again.
//!
//! Only answers that depend on nothing but the call are kept ([`Runner::reproducible`]), and only those of functions that
//! succeeded. A kept answer is what the function printed, byte for byte; everything after that happens as for a fresh one.
//!
//! Deliberately absent: built-in functions. They work on trees, and the text for a key would have to be made only for that.

mod answer;
mod in_flight;
mod key;
mod mode;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use answer::Answer;
use in_flight::{CallsInFlight, Joined};
use key::answer_key;
use kiln_runtime::{
    Certainty, Evaluator, FindError, Found, FunctionSpec, Input, KeepAnswers, Outcome,
    ReproducibleCall, RunContext, RunError, Runner,
};
use kiln_store::{ResultCache, ResultKey, ResultKind};
pub use mode::{CacheMode, CacheModeError};

use crate::{IMAGE, WASM};

/// Answers of functions, and when they are used.
pub struct AnswerCache {
    results: Arc<ResultCache>,
    mode: CacheMode,
    on_event: Box<OnCacheEvent>,
    in_flight: CallsInFlight,
    /// Whether a problem with the directory was reported, which is once enough.
    has_reported: AtomicBool,
}

type OnCacheEvent = dyn Fn(&CacheEvent<'_>) + Send + Sync;

/// Something that happens with kept answers.
#[derive(Debug)]
pub enum CacheEvent<'a> {
    /// An answer was there.
    Hit,
    /// An answer was not there.
    Miss,
    /// The same call was running, and its answer is used.
    Joined,
    /// A function gave another answer to the same input. Its answers are not kept for 30 days.
    Differs { identity: &'a str },
    /// An answer could not be kept. Reported once.
    NotKept(&'a io::Error),
}

impl AnswerCache {
    pub fn new(
        results: Arc<ResultCache>,
        mode: CacheMode,
        on_event: impl Fn(&CacheEvent<'_>) + Send + Sync + 'static,
    ) -> AnswerCache {
        AnswerCache {
            results,
            mode,
            on_event: Box::new(on_event),
            in_flight: CallsInFlight::default(),
            has_reported: AtomicBool::new(false),
        }
    }

    /// An evaluator of a chain, with kept answers if its functions can be reproducible.
    pub(crate) fn wrap(
        self: &Arc<AnswerCache>,
        name: &str,
        evaluator: Arc<dyn Evaluator>,
    ) -> Arc<dyn Evaluator> {
        let certainty = match name {
            WASM => Certainty::Guaranteed,
            IMAGE => Certainty::Assumed,
            _ => return evaluator,
        };
        if self.mode == CacheMode::Off {
            return evaluator;
        }
        Arc::new(CachedEvaluator {
            evaluator,
            answers: Arc::clone(self),
            certainty,
        })
    }

    /// Whether the answers of calls with this certainty are kept.
    fn keeps(&self, certainty: Certainty, ctx: &RunContext) -> bool {
        match (ctx.answers, certainty) {
            (KeepAnswers::Never, _) => false,
            (_, Certainty::Guaranteed) | (KeepAnswers::Assumed, Certainty::Assumed) => true,
            (KeepAnswers::AsConfigured, Certainty::Assumed) => self.mode.has_images(),
        }
    }

    /// Whether the answers of a call may be kept.
    fn may_keep(&self, call: &ReproducibleCall, ctx: &RunContext) -> bool {
        self.keeps(call.certainty, ctx) && !self.results.is_impure(call.identity.as_str())
    }

    fn read(&self, call: &ReproducibleCall, key: &ResultKey) -> Option<Answer> {
        let identity = call.identity.as_str();
        let payload = self.results.read(ResultKind::Answer, key, identity)?;
        let answer = Answer::parse(payload);
        if answer.is_none() {
            self.results.remove(ResultKind::Answer, key);
        }
        answer
    }

    fn keep(&self, call: &ReproducibleCall, key: &ResultKey, answer: &Answer) {
        let identity = call.identity.as_str();
        let payload = answer.to_bytes();
        let kept = self
            .results
            .write(ResultKind::Answer, key, identity, &payload);
        if let Err(error) = kept
            && !self.has_reported.swap(true, Ordering::Relaxed)
        {
            self.report(&CacheEvent::NotKept(&error));
        }
    }

    /// A fresh answer is not the kept one.
    fn discard(&self, call: &ReproducibleCall, key: &ResultKey) {
        let identity = call.identity.as_str();
        self.results.remove(ResultKind::Answer, key);
        if let Err(error) = self.results.mark_impure(identity) {
            self.report(&CacheEvent::NotKept(&error));
        }
        self.report(&CacheEvent::Differs { identity });
    }

    fn report(&self, event: &CacheEvent<'_>) {
        (self.on_event)(event);
    }
}

struct CachedEvaluator {
    evaluator: Arc<dyn Evaluator>,
    answers: Arc<AnswerCache>,
    /// The highest of its functions.
    certainty: Certainty,
}

impl Evaluator for CachedEvaluator {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        Ok(match self.evaluator.find(function)? {
            Found::Blocking(runner) => Found::blocking(CachedRunner {
                runner,
                answers: Arc::clone(&self.answers),
                certainty: self.certainty,
            }),
            // Runs elsewhere, where answers may be kept.
            found @ Found::Async(_) => found,
        })
    }
}

struct CachedRunner {
    runner: Arc<dyn Runner>,
    answers: Arc<AnswerCache>,
    certainty: Certainty,
}

impl Runner for CachedRunner {
    fn run(&self, input: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
        let started = Instant::now();
        let answers = &*self.answers;
        // It takes time to find out what would run.
        let is_kept = answers.keeps(self.certainty, ctx);
        let call = is_kept.then(|| self.runner.reproducible(ctx)).flatten();
        let Some(call) = call.filter(|call| answers.may_keep(call, ctx)) else {
            return self.runner.run(input, ctx);
        };
        let key = answer_key(&call, input);
        let kept = answers.read(&call, &key);
        let is_verified = answers.mode == CacheMode::Verify;
        let reuse = |answer: &Answer, event: CacheEvent<'_>| {
            answers.report(&event);
            if let Some(listener) = &ctx.on_stderr {
                listener.receive(&answer.stderr);
            }
            Ok(answer.outcome(&call, started.elapsed()))
        };
        if let Some(answer) = &kept
            && answer.fits(ctx)
            && !is_verified
        {
            return reuse(answer, CacheEvent::Hit);
        }
        // Verifying is about what each call returns.
        let leading = match is_verified {
            true => None,
            false => match answers.in_flight.join(&key, ctx)? {
                Joined::Answer(answer) if answer.fits(ctx) => {
                    return reuse(&answer, CacheEvent::Joined);
                }
                Joined::Run(leading) => {
                    let found = leading.has_waited.then(|| answers.read(&call, &key));
                    let found = found.flatten().filter(|answer| answer.fits(ctx));
                    if let Some(answer) = found {
                        leading.finish(Some(&answer));
                        return reuse(&answer, CacheEvent::Hit);
                    }
                    Some(leading)
                }
                Joined::Answer(_) | Joined::RunAlone => None,
            },
        };
        answers.report(&CacheEvent::Miss);
        let outcome = self.runner.run(input, ctx)?;
        // What ran may be another version than the one that the key is of, or had to run in another way.
        let is_same = outcome.identity.as_ref() == Some(&call.identity)
            && self.runner.reproducible(ctx).as_ref() == Some(&call);
        let fresh = is_same.then(|| Answer::of(&outcome, input.dialect()));
        let fresh = fresh.flatten();
        match (&kept, &fresh) {
            (Some(kept), Some(fresh)) if kept == fresh => {}
            (Some(_), _) if is_verified && is_same => answers.discard(&call, &key),
            (_, Some(fresh)) => answers.keep(&call, &key, fresh),
            (_, None) => {}
        }
        if let Some(leading) = leading {
            leading.finish(fresh.as_ref());
        }
        Ok(outcome)
    }

    fn is_native(&self) -> bool {
        self.runner.is_native()
    }

    fn is_module(&self) -> bool {
        self.runner.is_module()
    }

    fn worker_image(&self) -> Option<&str> {
        self.runner.worker_image()
    }

    fn reproducible(&self, ctx: &RunContext) -> Option<ReproducibleCall> {
        self.runner.reproducible(ctx)
    }

    fn max_time(&self) -> Option<Duration> {
        self.runner.max_time()
    }
}

#[cfg(test)]
mod tests;
