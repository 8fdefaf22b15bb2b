//! The state of one pod.

use std::time::Duration;

use super::command::PoolCommand;
use super::context::EventContext;
use super::context::Moment;
use super::ids::{PodId, RequestId};
use super::spec::{PodVersion, PoolSpec};

/// A pod of an image.
#[derive(Debug)]
pub(super) struct Pod {
    pub(super) id: PodId,
    pub(super) phase: PodPhase,
    /// `None` until the pod is created.
    pub(super) version: Option<PodVersion>,
    /// The calls in flight. Their number is the load of the pod.
    pub(super) running: Vec<TrackedRequest>,
    /// Whether it has ever been ready.
    pub(super) was_ready: bool,
    /// Whether it can be called according to the last event; only relevant for orphans.
    pub(super) is_reachable: bool,
    /// Whether a replica with an expired lease may still call it.
    pub(super) may_have_other_callers: bool,
    /// Whether a usage probe was requested, without an answer or a call of this replica since.
    pub(super) probe_pending: bool,
    /// The value of the pool's pick counter when the pod was last chosen.
    pub(super) last_picked: u64,
    /// Since when it has been without calls, as far as this replica knows.
    pub(super) idle_since: Moment,
    /// How long it was without calls before that.
    pub(super) idle_before: Duration,
    /// The reclaim time in its annotation; `None` if the annotation is missing.
    pub(super) annotated_until: Option<Moment>,
    /// When the turn of this replica to adopt it begins; `None` if it has begun.
    pub(super) adopt_from: Option<Moment>,
}

/// A request and its failed attempts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TrackedRequest {
    pub(super) request: RequestId,
    /// Number of pods that failed it.
    pub(super) failures: u8,
}

/// The phase of a pod in its life cycle, seen from this replica.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PodPhase {
    /// Ours. Not reachable at the moment, but expected to become ready.
    Pending { since: Moment },
    /// Ours, and can be called.
    Ready,
    /// Ours. Gets no new calls and is deleted when its calls are finished.
    Retiring,
    /// Ours; deletion was requested.
    Deleting,
    /// Ours; deletion was requested, and Kubernetes has started it.
    DeletionObserved,
    /// Ours; another client has started to delete it.
    Terminating,
    /// Gone, or another replica's. Forgotten when its calls are finished.
    Released,
    /// Its owner's lease has expired, or its owner released it.
    Orphan { since: Moment },
    /// An orphan that failed or is not needed; it will be deleted.
    Unusable,
    /// An orphan; adoption was requested.
    Adopting,
    /// An orphan; deletion was requested.
    Collecting,
    /// An orphan beyond the limit; adoption was requested.
    Retaining,
    /// Ours, but beyond the limit: its previous owner may still call it. Gets no calls from this replica until the
    /// limit allows it, and is deleted when it has not been called for its time to live.
    Retained,
}

impl PodPhase {
    /// The name of the phase on the status page.
    pub(super) fn name(self) -> &'static str {
        match self {
            PodPhase::Pending { .. } => "pending",
            PodPhase::Ready => "ready",
            PodPhase::Retiring => "retiring",
            PodPhase::Deleting | PodPhase::DeletionObserved | PodPhase::Collecting => "deleting",
            PodPhase::Terminating => "terminating",
            PodPhase::Released => "released",
            PodPhase::Orphan { .. } | PodPhase::Unusable => "orphan",
            PodPhase::Adopting | PodPhase::Retaining => "adopting",
            PodPhase::Retained => "retained",
        }
    }
}

impl Pod {
    pub(super) fn new(id: PodId, phase: PodPhase, now: Moment) -> Pod {
        Pod {
            id,
            phase,
            version: None,
            running: Vec::new(),
            was_ready: false,
            is_reachable: false,
            may_have_other_callers: false,
            probe_pending: false,
            last_picked: 0,
            idle_since: now,
            idle_before: Duration::ZERO,
            annotated_until: None,
            adopt_from: None,
        }
    }

    /// Whether it counts towards the maximum number of pods: every pod of this replica until Kubernetes starts to
    /// delete it, except retained pods.
    pub(super) fn counts_toward_limit(&self) -> bool {
        self.is_active() || matches!(self.phase, PodPhase::Retiring | PodPhase::Deleting)
    }

    /// Whether it serves requests or is expected to.
    pub(super) fn is_active(&self) -> bool {
        self.phase == PodPhase::Ready || self.is_pending()
    }

    /// Whether it is expected to become ready.
    pub(super) fn is_pending(&self) -> bool {
        matches!(self.phase, PodPhase::Pending { .. } | PodPhase::Adopting)
    }

    /// Whether it is owned beyond the limit, or about to be.
    pub(super) fn is_retained(&self) -> bool {
        matches!(self.phase, PodPhase::Retaining | PodPhase::Retained)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// Whether it has the wanted version, as far as is known.
    pub(super) fn is_current(&self, spec: &PoolSpec) -> bool {
        let version = self.version.as_ref();
        version.is_none_or(|version| version.is_current(&spec.version))
    }

    /// Whether only the pod itself can say if it is in use.
    pub(super) fn needs_usage_probe(&self) -> bool {
        self.may_have_other_callers && self.is_reachable
    }

    /// When its time to live ends.
    pub(super) fn expires(&self, ttl: Duration) -> Moment {
        self.idle_since.after(ttl.saturating_sub(self.idle_before))
    }

    /// When it expires as an orphan; `None` if its owner may still call it, so that only a usage probe can end its life.
    pub(super) fn orphan_timeout(&self, ttl: Duration) -> Option<Moment> {
        (!self.may_have_other_callers).then(|| self.expires(ttl))
    }

    /// Whether its time to live has ended. An outdated pod that only other replicas call has a shorter one.
    pub(super) fn has_expired(&self, spec: &PoolSpec, ctx: &EventContext<'_>) -> bool {
        let is_called_by_others_only =
            matches!(self.phase, PodPhase::Orphan { .. } | PodPhase::Retained);
        let ttl = match is_called_by_others_only && !self.is_current(spec) {
            true => spec.settings.ttl.min(ctx.orphan_grace),
            false => spec.settings.ttl,
        };
        self.expires(ttl) <= ctx.now
    }

    /// Requests a usage probe unless one is pending.
    pub(super) fn probe_usage(&mut self, ctx: &mut EventContext<'_>) {
        if !std::mem::replace(&mut self.probe_pending, true) {
            ctx.push(PoolCommand::ProbeUsage { pod: self.id });
        }
    }

    pub(super) fn mark_idle(&mut self, now: Moment) {
        self.idle_since = now;
        self.idle_before = Duration::ZERO;
    }

    /// Removes a call.
    pub(super) fn take(&mut self, request: RequestId, now: Moment) -> Option<TrackedRequest> {
        let index = self
            .running
            .iter()
            .position(|call| call.request == request)?;
        let call = self.running.swap_remove(index);
        if self.running.is_empty() {
            self.mark_idle(now);
        }
        Some(call)
    }
}
