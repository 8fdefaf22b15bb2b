//! Retries of requests to busy or unreachable registries.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::{Duration, SystemTime};

use http::{HeaderMap, header};

use crate::error::RegistryError;

/// How often requests are retried, with exponential backoff.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RetryPolicy {
    /// The largest number of attempts, the first included.
    pub attempts: u32,
    /// The delay before the second attempt; each further delay is twice as long.
    pub first_delay: Duration,
    /// The longest delay. There is no retry if the registry asks for a longer one.
    pub max_delay: Duration,
    /// Whether to try again after a refused connection: nothing listens there, which rarely changes within seconds.
    pub retries_refused: bool,
}

/// Attempts if the host has no address. The resolver repeats its queries itself, and the name may be misspelt.
const UNKNOWN_HOST_ATTEMPTS: u32 = 2;

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        RetryPolicy {
            attempts: 5,
            first_delay: Duration::from_millis(200),
            max_delay: Duration::from_secs(60),
            retries_refused: true,
        }
    }
}

impl RetryPolicy {
    /// The delay after a failed attempt; `None` if there is no further attempt.
    fn delay_after(&self, attempt: u32, error: &RegistryError) -> Option<Duration> {
        let requested = error.retry_delay()?;
        let attempts = match error.is_unknown_host() {
            true => self.attempts.min(UNKNOWN_HOST_ATTEMPTS),
            false => self.attempts,
        };
        if attempt >= attempts || (error.is_refused() && !self.retries_refused) {
            return None;
        }
        let doubled = self.first_delay.saturating_mul(1 << (attempt - 1).min(16));
        let delay = doubled.min(self.max_delay);
        match requested {
            Some(requested) if requested > self.max_delay => None,
            Some(requested) => Some(requested.max(delay)),
            // Between half and all of the delay, so that clients do not retry at the same moment.
            None => Some(delay / 2 + delay.mul_f64(random_fraction()) / 2),
        }
    }
}

/// The attempts at one request.
pub(crate) struct Attempts<'a> {
    policy: &'a RetryPolicy,
    made: u32,
}

impl<'a> Attempts<'a> {
    pub(crate) fn new(policy: &'a RetryPolicy) -> Attempts<'a> {
        Attempts { policy, made: 0 }
    }

    /// Waits before the next attempt. Returns the error if there is none.
    pub(crate) async fn wait_or_fail(&mut self, error: RegistryError) -> Result<(), RegistryError> {
        self.made += 1;
        let Some(delay) = self.policy.delay_after(self.made, &error) else {
            return Err(error);
        };
        tracing::debug!(%error, ?delay, attempts = self.made, "retrying the registry request");
        tokio::time::sleep(delay).await;
        Ok(())
    }
}

/// The delay of a `Retry-After` header: seconds or a date.
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
