//! Retries with exponential backoff.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::time::Duration;

use tokio::time::Instant;

use super::ApiError;

const FIRST: Duration = Duration::from_millis(50);
const LAST: Duration = Duration::from_secs(5);

/// The time to wait after each failure.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The time to wait after another failure: doubles up to a limit, with jitter.
    pub(crate) fn next(&mut self) -> Duration {
        let doubled = FIRST.saturating_mul(1 << self.failures.min(10)).min(LAST);
        self.failures = self.failures.saturating_add(1);
        let part = RandomState::new().build_hasher().finish() % 512;
        doubled / 2 + doubled * u32::try_from(part).unwrap_or(0) / 1024
    }

    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }
}

/// Repeats a request until it succeeds, fails permanently, or `until` has passed.
pub(crate) async fn retry<T, F>(until: Instant, attempt: impl FnMut() -> F) -> Result<T, ApiError>
where
    F: Future<Output = Result<T, ApiError>>,
{
    retry_with(until, |_| (), attempt).await
}

/// As [`retry`]; `on_error` gets the errors of failed attempts.
pub(crate) async fn retry_with<T, F>(
    until: Instant,
    on_error: impl Fn(&ApiError),
    mut attempt: impl FnMut() -> F,
) -> Result<T, ApiError>
where
    F: Future<Output = Result<T, ApiError>>,
{
    let mut backoff = Backoff::default();
    loop {
        let error = match attempt().await {
            Err(error) if error.is_retryable() => error,
            outcome => return outcome,
        };
        let wait = backoff.next().max(error.retry_after.unwrap_or_default());
        let next = Instant::now() + wait;
        if next >= until {
            return Err(error);
        }
        on_error(&error);
        tokio::time::sleep_until(next).await;
    }
}
