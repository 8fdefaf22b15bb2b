//! The pools of all images: finds the pool that an event is about, and holds the state that all pools share.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::command::PoolCommand;
use super::context::Moment;
use super::context::{EventContext, PodIds, PoolMode};
use super::event::PoolEvent;
use super::ids::{ImageKey, PodId, RequestId};
use super::pod_pool::PodPool;
use super::spec::PoolSpec;
use super::state::PoolState;

/// All requests, and all pods that are this replica's or orphans.
#[derive(Debug)]
pub(crate) struct PodPools {
    scan_interval: Duration,
    orphan_grace: Duration,
    mode: PoolMode,
    next_scan: Moment,
    pod_ids: PodIds,
    pools: BTreeMap<ImageKey, PodPool>,
    /// The next timeout of each pool that has one, so that neither an event nor a tick looks at all pools.
    timeouts: BTreeSet<(Moment, ImageKey)>,
    /// The image of each pod, kept up to date from the commands.
    pods: HashMap<PodId, ImageKey>,
    /// The image of each request until it is finished or failed.
    requests: HashMap<RequestId, ImageKey>,
}

impl PodPools {
    /// Creates empty pools. They are stale until [`PoolEvent::Fresh`].
    ///
    /// Every `scan_interval` expired pods are deleted and the annotations of the others updated. Orphans beyond the
    /// limit are left to other replicas for `orphan_grace`, then retained if they are reachable, or deleted.
    pub(crate) fn new(scan_interval: Duration, orphan_grace: Duration) -> PodPools {
        PodPools {
            scan_interval,
            orphan_grace,
            mode: PoolMode {
                stale: true,
                draining: false,
            },
            next_scan: Moment::default(),
            pod_ids: PodIds::default(),
            pools: BTreeMap::new(),
            timeouts: BTreeSet::new(),
            pods: HashMap::new(),
            requests: HashMap::new(),
        }
    }

    /// An id for a pod that was found, for [`PoolEvent::Found`].
    pub(crate) fn next_pod_id(&mut self) -> PodId {
        self.pod_ids.next()
    }

    /// Handles an event. The returned commands must be executed in this order.
    pub(crate) fn handle(&mut self, now: Moment, event: PoolEvent) -> Vec<PoolCommand> {
        let mut commands = Vec::new();
        match event {
            PoolEvent::Request {
                request,
                image,
                spec,
            } => {
                if self.requests.contains_key(&request) {
                    return commands;
                }
                self.requests.insert(request, image.clone());
                self.with_pool_or_new(image, spec, now, &mut commands, |pool, _| {
                    pool.request(request);
                });
            }
            PoolEvent::Finished { request } => {
                if let Some(image) = self.requests.remove(&request) {
                    self.with_pool(&image, now, &mut commands, |pool, ctx| {
                        pool.finished(request, ctx.now);
                    });
                }
            }
            PoolEvent::CallLost {
                request,
                started,
                fault,
            } => {
                if let Some(image) = self.requests.get(&request).cloned() {
                    self.with_pool(&image, now, &mut commands, |pool, ctx| {
                        pool.call_lost(request, started, fault, ctx);
                    });
                }
            }
            PoolEvent::WarmUp { image, spec } => {
                self.with_pool_or_new(image, spec, now, &mut commands, |pool, _| pool.warm_up());
            }
            PoolEvent::SpecChanged { image, spec } => {
                self.with_pool(&image, now, &mut commands, |pool, _| pool.set_spec(spec));
            }
            PoolEvent::Found(found) => {
                if self.pods.contains_key(&found.pod) {
                    return commands;
                }
                self.pods.insert(found.pod, found.image.clone());
                let (image, spec) = (found.image.clone(), Arc::clone(&found.spec));
                self.with_pool_or_new(image, spec, now, &mut commands, |pool, ctx| {
                    pool.found_pod(found, ctx);
                });
            }
            PoolEvent::Stale => {
                self.mode.stale = true;
                self.with_every_pool(now, &mut commands, |_, _| {});
            }
            PoolEvent::Fresh => {
                self.mode.stale = false;
                self.with_every_pool(now, &mut commands, |pool, ctx| pool.fresh(ctx.now));
            }
            PoolEvent::Drain => {
                self.mode.draining = true;
                self.with_every_pool(now, &mut commands, |_, _| {});
            }
            PoolEvent::Tick => self.tick(now, &mut commands),
            PoolEvent::Created { pod, version } => {
                self.with_pool_of(pod, now, &mut commands, |pool, ctx| {
                    pool.created(pod, version, ctx.now);
                });
            }
            PoolEvent::CreateFailed { pod, fault } => {
                self.with_pool_of(pod, now, &mut commands, |pool, ctx| {
                    pool.create_failed(pod, &fault, ctx);
                });
            }
            PoolEvent::Ready { pod } => {
                self.with_pool_of(pod, now, &mut commands, |pool, ctx| {
                    pool.ready(pod, ctx);
                });
            }
            PoolEvent::Unready { pod } => {
                self.with_pool_of(pod, now, &mut commands, |pool, ctx| {
                    pool.unready(pod, ctx.now);
                });
            }
            PoolEvent::ServiceGone { pod } => {
                self.with_pool_of(pod, now, &mut commands, |pool, ctx| {
                    pool.service_gone(pod, ctx);
                });
            }
            PoolEvent::Failed { pod, fault } => {
                self.with_pool_of(pod, now, &mut commands, |pool, ctx| {
                    pool.failed(pod, &fault, ctx);
                });
            }
            PoolEvent::Terminating { pod } => {
                self.with_pool_of(pod, now, &mut commands, |pool, _| pool.terminating(pod));
            }
            PoolEvent::Gone { pod } => {
                self.with_pool_of(pod, now, &mut commands, |pool, ctx| pool.gone(pod, ctx));
            }
            PoolEvent::Adopted { pod } => {
                self.with_pool_of(pod, now, &mut commands, |pool, ctx| pool.adopted(pod, ctx));
            }
            PoolEvent::UsageProbed { pod, idle } => {
                self.with_pool_of(pod, now, &mut commands, |pool, ctx| {
                    pool.usage_probed(pod, idle, ctx);
                });
            }
            PoolEvent::AnnotationMissing { pod } => {
                self.with_pool_of(pod, now, &mut commands, |pool, _| {
                    pool.annotation_missing(pod)
                });
            }
            PoolEvent::Disowned { pod } => {
                self.with_pool_of(pod, now, &mut commands, |pool, _| pool.disowned(pod));
            }
        }
        self.update_index(&commands);
        commands
    }

