//! Derives commands from the state of a pool.

use super::super::command::{PoolCommand, RequestFailure};
use super::super::context::EventContext;
use super::super::ids::PodId;
use super::super::pod::{Pod, PodPhase};
use super::PodPool;

impl PodPool {
    /// Brings the pool closer to its spec. Idempotent.
    pub(in super::super) fn reconcile(&mut self, ctx: &mut EventContext<'_>) {
        self.retire();
        self.delete(ctx);
        self.promote_retained(ctx);
        self.adopt(ctx);
        self.dispatch(ctx);
        self.release(ctx);
        self.forget(ctx);
    }

    /// Outdated pods and pods beyond the limit get no new calls.
    fn retire(&mut self) {
        let spec = &self.spec;
        for pod in &mut self.pods {
            let is_ours = matches!(pod.phase, PodPhase::Pending { .. } | PodPhase::Ready);
            if is_ours && !pod.is_current(spec) {
                pod.phase = PodPhase::Retiring;
            }
        }
        let active = self.pods.iter().filter(|pod| pod.is_active()).count();
        for _ in spec.settings.max_pods.get()..active {
            let ours = self
                .pods
                .iter_mut()
                .filter(|pod| matches!(pod.phase, PodPhase::Pending { .. } | PodPhase::Ready));
            let least = ours.min_by_key(|pod| (pod.running.len(), pod.phase == PodPhase::Ready));
            if let Some(pod) = least {
                pod.phase = PodPhase::Retiring;
            }
        }
    }

    /// Retiring pods without calls are deleted, unless the cluster view is stale.
    fn delete(&mut self, ctx: &mut EventContext<'_>) {
        if ctx.mode.stale {
            return;
        }
        for pod in &mut self.pods {
            if pod.phase == PodPhase::Retiring && pod.is_idle() {
                pod.phase = PodPhase::Deleting;
                ctx.push(PoolCommand::Delete { pod: pod.id });
            }
        }
    }

    /// Retained pods are put to use as soon as the limit allows it.
    fn promote_retained(&mut self, ctx: &mut EventContext<'_>) {
        if ctx.mode.stale || ctx.mode.draining {
            return;
        }
        let mut room = self.room();
        for pod in &mut self.pods {
            if room > 0 && pod.phase == PodPhase::Retained && pod.is_current(&self.spec) {
                room -= 1;
                pod.phase = PodPhase::Pending { since: ctx.now };
                ctx.push(PoolCommand::Check { pod: pod.id });
            }
        }
    }

    /// Orphans are adopted up to the limit when it is this replica's turn, and deleted if they are outdated.
    /// Orphans that their owner may still call are left to the usage probe, expired ones to the tick.
    fn adopt(&mut self, ctx: &mut EventContext<'_>) {
        if ctx.mode.stale || ctx.mode.draining {
            return;
        }
        let ttl = self.spec.settings.ttl;
        let mut room = self.room();
        // An orphan is better than the new pod that would be created next, so it is adopted before its turn.
        let is_needed = self.needs_more_pods();
        for pod in &mut self.pods {
            let must_collect = match pod.phase {
                PodPhase::Unusable => true,
                PodPhase::Orphan { .. } if pod.expires(ttl) <= ctx.now => continue,
                PodPhase::Orphan { .. } => {
                    let is_outdated = !pod.is_current(&self.spec);
                    if is_outdated && pod.may_have_other_callers {
                        continue;
                    }
                    is_outdated
                }
                _ => continue,
            };
            let is_our_turn = pod.adopt_from.is_none() || is_needed;
            if must_collect {
                pod.phase = PodPhase::Collecting;
                ctx.push(PoolCommand::Collect { pod: pod.id });
            } else if room > 0 && is_our_turn {
                room -= 1;
                pod.phase = PodPhase::Adopting;
                ctx.push(PoolCommand::Adopt { pod: pod.id });
            }
        }
    }

    /// Whether there are more requests than the ready pods take at once, or a pod is to be warmed up.
    fn needs_more_pods(&self) -> bool {
        let max_waitlist = self.spec.settings.max_waitlist.get();
        let ready = self.pods.iter().filter(|pod| pod.phase == PodPhase::Ready);
        let free: usize = ready
            .map(|pod| max_waitlist.saturating_sub(pod.running.len()))
            .sum();
        self.waitlist.len() > free || self.warm_up
    }

