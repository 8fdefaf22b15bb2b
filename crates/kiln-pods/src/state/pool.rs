//! The machine as its owner sees it: which image an event is about, and what holds for all of them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::command::Command;
use super::event::Event;
use super::ids::{ImageKey, PodId, RequestId};
use super::image::Image;
use super::moment::Moment;
use super::plan::Plan;
use super::turn::{Mode, Names, Turn};

/// All pods that are ours or nobody's, and all requests.
#[derive(Debug)]
pub struct Pool {
    scan_interval: Duration,
    orphan_grace: Duration,
    mode: Mode,
    next_scan: Moment,
    names: Names,
    images: BTreeMap<ImageKey, Image>,
    /// Which image a pod is of. Follows the commands that name pods first and last.
    pods: HashMap<PodId, ImageKey>,
    /// Which image a request is for, until it is over or failed.
    requests: HashMap<RequestId, ImageKey>,
}

impl Pool {
    /// A pool without pods, which knows nothing yet: it is stale until [`Event::Fresh`].
    ///
    /// Every `scan_interval` it looks for pods to end and annotates those that stay. Pods of nobody that we have no room for
    /// are left to other replicas for `orphan_grace`, then kept beside ours if they answer, collected if not.
    pub fn new(scan_interval: Duration, orphan_grace: Duration) -> Pool {
        Pool {
            scan_interval,
            orphan_grace,
            mode: Mode {
                stale: true,
                draining: false,
            },
            next_scan: Moment::default(),
            names: Names::default(),
            images: BTreeMap::new(),
            pods: HashMap::new(),
            requests: HashMap::new(),
        }
    }

    /// A name for a pod that was found, to be used in [`Event::Found`].
    pub fn name_found_pod(&mut self) -> PodId {
        self.names.next()
    }

    /// Takes an event and says what is to be done, in this order.
    pub fn handle(&mut self, now: Moment, event: Event) -> Vec<Command> {
        let mut commands = Vec::new();
        match event {
            Event::Request {
                request,
                image,
                plan,
            } => {
                if self.requests.contains_key(&request) {
                    return commands;
                }
                self.requests.insert(request, image.clone());
                self.image(image, plan, now, &mut commands, |image, _| {
                    image.request(request);
                });
            }
            Event::Over { request } => {
                if let Some(image) = self.requests.remove(&request) {
                    self.known(&image, now, &mut commands, |image, turn| {
                        image.over(request, turn.now);
                    });
                }
            }
            Event::Lost {
                request,
                started,
                fault,
            } => {
                if let Some(image) = self.requests.get(&request).cloned() {
                    self.known(&image, now, &mut commands, |image, turn| {
                        image.lost(request, started, fault, turn);
                    });
                }
            }
            Event::WarmUp { image, plan } => {
                self.image(image, plan, now, &mut commands, |image, _| image.warm_up());
            }
            Event::Planned { image, plan } => {
                self.known(&image, now, &mut commands, |image, _| image.planned(plan));
            }
            Event::Found(found) => {
                if self.pods.contains_key(&found.pod) {
                    return commands;
                }
                self.pods.insert(found.pod, found.image.clone());
                let (image, plan) = (found.image.clone(), Arc::clone(&found.plan));
                self.image(image, plan, now, &mut commands, |image, turn| {
                    image.found(found, turn);
                });
            }
            Event::Stale => {
                self.mode.stale = true;
                self.everywhere(now, &mut commands, |_, _| {});
            }
            Event::Fresh => {
                self.mode.stale = false;
                self.everywhere(now, &mut commands, |image, turn| image.fresh(turn.now));
            }
            Event::Drain => {
                self.mode.draining = true;
                self.everywhere(now, &mut commands, |_, _| {});
            }
            Event::Tick => self.tick(now, &mut commands),
            Event::Created { pod, version } => {
                self.of_pod(pod, now, &mut commands, |image, turn| {
                    image.created(pod, version, turn.now);
                });
            }
            Event::NotCreated { pod, fault } => {
                self.of_pod(pod, now, &mut commands, |image, turn| {
                    image.not_created(pod, &fault, turn);
                });
            }
            Event::Ready { pod } => {
                self.of_pod(pod, now, &mut commands, |image, turn| {
                    image.ready(pod, turn);
                });
            }
            Event::Unready { pod } => {
                self.of_pod(pod, now, &mut commands, |image, turn| {
                    image.unready(pod, turn.now);
                });
            }
            Event::ServiceGone { pod } => {
                self.of_pod(pod, now, &mut commands, |image, turn| {
                    image.service_gone(pod, turn);
                });
            }
            Event::Failed { pod, fault } => {
                self.of_pod(pod, now, &mut commands, |image, turn| {
                    image.failed(pod, &fault, turn);
                });
            }
            Event::Terminating { pod } => {
                self.of_pod(pod, now, &mut commands, |image, _| image.terminating(pod));
            }
            Event::Gone { pod } => {
                self.of_pod(pod, now, &mut commands, |image, turn| image.gone(pod, turn));
            }
            Event::Adopted { pod } => {
                self.of_pod(pod, now, &mut commands, |image, turn| {
                    image.adopted(pod, turn)
                });
            }
            Event::Used { pod, idle } => {
                self.of_pod(pod, now, &mut commands, |image, turn| {
                    image.used(pod, idle, turn);
                });
            }
            Event::Unannotated { pod } => {
                self.of_pod(pod, now, &mut commands, |image, _| image.unannotated(pod));
            }
            Event::Disowned { pod } => {
                self.of_pod(pod, now, &mut commands, |image, _| image.disowned(pod));
            }
        }
        self.follow(&commands);
        commands
    }