    /// When the next [`PoolEvent::Tick`] is due. A later tick does no harm.
    pub(crate) fn next_tick(&self) -> Option<Moment> {
        if self.pools.is_empty() {
            return None;
        }
        let timeout = self.timeouts.first().filter(|_| !self.mode.stale);
        Some(timeout.map_or(self.next_scan, |(at, _)| self.next_scan.min(*at)))
    }

    /// The images that have pods or requests.
    pub(crate) fn images(&self) -> impl Iterator<Item = &ImageKey> {
        self.pools.keys()
    }

    /// The state of every pool.
    pub(crate) fn states(&self, now: Moment) -> impl Iterator<Item = PoolState<'_>> {
        self.pools.values().map(move |pool| pool.state(now))
    }

    pub(crate) fn image_of(&self, pod: PodId) -> Option<&ImageKey> {
        self.pods.get(&pod)
    }

    #[cfg(test)]
    pub(crate) fn loads(&self) -> impl Iterator<Item = (PodId, usize)> {
        self.pools.values().flat_map(PodPool::loads)
    }

    /// Number of requests that wait for a pod.
    #[cfg(test)]
    pub(crate) fn waitlist_len(&self) -> usize {
        self.pools.values().map(PodPool::waitlist_len).sum()
    }

    fn tick(&mut self, now: Moment, commands: &mut Vec<PoolCommand>) {
        if now >= self.next_scan {
            self.next_scan = now.after(self.scan_interval);
            return self.with_every_pool(now, commands, |pool, ctx| {
                pool.tick(ctx);
                pool.scan(ctx);
            });
        }
        let due = self.timeouts.iter().take_while(|(at, _)| *at <= now);
        let due: Vec<ImageKey> = due.map(|(_, image)| image.clone()).collect();
        for image in due {
            self.with_pool(&image, now, commands, |pool, ctx| pool.tick(ctx));
        }
    }

    /// Applies an event to the pool of an image, which is created if necessary.
    fn with_pool_or_new(
        &mut self,
        key: ImageKey,
        spec: Arc<PoolSpec>,
        now: Moment,
        commands: &mut Vec<PoolCommand>,
        apply: impl FnOnce(&mut PodPool, &mut EventContext<'_>),
    ) {
        let make = || PodPool::new(key.clone(), spec);
        self.pools.entry(key.clone()).or_insert_with(make);
        self.with_pool(&key, now, commands, apply);
    }

    /// Applies an event to the pool of a pod, if the pod is known.
    fn with_pool_of(
        &mut self,
        pod: PodId,
        now: Moment,
        commands: &mut Vec<PoolCommand>,
        apply: impl FnOnce(&mut PodPool, &mut EventContext<'_>),
    ) {
        if let Some(image) = self.pods.get(&pod).cloned() {
            self.with_pool(&image, now, commands, apply);
        }
    }

    /// Applies an event to the pool of an image, if it exists.
    fn with_pool(
        &mut self,
        key: &ImageKey,
        now: Moment,
        commands: &mut Vec<PoolCommand>,
        apply: impl FnOnce(&mut PodPool, &mut EventContext<'_>),
    ) {
        let Some(pool) = self.pools.get_mut(key) else {
            return;
        };
        let mut ctx = EventContext {
            now,
            mode: self.mode,
            orphan_grace: self.orphan_grace,
            commands,
            pod_ids: &mut self.pod_ids,
        };
        apply(pool, &mut ctx);
        pool.reconcile(&mut ctx);
        pool.record_timeout(&mut self.timeouts, self.orphan_grace);
        if pool.is_empty() {
            self.pools.remove(key);
        }
    }

    fn with_every_pool(
        &mut self,
        now: Moment,
        commands: &mut Vec<PoolCommand>,
        apply: impl Fn(&mut PodPool, &mut EventContext<'_>),
    ) {
        let mut ctx = EventContext {
            now,
            mode: self.mode,
            orphan_grace: self.orphan_grace,
            commands,
            pod_ids: &mut self.pod_ids,
        };
        let (timeouts, orphan_grace) = (&mut self.timeouts, self.orphan_grace);
        self.pools.retain(|_, pool| {
            apply(pool, &mut ctx);
            pool.reconcile(&mut ctx);
            pool.record_timeout(timeouts, orphan_grace);
            !pool.is_empty()
        });
    }

    /// Keeps the maps of pods and requests consistent with the pools.
    fn update_index(&mut self, commands: &[PoolCommand]) {
        for command in commands {
            match command {
                PoolCommand::Create { pod, image, .. } => {
                    self.pods.insert(*pod, image.clone());
                }
                PoolCommand::Forget { pod } => {
                    self.pods.remove(pod);
                }
                PoolCommand::Fail { request, .. } => {
                    self.requests.remove(request);
                }
                _ => {}
            }
        }
    }
}
