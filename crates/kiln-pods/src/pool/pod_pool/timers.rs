//! Changes that are due to time alone.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kiln_go::GoDuration;

use super::super::command::PoolCommand;
use super::super::context::EventContext;
use super::super::context::Moment;
use super::super::event::{FaultScope, PodFault};
use super::super::ids::{ImageKey, PodId};
use super::super::pod::PodPhase;
use super::super::spec::PoolSettings;
use super::PodPool;

/// How many updates of its annotation a pod gets in its time to live, while it is in use. Each of them is a request to
/// the API server and an event for every replica, and only the replica that adopts an orphan needs the value.
const ANNOTATION_STEPS: u32 = 10;

/// The resolution of the annotation.
const ANNOTATION_RESOLUTION: Duration = Duration::from_secs(1);

impl PodPool {
    /// Pods that are not ready in time fail. Expired orphans are deleted, unless their owner may still call them.
    /// Orphans that no replica has adopted within the grace period are deleted if they are not reachable. If they are, their owner may be cut off from the API server and still call them: they
    /// are retained, up to the limit.
    pub(in super::super) fn tick(&mut self, ctx: &mut EventContext<'_>) {
        if ctx.mode.stale {
            return;
        }
        let (now, orphan_grace) = (ctx.now, ctx.orphan_grace);
        let PoolSettings {
            ttl, start_timeout, ..
        } = self.spec.settings;
        let retained = self.pods.iter().filter(|pod| pod.is_retained()).count();
        let mut room_for_retained = self.spec.settings.max_pods.get().saturating_sub(retained);
        let mut timed_out: Vec<(PodId, FaultScope)> = Vec::new();
        for pod in &mut self.pods {
            // An orphan whose turn begins now may still be adopted within the limit.
            let had_turn = pod.adopt_from.is_none();
            pod.adopt_from = pod.adopt_from.filter(|from| now < *from);
            match pod.phase {
                PodPhase::Pending { since } if now >= since.after(start_timeout) => {
                    let scope = if pod.was_ready {
                        FaultScope::Pod
                    } else {
                        FaultScope::Image
                    };
                    timed_out.push((pod.id, scope));
                }
                PodPhase::Orphan { .. } if pod.orphan_timeout(ttl).is_some_and(|at| at <= now) => {
                    pod.phase = PodPhase::Unusable;
                }
                PodPhase::Orphan { since } if had_turn && now >= since.after(orphan_grace) => {
                    if ctx.mode.draining {
                        pod.phase = PodPhase::Released;
                    } else if pod.is_reachable && room_for_retained > 0 {
                        room_for_retained -= 1;
                        pod.phase = PodPhase::Retaining;
                        ctx.push(PoolCommand::Adopt { pod: pod.id });
                    } else {
                        pod.phase = PodPhase::Collecting;
                        ctx.push(PoolCommand::Collect { pod: pod.id });
                    }
                }
                _ => {}
            }
        }
        for (pod, scope) in timed_out {
            self.failed(pod, &not_ready(start_timeout, scope), ctx);
        }
    }

    /// Expired pods are retired, the annotations of the others are updated, and commands without a result are repeated.
    /// A pod that another replica may call is probed first.
    pub(in super::super) fn scan(&mut self, ctx: &mut EventContext<'_>) {
        if ctx.mode.stale {
            return;
        }
        let now = ctx.now;
        let spec = Arc::clone(&self.spec);
        let ttl = spec.settings.ttl;
        for pod in &mut self.pods {
            let id = pod.id;
            match pod.phase {
                PodPhase::Deleting => ctx.push(PoolCommand::Delete { pod: id }),
                PodPhase::Collecting => ctx.push(PoolCommand::Collect { pod: id }),
                PodPhase::Adopting | PodPhase::Retaining => {
                    ctx.push(PoolCommand::Adopt { pod: id })
                }
                PodPhase::Pending { .. } | PodPhase::Ready | PodPhase::Retained
                    if pod.is_idle()
                        && (self.waitlist.is_empty() || pod.is_retained())
                        && pod.has_expired(&spec, ctx) =>
                {
                    match pod.needs_usage_probe() {
                        true => pod.probe_usage(ctx),
                        false => pod.phase = PodPhase::Retiring,
                    }
                }
                PodPhase::Ready | PodPhase::Retained => {
                    let stays_until = if pod.is_idle() {
                        pod.expires(ttl)
                    } else {
                        now.after(ttl)
                    };
                    let has_changed = |known: Moment| {
                        let difference = stays_until.since(known).max(known.since(stays_until));
                        difference >= (ttl / ANNOTATION_STEPS).max(ANNOTATION_RESOLUTION)
                    };
                    if pod.annotated_until.is_none_or(has_changed) {
                        pod.annotated_until = Some(stays_until);
                        ctx.push(PoolCommand::Annotate {
                            pod: id,
                            reclaim_in: stays_until.since(now),
                        });
                    }
                }
                _ => {}
            }
        }
    }

    /// The watches are up again. Time limits start again, because events may have been missed.
    pub(in super::super) fn fresh(&mut self, now: Moment) {
        for pod in &mut self.pods {
            match &mut pod.phase {
                PodPhase::Pending { since } | PodPhase::Orphan { since } => {
                    *since = now;
                }
                _ => {}
            }
        }
    }

    /// Keeps the pool's entry in the timeouts of all pools up to date.
    pub(in super::super) fn record_timeout(
        &mut self,
        timeouts: &mut BTreeSet<(Moment, ImageKey)>,
        orphan_grace: Duration,
    ) {
        let next = self.next_timeout(orphan_grace);
        let before = std::mem::replace(&mut self.recorded_timeout, next);
        if before == next {
            return;
        }
        if let Some(before) = before {
            timeouts.remove(&(before, self.key.clone()));
        }
        timeouts.extend(next.map(|next| (next, self.key.clone())));
    }

    /// When the next pod times out or expires as an orphan, or the turn of this replica to adopt one begins.
    fn next_timeout(&self, orphan_grace: Duration) -> Option<Moment> {
        let PoolSettings {
            ttl, start_timeout, ..
        } = self.spec.settings;
        let timed_out = self.pods.iter().filter_map(|pod| match pod.phase {
            PodPhase::Pending { since } => Some(since.after(start_timeout)),
            PodPhase::Orphan { since } => {
                let end = since.after(orphan_grace);
                let times = [Some(end), pod.adopt_from, pod.orphan_timeout(ttl)];
                times.into_iter().flatten().min()
            }
            _ => None,
        });
        timed_out.min()
    }
}

fn not_ready(start_timeout: Duration, scope: FaultScope) -> PodFault {
    let message = format!(
        "the pod was not ready within {}",
        GoDuration::from_whole_millis(start_timeout)
    );
    PodFault {
        reason: "Timeout".into(),
        message: message.into(),
        scope,
    }
}
