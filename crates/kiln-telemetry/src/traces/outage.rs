//! Whether the collector can be reached, so that it is said once when it cannot, and once when it can again.

use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Default, Debug)]
pub(super) struct Outage {
    lasts: AtomicBool,
}

impl Outage {
    /// Whether this is the first failure in a row.
    pub(super) fn begins(&self) -> bool {
        !self.lasts.swap(true, Ordering::Relaxed)
    }

    /// Whether this is the first success after failures.
    pub(super) fn ends(&self) -> bool {
        self.lasts.swap(false, Ordering::Relaxed)
    }
}
