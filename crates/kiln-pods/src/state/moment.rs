//! Time as the machine sees it.

use std::time::Duration;

/// A moment, by how long after some fixed one it is. The machine never asks what time it is; it is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Moment(pub Duration);

impl Moment {
    /// The moment a while later; the end of time if there is no such moment.
    pub fn after(self, duration: Duration) -> Moment {
        Moment(self.0.saturating_add(duration))
    }

    /// How long ago an earlier moment was; nothing if it was not.
    pub fn since(self, earlier: Moment) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}