    /// Assigns requests to pods, and creates pods for requests that get none.
    fn dispatch(&mut self, ctx: &mut EventContext<'_>) {
        self.warm_up &= !ctx.mode.draining && !self.pods.iter().any(Pod::is_active);
        if self.warm_up && self.has_room() {
            self.create(ctx);
            self.warm_up = false;
        }
        let max_waitlist = self.spec.settings.max_waitlist.get();
        while !self.waitlist.is_empty() {
            let best = self.least_loaded();
            if let Some((pod, load)) = best
                && load < max_waitlist
            {
                self.start(pod, ctx);
                continue;
            }
            let pending = self.pending(ctx);
            if self.waitlist.len() > pending.saturating_mul(max_waitlist) && self.may_scale_up(ctx)
            {
                self.create(ctx);
                continue;
            }
            match best {
                // The waitlist is shared between the pods that become ready.
                _ if pending > 0 => return,
                Some((pod, _)) => self.start(pod, ctx),
                None if ctx.mode.draining => {
                    for call in std::mem::take(&mut self.waitlist) {
                        call.fail(RequestFailure::Draining, ctx);
                    }
                }
                // All pods that the limit allows have to finish their calls first.
                None => return,
            }
        }
    }

    /// A draining replica releases its pods without calls.
    fn release(&mut self, ctx: &mut EventContext<'_>) {
        if !ctx.mode.draining || !self.waitlist.is_empty() {
            return;
        }
        for pod in &mut self.pods {
            match pod.phase {
                PodPhase::Pending { .. } | PodPhase::Ready | PodPhase::Retained
                    if pod.is_idle() =>
                {
                    pod.phase = PodPhase::Released;
                    ctx.push(PoolCommand::Release { pod: pod.id });
                }
                PodPhase::Orphan { .. } | PodPhase::Unusable => pod.phase = PodPhase::Released,
                _ => {}
            }
        }
    }

    /// Pods that are gone or owned by another replica are forgotten when their last call is finished.
    fn forget(&mut self, ctx: &mut EventContext<'_>) {
        self.pods.retain(|pod| {
            let is_over = pod.phase == PodPhase::Released && pod.is_idle();
            if is_over {
                ctx.push(PoolCommand::Forget { pod: pod.id });
            }
            !is_over
        });
    }

    /// The ready pod with the lowest load, and its load. Among equals, the one that was picked the longest ago.
    fn least_loaded(&self) -> Option<(PodId, usize)> {
        let ready = self.pods.iter().filter(|pod| pod.phase == PodPhase::Ready);
        let best = ready.min_by_key(|pod| (pod.running.len(), pod.last_picked))?;
        Some((best.id, best.running.len()))
    }

    fn start(&mut self, id: PodId, ctx: &mut EventContext<'_>) {
        self.pick_counter += 1;
        let last_picked = self.pick_counter;
        let Some(pod) = self.pods.iter_mut().find(|pod| pod.id == id) else {
            return;
        };
        let Some(call) = self.waitlist.pop_front() else {
            return;
        };
        pod.last_picked = last_picked;
        // The answer to an earlier probe no longer matters.
        pod.probe_pending = false;
        pod.running.push(call);
        ctx.push(PoolCommand::Start {
            request: call.request,
            pod: id,
        });
    }

    fn create(&mut self, ctx: &mut EventContext<'_>) {
        let pod = ctx.pod_ids.next();
        let phase = PodPhase::Pending { since: ctx.now };
        self.pods.push(Pod::new(pod, phase, ctx.now));
        ctx.push(PoolCommand::Create {
            pod,
            image: self.key.clone(),
            spec: self.spec.clone(),
        });
    }

    /// Number of pending pods that are worth waiting for. While the watches are down, no pod is reported ready, so
    /// requests go to a ready pod if there is one.
    fn pending(&self, ctx: &EventContext<'_>) -> usize {
        if ctx.mode.stale && self.least_loaded().is_some() {
            return 0;
        }
        self.pods.iter().filter(|pod| pod.is_pending()).count()
    }

    fn may_scale_up(&self, ctx: &EventContext<'_>) -> bool {
        let is_justified = match self.pods.iter().any(Pod::is_active) {
            true => !ctx.mode.stale && self.scale_up.is_due(ctx.now),
            false => true,
        };
        !ctx.mode.draining && is_justified && self.has_room()
    }

    fn has_room(&self) -> bool {
        self.room() > 0
    }

    /// How many more pods the limit allows.
    fn room(&self) -> usize {
        let count = self
            .pods
            .iter()
            .filter(|pod| pod.counts_toward_limit())
            .count();
        self.spec.settings.max_pods.get().saturating_sub(count)
    }
}
