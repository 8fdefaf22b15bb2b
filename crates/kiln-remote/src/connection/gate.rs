//! Who may try to connect, and when: everybody waits for the same moment after a failure, a little longer each time.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const FIRST_DELAY: Duration = Duration::from_millis(50);
const LAST_DELAY: Duration = Duration::from_secs(5);

/// Closed for a while after each failure, for longer after each further one.
#[derive(Default)]
pub(super) struct Gate {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    failures: u32,
    opens: Option<Instant>,
}

impl Gate {
    /// Waits until it is open.
    pub(super) async fn pass(&self) {
        let opens = self.state().opens;
        if let Some(opens) = opens {
            tokio::time::sleep_until(opens.into()).await;
        }
    }

    /// Closes it after an attempt that failed, and tells when it opens. Of those who tried together one counts.
    pub(super) fn close(&self, attempted: Instant) -> Instant {
        let mut state = self.state();
        if let Some(opens) = state.opens
            && opens > attempted
        {
            return opens;
        }
        let opens = Instant::now() + delay(state.failures, random());
        state.failures = state.failures.saturating_add(1);
        state.opens = Some(opens);
        opens
    }

    /// Opens it after an attempt that succeeded.
    pub(super) fn open(&self) {
        *self.state() = State::default();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long to wait after that many failures before: twice as long each time, and up to a fifth more or less so that
/// many clients of one runner do not come all at once.
fn delay(failures: u32, random: u32) -> Duration {
    let factor = 1_u32.checked_shl(failures).unwrap_or(u32::MAX);
    let delay = FIRST_DELAY.saturating_mul(factor).min(LAST_DELAY);
    delay.mul_f64(0.8 + 0.4 * f64::from(random) / f64::from(u32::MAX))
}

fn random() -> u32 {
    // What keeps hash tables safe is random enough for this.
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
        let gate = Gate::default();
        let attempted = Instant::now();
        let opens = gate.close(attempted);
        assert_eq!(gate.close(attempted), opens);
        assert!(gate.close(opens) > opens);
        assert_eq!(gate.state().failures, 2);
        gate.open();
        assert_eq!(gate.state().failures, 0);
    }
}
