//! The context in which the pool of an image handles an event.

use std::time::Duration;

use super::command::PoolCommand;
use super::ids::PodId;

/// What a pool needs to know besides its own state, and where it puts its commands.
pub(super) struct EventContext<'a> {
    pub(super) now: Moment,
    pub(super) mode: PoolMode,
    /// How long orphans are left to other replicas.
    pub(super) orphan_grace: Duration,
    pub(super) commands: &'a mut Vec<PoolCommand>,
    pub(super) pod_ids: &'a mut PodIds,
}

/// State that all pools share.
#[derive(Clone, Copy, Debug)]
pub(super) struct PoolMode {
    /// The watches are down: pods are neither deleted nor adopted.
    pub(super) stale: bool,
    /// The replica is shutting down: pods are neither created nor adopted.
    pub(super) draining: bool,
}

/// Generates pod ids; no id is used twice.
#[derive(Debug, Default)]
pub(super) struct PodIds(u64);

impl PodIds {
    pub(super) fn next(&mut self) -> PodId {
        self.0 += 1;
        PodId::new(self.0)
    }
}

impl EventContext<'_> {
    pub(super) fn push(&mut self, command: PoolCommand) {
        self.commands.push(command);
    }
}

/// A point in time, as the duration since a fixed start. The state machine never reads a clock; the driver passes the
/// time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Moment(pub(crate) Duration);

impl Moment {
    /// A later point in time; saturates.
    pub(crate) fn after(self, duration: Duration) -> Moment {
        Moment(self.0.saturating_add(duration))
    }

    /// The time since `earlier`; zero if `earlier` is later.
    pub(crate) fn since(self, earlier: Moment) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}
