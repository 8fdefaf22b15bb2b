//! When it is worth trying to add a pod to those there are.
//!
//! Where pods can be called, work need not wait for more of them. If adding one fails, as it does when a quota is used up,
//! it is not tried again with every request.

use std::time::Duration;

use super::moment::Moment;

/// How adding pods has gone.
#[derive(Debug, Default)]
pub(super) struct Growth {
    not_before: Moment,
    failures: u32,
}

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

impl Growth {
    pub(super) fn is_due(&self, now: Moment) -> bool {
        now >= self.not_before
    }

    pub(super) fn succeeded(&mut self) {
        *self = Growth::default();
    }

    pub(super) fn failed(&mut self, now: Moment) {
        let pause = FIRST_PAUSE.saturating_mul(1 << self.failures.min(6));
        self.not_before = now.after(pause.min(LONGEST_PAUSE));
        self.failures = self.failures.saturating_add(1);
    }
}
