//! One pod: what it is good for, and the calls that it has.

use std::time::Duration;

use super::command::Command;
use super::ids::{PodId, RequestId};
use super::moment::Moment;
use super::plan::{Plan, Version};
use super::turn::Turn;

/// A pod of an image.
#[derive(Debug)]
pub(super) struct Pod {
    pub(super) id: PodId,
    pub(super) phase: Phase,
    /// What it is made of; none until that is told.
    pub(super) version: Option<Version>,
    /// The calls that were started and are not over. Their number is the pod's load; nothing else is counted.
    pub(super) running: Vec<Call>,
    /// Whether it has ever been ready.
    pub(super) was_ready: bool,
    /// Whether it can be called, as far as was heard; only looked at while it is nobody's.
    pub(super) answers: bool,
    /// Whether a replica that is not heard of may be calling it.
    pub(super) is_shared: bool,
    /// Whether it was asked how long nobody has called it, and has neither answered nor been called since by us.
    pub(super) is_asked: bool,
    /// When it was chosen last, by the image's own counting.
    pub(super) picked: u64,
    /// Since when it has had no work, as far as we have seen.
    pub(super) idle_since: Moment,
    /// How long it had had none before we saw it.
    pub(super) idle_before: Duration,
    /// Until when its annotation lets it stay; none if that says nothing.
    pub(super) annotated: Option<Moment>,
}

/// A request and how often it was out of luck.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Call {
    pub(super) request: RequestId,
    /// How many pods have failed it.
    pub(super) failures: u8,
}

/// Where a pod is in its life with us.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Ours. It cannot be called, but may be before long.
    Coming { since: Moment },
    /// Ours, and can be called.
    Ready,
    /// Ours. Gets no more work, and is deleted when it has none.
    Leaving,
    /// Ours, and was told to be deleted.
    Deleting,
    /// As before, and Kubernetes is at it.
    Deleted,
    /// Ours, and somebody else began to delete it.
    Ending,
    /// Gone or somebody else's. Only the calls that it still has are waited for.
    Parted,
    /// Nobody's.
    Orphan { since: Moment },
    /// Nobody's, and of no use to anybody.
    Wreck,
    /// Nobody's, and was told to be made ours.
    Claimed,
    /// Nobody's, and was told to be deleted.
    Collected,
    /// Nobody's, and was told to be made ours, to be kept.
    Keeping,
    /// Ours, and more than we may have: whoever it belonged to may still be calling it. Gets no work from us before there is
    /// room for it, and stays until nobody has called it for long enough.
    Kept,
}

impl Pod {
    pub(super) fn new(id: PodId, phase: Phase, now: Moment) -> Pod {
        Pod {
            id,
            phase,
            version: None,
            running: Vec::new(),
            was_ready: false,
            answers: false,
            is_shared: false,
            is_asked: false,
            picked: 0,
            idle_since: now,
            idle_before: Duration::ZERO,
            annotated: None,
        }
    }

    /// Whether it is one of those that may not be more than allowed: all of ours that nobody has begun to delete.
    pub(super) fn counts(&self) -> bool {
        self.is_active() || matches!(self.phase, Phase::Leaving | Phase::Deleting)
    }

    /// Whether requests are served by it, now or before long.
    pub(super) fn is_active(&self) -> bool {
        self.phase == Phase::Ready || self.is_coming()
    }

    /// Whether it is not ready and may be before long.
    pub(super) fn is_coming(&self) -> bool {
        matches!(self.phase, Phase::Coming { .. } | Phase::Claimed)
    }

    /// Whether it is more than we may have, or about to be.
    pub(super) fn is_extra(&self) -> bool {
        matches!(self.phase, Phase::Keeping | Phase::Kept)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// Whether it is made of what is wanted, as far as is known.
    pub(super) fn is_current(&self, plan: &Plan) -> bool {
        let version = self.version.as_ref();
        version.is_none_or(|version| version.is_current(&plan.version))
    }

    /// Whether nobody but itself knows whether it is used.
    pub(super) fn keeps_a_secret(&self) -> bool {
        self.is_shared && self.answers
    }

    /// When it has had no work for long enough to go.
    pub(super) fn expires(&self, ttl: Duration) -> Moment {
        self.idle_since.after(ttl.saturating_sub(self.idle_before))
    }

    /// Whether it has had no work for so long that it goes. One that is here only for others and outdated goes sooner.
    pub(super) fn has_expired(&self, plan: &Plan, turn: &Turn<'_>) -> bool {
        let is_for_others = matches!(self.phase, Phase::Orphan { .. } | Phase::Kept);
        let ttl = match is_for_others && !self.is_current(plan) {
            true => plan.settings.ttl.min(turn.orphan_grace),
            false => plan.settings.ttl,
        };
        self.expires(ttl) <= turn.now
    }

    /// Has it asked how long nobody has called it, once at a time.
    pub(super) fn ask(&mut self, turn: &mut Turn<'_>) {
        if !std::mem::replace(&mut self.is_asked, true) {
            turn.say(Command::Ask { pod: self.id });
        }
    }

    /// It has no work from now on.
    pub(super) fn rests(&mut self, now: Moment) {
        self.idle_since = now;
        self.idle_before = Duration::ZERO;
    }

    /// A call is not the pod's any more.
    pub(super) fn take(&mut self, request: RequestId, now: Moment) -> Option<Call> {
        let place = self
            .running
            .iter()
            .position(|call| call.request == request)?;
        let call = self.running.swap_remove(place);
        if self.running.is_empty() {
            self.rests(now);
        }
        Some(call)
    }
}
