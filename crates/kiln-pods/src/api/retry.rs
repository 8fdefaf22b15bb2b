//! Trying again, a little later each time.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::time::Duration;

use tokio::time::Instant;

use super::ApiError;

const FIRST: Duration = Duration::from_millis(50);
const LAST: Duration = Duration::from_secs(5);

/// How long to wait after each failure.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The wait after another failure: twice as long each time, up to a limit, and never the same for all.
    pub(crate) fn next(&mut self) -> Duration {
        let doubled = FIRST.saturating_mul(1 << self.failures.min(10)).min(LAST);
        self.failures = self.failures.saturating_add(1);
        let part = RandomState::new().build_hasher().finish() % 512;
        doubled / 2 + doubled * u32::try_from(part).unwrap_or(0) / 1024
    }

    /// Things go well again.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }
}

/// Does something until it is done, is refused for good or the time is up.
pub(crate) async fn retry<T, F>(until: Instant, attempt: impl FnMut() -> F) -> Result<T, ApiError>
where
    F: Future<Output = Result<T, ApiError>>,
{
    retry_and_tell(until, |_| (), attempt).await
}

/// The same, and tells what goes wrong on the way.
pub(crate) async fn retry_and_tell<T, F>(
    until: Instant,
    tell: impl Fn(&ApiError),
    mut attempt: impl FnMut() -> F,
) -> Result<T, ApiError>
where
    F: Future<Output = Result<T, ApiError>>,
{
    let mut backoff = Backoff::default();
    loop {
        let error = match attempt().await {
            Err(error) if error.is_passing() => error,
            outcome => return outcome,
        };
        let wait = backoff.next().max(error.retry_after.unwrap_or_default());
        let next = Instant::now() + wait;
        if next >= until {
            return Err(error);
        }
        tell(&error);
        tokio::time::sleep_until(next).await;
    }
}
