//! A kept answer: what a function printed, if it succeeded.

use std::time::Duration;

use bytes::Bytes;
use kiln_krm::Dialect;
use kiln_krm::read::read_function_output;
use kiln_krm::results::{Severity, read_results};
use kiln_runtime::{Outcome, Output, ReproducibleCall, RunContext};

/// Standard output and standard error of a function that succeeded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Answer {
    pub(super) stdout: Bytes,
    pub(super) stderr: Vec<u8>,
}

impl Answer {
    /// The answer in an outcome; `None` if it must not be kept, because the function failed or reported an error.
    pub(super) fn of(outcome: &Outcome, dialect: Dialect) -> Option<Answer> {
        let Outcome {
            exit_code: 0,
            signal: None,
            output: Output::Wire(stdout),
            stderr,
            ..
        } = outcome
        else {
            return None;
        };
        let list = read_function_output(stdout.to_vec(), dialect).ok()?;
        if let Some(results) = &list.results {
            let results = read_results(results.root()).ok()?;
            let mut severities = results.iter().map(|item| item.known_severity());
            if severities.any(|severity| severity == Some(Severity::Error)) {
                return None;
            }
        }
        Some(Answer {
            stdout: stdout.clone(),
            stderr: stderr.clone(),
        })
    }

    /// The length of standard output, standard output, standard error.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let length = (self.stdout.len() as u64).to_le_bytes();
        [&length, &self.stdout[..], &self.stderr].concat()
    }

    pub(super) fn parse(payload: Vec<u8>) -> Option<Answer> {
        let (length, _) = payload.split_first_chunk()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let mut rest = Bytes::from(payload).split_off(size_of::<u64>());
        if length > rest.len() {
            return None;
        }
        let stderr = rest.split_off(length).to_vec();
        Some(Answer {
            stdout: rest,
            stderr,
        })
    }

    /// Whether the function could have printed it within the limits of the call.
    pub(super) fn fits(&self, ctx: &RunContext) -> bool {
        (self.stdout.len() + self.stderr.len()) as u64 <= ctx.limits.max_output
    }

    pub(super) fn outcome(&self, call: &ReproducibleCall, elapsed: Duration) -> Outcome {
        Outcome {
            exit_code: 0,
            signal: None,
            output: Output::Wire(self.stdout.clone()),
            stderr: self.stderr.clone(),
            elapsed,
            identity: Some(call.identity.clone()),
            is_cached: true,
        }
    }
}
