//! What every decision needs to know besides its image, and where commands go.

use std::time::Duration;

use super::command::Command;
use super::ids::PodId;
use super::moment::Moment;

/// The handling of one event.
pub(super) struct Turn<'a> {
    pub(super) now: Moment,
    pub(super) mode: Mode,
    /// How long pods of nobody are left to other replicas.
    pub(super) orphan_grace: Duration,
    pub(super) commands: &'a mut Vec<Command>,
    pub(super) names: &'a mut Names,
}

/// What holds for all images.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mode {
    /// Watches are down: nothing is deleted, and nothing but waiting comes of pods that are not ready.
    pub(super) stale: bool,
    /// The replica is ending: nothing is created or adopted.
    pub(super) draining: bool,
}

/// Names for pods, none of them twice.
#[derive(Debug, Default)]
pub(super) struct Names(u64);

impl Names {
    pub(super) fn next(&mut self) -> PodId {
        self.0 += 1;
        PodId::new(self.0)
    }
}

impl Turn<'_> {
    pub(super) fn say(&mut self, command: Command) {
        self.commands.push(command);
    }
}
