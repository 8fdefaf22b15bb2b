//! Whether the collector is unreachable, so that the start and the end of an outage are logged once each.

use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Default, Debug)]
pub(super) struct Outage {
    is_active: AtomicBool,
}

impl Outage {
    /// Whether this is the first failure in a row.
    pub(super) fn begins(&self) -> bool {
        !self.is_active.swap(true, Ordering::Relaxed)
    }

    /// Whether this is the first success after failures.
    pub(super) fn ends(&self) -> bool {
        self.is_active.swap(false, Ordering::Relaxed)
    }
}
