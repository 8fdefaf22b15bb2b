//! The delay before the next attempt to connect: all calls wait for the same time after a failure, a little longer each
//! time.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const FIRST_DELAY: Duration = Duration::from_millis(50);
const LAST_DELAY: Duration = Duration::from_secs(5);

/// The delay after each failure, longer after each further one.
#[derive(Default)]
pub(super) struct ReconnectBackoff {
    state: Mutex<BackoffState>,
}

#[derive(Default)]
struct BackoffState {
    failures: u32,
    next_attempt: Option<Instant>,
}

impl ReconnectBackoff {
    /// Waits until the next attempt is allowed.
    pub(super) async fn wait(&self) {
        let next_attempt = self.state().next_attempt;
        if let Some(next_attempt) = next_attempt {
            tokio::time::sleep_until(next_attempt.into()).await;
        }
    }

    /// Records a failed attempt and returns when the next is allowed. Attempts that failed together count once.
    pub(super) fn record_failure(&self, attempted: Instant) -> Instant {
        let mut state = self.state();
        if let Some(next_attempt) = state.next_attempt
            && next_attempt > attempted
        {
            return next_attempt;
        }
        let next_attempt = Instant::now() + delay(state.failures, random());
        state.failures = state.failures.saturating_add(1);
        state.next_attempt = Some(next_attempt);
        next_attempt
    }

    /// Records a successful attempt.
    pub(super) fn reset(&self) {
        *self.state() = BackoffState::default();
    }

    fn state(&self) -> MutexGuard<'_, BackoffState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The delay after that many earlier failures: twice as long each time, and up to a fifth more or less, so that the
/// clients of one runner do not all connect at once.
fn delay(failures: u32, random: u32) -> Duration {
    let factor = 1_u32.checked_shl(failures).unwrap_or(u32::MAX);
    let delay = FIRST_DELAY.saturating_mul(factor).min(LAST_DELAY);
    delay.mul_f64(0.8 + 0.4 * f64::from(random) / f64::from(u32::MAX))
}

fn random() -> u32 {
    // The seed of hash tables is random enough for this.
    let hash = RandomState::new().build_hasher().finish();
    (hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_a_limit() {
        let middle = u32::MAX / 2;
        let around = |failures| delay(failures, middle).as_secs_f64();
        assert!((around(0) - 0.05).abs() < 0.001);
        assert!((around(3) - 0.4).abs() < 0.001);
        assert!((around(31) - 5.0).abs() < 0.001);
        assert!((around(u32::MAX) - 5.0).abs() < 0.001);
        assert_eq!(delay(1, 0), Duration::from_millis(80));
        assert_eq!(delay(1, u32::MAX), Duration::from_millis(120));
    }

    #[test]
    fn those_who_tried_together_count_once() {
        let backoff = ReconnectBackoff::default();
        let attempted = Instant::now();
        let next_attempt = backoff.record_failure(attempted);
        assert_eq!(backoff.record_failure(attempted), next_attempt);
        assert!(backoff.record_failure(next_attempt) > next_attempt);
        assert_eq!(backoff.state().failures, 2);
        backoff.reset();
        assert_eq!(backoff.state().failures, 0);
    }
}
