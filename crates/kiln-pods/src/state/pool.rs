//! The machine as its owner sees it.

use std::time::Duration;

use super::command::Command;
use super::event::Event;
use super::ids::{ImageKey, PodId};
use super::moment::Moment;

/// All pods that are ours or nobody's, and all requests.
#[derive(Debug)]
pub struct Pool {
    next_pod: u64,
    #[expect(dead_code, reason = "read as soon as the machine is in")]
    scan_interval: Duration,
    #[expect(dead_code, reason = "read as soon as the machine is in")]
    orphan_grace: Duration,
}

impl Pool {
    /// A pool without pods. Every `scan_interval` it looks for pods to end and annotates those that stay; pods of nobody
    /// that we have no use for are left to other replicas for `orphan_grace`, then collected.
    pub fn new(scan_interval: Duration, orphan_grace: Duration) -> Pool {
        Pool {
            next_pod: 0,
            scan_interval,
            orphan_grace,
        }
    }

    /// A name for a pod that was found, to be used in [`Event::Found`].
    pub fn name_found_pod(&mut self) -> PodId {
        self.next_pod += 1;
        PodId::new(self.next_pod)
    }

    /// Takes an event and says what is to be done, in this order.
    pub fn handle(&mut self, now: Moment, event: Event) -> Vec<Command> {
        let _ = (now, event);
        Vec::new()
    }

    /// When [`Event::Tick`] should come next; nothing depends on its being in time.
    pub fn next_tick(&self) -> Option<Moment> {
        None
    }

    /// The images that have pods or requests.
    pub fn images(&self) -> impl Iterator<Item = &ImageKey> {
        std::iter::empty()
    }
}
