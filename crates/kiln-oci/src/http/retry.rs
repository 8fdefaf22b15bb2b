//! Patience with registries that are busy or away.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::{Duration, SystemTime};

use http::{HeaderMap, header};

use crate::error::RegistryError;

/// How often and how long to try.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RetryPolicy {
    /// How often a request is sent at most.
    pub attempts: u32,
    /// How long to wait before the second attempt; each further wait is twice as long.
    pub first_wait: Duration,
    /// How long to wait at most. A registry that asks for more is not asked again.
    pub longest_wait: Duration,
}

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        RetryPolicy {
            attempts: 5,
            first_wait: Duration::from_millis(200),
            longest_wait: Duration::from_secs(60),
        }
    }
}

impl RetryPolicy {
    /// One attempt.
    pub(crate) fn never() -> RetryPolicy {
        RetryPolicy {
            attempts: 1,
            ..RetryPolicy::default()
        }
    }

    /// How long to wait after a failure; none if that was the last attempt.
    fn wait_after(&self, attempt: u32, error: &RegistryError) -> Option<Duration> {
        let asked = error.transient()?;
        if attempt >= self.attempts {
            return None;
        }
        let doubled = self.first_wait.saturating_mul(1 << (attempt - 1).min(16));
        let wait = doubled.min(self.longest_wait);
        match asked {
            Some(asked) if asked > self.longest_wait => None,
            Some(asked) => Some(asked.max(wait)),
            // Between half and the whole, so that many do not come back at once.
            None => Some(wait / 2 + wait.mul_f64(random_fraction()) / 2),
        }
    }
}

/// The attempts at one thing.
pub(crate) struct Attempts<'a> {
    policy: &'a RetryPolicy,
    made: u32,
}

impl<'a> Attempts<'a> {
    pub(crate) fn new(policy: &'a RetryPolicy) -> Attempts<'a> {
        Attempts { policy, made: 0 }
    }

    /// Waits until it is time for another one. Gives the error back if there is to be none.
    pub(crate) async fn failed(&mut self, error: RegistryError) -> Result<(), RegistryError> {
        self.made += 1;
        let Some(wait) = self.policy.wait_after(self.made, &error) else {
            return Err(error);
        };
        tracing::debug!(%error, ?wait, attempts = self.made, "asking the registry again");
        tokio::time::sleep(wait).await;
        Ok(())
    }
}

/// What `Retry-After` says: seconds, or a date.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

fn random_fraction() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    (random >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests;
