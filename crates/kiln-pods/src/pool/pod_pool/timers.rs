//! Changes that are due to time alone.

use std::sync::Arc;
use std::time::Duration;

use kiln_go::GoDuration;

use super::super::command::PoolCommand;
use super::super::context::EventContext;
use super::super::context::Moment;
use super::super::event::{FaultScope, PodFault};
use super::super::ids::PodId;
use super::super::pod::PodPhase;
use super::PodPool;

impl PodPool {
    /// Pods that are not ready in time fail. Orphans that no replica has adopted within the grace period are deleted if
    /// they are not reachable. If they are, their owner may be cut off from the API server and still call them: they
    /// are retained, up to the limit.
    pub(in super::super) fn tick(&mut self, ctx: &mut EventContext<'_>) {
        if ctx.mode.stale {
            return;
        }
        let (now, orphan_grace) = (ctx.now, ctx.orphan_grace);
        let start_timeout = self.spec.settings.start_timeout;
        let retained = self.pods.iter().filter(|pod| pod.is_retained()).count();
        let mut room_for_retained = self.spec.settings.max_pods.get().saturating_sub(retained);
        let mut timed_out: Vec<(PodId, FaultScope)> = Vec::new();
        for pod in &mut self.pods {
            match pod.phase {
                PodPhase::Pending { since } if now >= since.after(start_timeout) => {
                    let scope = if pod.was_ready {
                        FaultScope::Pod
                    } else {
                        FaultScope::Image
                    };
                    timed_out.push((pod.id, scope));
                }
                PodPhase::Orphan { since } if now >= since.after(orphan_grace) => {
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
                    // The annotation has a resolution of one second.
                    let has_changed = |known: Moment| {
                        let difference = stays_until.since(known).max(known.since(stays_until));
                        difference >= Duration::from_secs(1)
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

    /// When the next pod times out.
    pub(in super::super) fn next_timeout(&self, orphan_grace: Duration) -> Option<Moment> {
        let start_timeout = self.spec.settings.start_timeout;
        let timed_out = self.pods.iter().filter_map(|pod| match pod.phase {
            PodPhase::Pending { since } => Some(since.after(start_timeout)),
            PodPhase::Orphan { since } => Some(since.after(orphan_grace)),
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