    /// When [`Event::Tick`] should come next. Nothing goes wrong if it comes later.
    pub fn next_tick(&self) -> Option<Moment> {
        if self.images.is_empty() {
            return None;
        }
        let late = match self.mode.stale {
            true => None,
            false => {
                let images = self.images.values();
                images
                    .filter_map(|image| image.next_late(self.orphan_grace))
                    .min()
            }
        };
        Some(late.map_or(self.next_scan, |late| late.min(self.next_scan)))
    }

    /// The images that have pods or requests.
    pub fn images(&self) -> impl Iterator<Item = &ImageKey> {
        self.images.keys()
    }

    /// The image of a pod.
    pub fn image_of(&self, pod: PodId) -> Option<&ImageKey> {
        self.pods.get(&pod)
    }

    /// The pods with the number of calls that each of them has.
    pub fn loads(&self) -> impl Iterator<Item = (PodId, usize)> {
        self.images.values().flat_map(Image::loads)
    }

    /// How many requests wait for a pod.
    pub fn waiting(&self) -> usize {
        self.images.values().map(Image::waiting).sum()
    }

    fn tick(&mut self, now: Moment, commands: &mut Vec<Command>) {
        let is_scan = now >= self.next_scan;
        if is_scan {
            self.next_scan = now.after(self.scan_interval);
        }
        self.everywhere(now, commands, |image, turn| {
            image.tick(turn);
            if is_scan {
                image.scan(turn);
            }
        });
    }

    /// Tells an image something, making it known if it is not.
    fn image(
        &mut self,
        key: ImageKey,
        plan: Arc<Plan>,
        now: Moment,
        commands: &mut Vec<Command>,
        tell: impl FnOnce(&mut Image, &mut Turn<'_>),
    ) {
        let make = || Image::new(key.clone(), plan);
        self.images.entry(key.clone()).or_insert_with(make);
        self.known(&key, now, commands, tell);
    }

    /// Tells the image of a pod something, if the pod is known.
    fn of_pod(
        &mut self,
        pod: PodId,
        now: Moment,
        commands: &mut Vec<Command>,
        tell: impl FnOnce(&mut Image, &mut Turn<'_>),
    ) {
        if let Some(image) = self.pods.get(&pod).cloned() {
            self.known(&image, now, commands, tell);
        }
    }

    /// Tells an image something, if it is known.
    fn known(
        &mut self,
        key: &ImageKey,
        now: Moment,
        commands: &mut Vec<Command>,
        tell: impl FnOnce(&mut Image, &mut Turn<'_>),
    ) {
        let Some(image) = self.images.get_mut(key) else {
            return;
        };
        let mut turn = Turn {
            now,
            mode: self.mode,
            orphan_grace: self.orphan_grace,
            commands,
            names: &mut self.names,
        };
        tell(image, &mut turn);
        image.settle(&mut turn);
        if image.is_empty() {
            self.images.remove(key);
        }
    }

    fn everywhere(
        &mut self,
        now: Moment,
        commands: &mut Vec<Command>,
        tell: impl Fn(&mut Image, &mut Turn<'_>),
    ) {
        let mut turn = Turn {
            now,
            mode: self.mode,
            orphan_grace: self.orphan_grace,
            commands,
            names: &mut self.names,
        };
        self.images.retain(|_, image| {
            tell(image, &mut turn);
            image.settle(&mut turn);
            !image.is_empty()
        });
    }

    /// Keeps the lists of pods and requests equal to what images have.
    fn follow(&mut self, commands: &[Command]) {
        for command in commands {
            match command {
                Command::Create { pod, image, .. } => {
                    self.pods.insert(*pod, image.clone());
                }
                Command::Forget { pod } => {
                    self.pods.remove(pod);
                }
                Command::Fail { request, .. } => {
                    self.requests.remove(request);
                }
                _ => {}
            }
        }
    }
}
