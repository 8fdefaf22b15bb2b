//! A policy with what it takes to enforce it: the decision, and the verification of signatures that a rule requires.
//!
//! What was verified is what runs: the function goes to its evaluator by the digest that was verified, whatever its tag names by
//! then.

mod image_verifier;

use std::sync::{Arc, mpsc};
use std::time::Instant;

use kiln_policy::{LoadedPolicy, Permission, RequiredSignature, RunWay};
use kiln_runtime::{Deadline, FunctionSpec, RunContext, RunError, Target};
use kiln_store::SignatureRequirement;

use image_verifier::ImageVerifier;
pub use image_verifier::VerifierOptions;

/// The policy in force, and the verifier of signatures.
pub struct PolicyGuard {
    policy: LoadedPolicy,
    verifier: ImageVerifier,
}

impl PolicyGuard {
    /// Opens and requests nothing until a rule requires a signature.
    pub fn new(policy: LoadedPolicy, options: VerifierOptions) -> PolicyGuard {
        PolicyGuard {
            policy,
            verifier: ImageVerifier::new(options),
        }
    }

    pub fn policy(&self) -> &LoadedPolicy {
        &self.policy
    }

    /// Decides about a function that runs outside of a chain of evaluators, and verifies it. Returns the function to run.
    pub fn check(
        self: &Arc<PolicyGuard>,
        function: &FunctionSpec,
        way: RunWay,
        ctx: &RunContext,
    ) -> Result<FunctionSpec, RunError> {
        let permission = self.policy.decide(function, way, None);
        let permission = permission.map_err(|refusal| RunError::Denied(Arc::new(refusal)))?;
        match self.verification(function, way, &permission) {
            None => Ok(function.clone()),
            Some(verification) => verification.wait(ctx),
        }
    }

    /// What has to be verified before the function runs; `None` if nothing has to be.
    pub(crate) fn verification(
        self: &Arc<PolicyGuard>,
        function: &FunctionSpec,
        way: RunWay,
        permission: &Permission,
    ) -> Option<Verification> {
        let first = permission.signatures.first()?;
        let signatures = permission.signatures.iter();
        let signatures = signatures.map(|signature| Arc::clone(&signature.requirement));
        Some(Verification {
            guard: Arc::clone(self),
            function: function.clone(),
            way,
            signatures: signatures.collect(),
            required: first.clone(),
        })
    }
}

/// The signatures of a function that have to be verified.
#[derive(Clone)]
pub(crate) struct Verification {
    guard: Arc<PolicyGuard>,
    /// With its full image name.
    function: FunctionSpec,
    way: RunWay,
    signatures: Vec<Arc<SignatureRequirement>>,
    /// The first requirement, for refusals.
    required: RequiredSignature,
}

/// How a verification ends.
type Verified = Result<FunctionSpec, RunError>;

impl Verification {
    /// Verifies the function, for callers that may block. Ends with the caller's deadline, or when the caller cancels.
    pub(crate) fn wait(&self, ctx: &RunContext) -> Verified {
        let runtime = self.guard.verifier.runtime();
        let runtime = runtime.map_err(|error| RunError::Unavailable(error.into()))?;
        let (sender, events) = mpsc::channel::<Option<Verified>>();
        let cancelled = sender.clone();
        let _guard = ctx.cancel.on_cancel(move || {
            // A closed channel means that the verification has ended.
            let _ = cancelled.send(None);
        });
        let verification = self.clone();
        let task = runtime.spawn(async move {
            let _ = sender.send(Some(verification.verify().await));
        });
        let event = match ctx.deadline {
            None => events.recv().ok(),
            Some(deadline) => {
                let left = deadline.at.saturating_duration_since(Instant::now());
                match events.recv_timeout(left) {
                    Ok(event) => Some(event),
                    Err(_) => {
                        task.abort();
                        return Err(timed_out(deadline));
                    }
                }
            }
        };
        event.flatten().unwrap_or_else(|| {
            task.abort();
            Err(RunError::Cancelled)
        })
    }

    /// Verifies the function. Returns the function by the digest that was verified.
    pub(crate) async fn verify(&self) -> Verified {
        let Target::Image(image) = &self.function.target else {
            return Ok(self.function.clone());
        };
        let pinned = self.guard.verifier.verify(image, &self.signatures).await;
        let pinned = pinned.map_err(|failure| match failure.is_unavailable() {
            true => RunError::Unavailable(Box::new(failure)),
            false => {
                let name = self.function.name();
                let problem = kiln_go::error_chain(&failure);
                RunError::Denied(Arc::new(self.required.refusal(name, problem)))
            }
        })?;
        let reference = match self.way {
            // Settings of pods may be for a tag.
            RunWay::Pod => pinned.with_tag.clone(),
            // Some engines refuse a reference with both.
            _ => pinned.without_tag.clone(),
        };
        Ok(FunctionSpec {
            target: Target::Image(reference),
            ..self.function.clone()
        })
    }
}

fn timed_out(deadline: Deadline) -> RunError {
    RunError::TimedOut {
        timeout: deadline.timeout,
        stderr: Vec::new(),
    }
}
