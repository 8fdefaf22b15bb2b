//! Requests of replicas to the API server: concurrency, latency, 429s, conflicts and their effects.

use std::time::Duration;

use super::api_server::{ApiRequest, PodStage, pod_version};
use super::replica::SeenPod;
use super::run::{Happening, Simulation};
use crate::pool::{FaultScope, PodFault, PodId, PoolEvent};

/// As the driver's client has it.
const MAX_CONCURRENT: usize = 8;
const RETRY_TIMEOUT: Duration = Duration::from_secs(30);

/// The mean latency of the API server.
const LATENCY: Duration = Duration::from_millis(12);

/// How long a refused request, and one without an answer, waits for the next attempt.
const RETRY_AFTER: Duration = Duration::from_secs(1);
const NO_ANSWER: Duration = Duration::from_secs(10);

/// How long a pod takes to start at least, and how much longer on average.
const START: Duration = Duration::from_secs(1);
const START_MORE: Duration = Duration::from_millis(1500);

#[derive(Clone)]
pub(super) struct ApiTask {
    work: Work,
    /// The time that all attempts have waited.
    tried: Duration,
}

#[derive(Clone)]
pub(super) enum Work {
    Create {
        pod: PodId,
        index: usize,
    },
    Delete {
        pod: PodId,
        index: usize,
    },
    Annotate {
        index: usize,
        reclaim_in: Duration,
    },
    Adopt {
        pod: PodId,
        seen: SeenPod,
    },
    Collect {
        pod: PodId,
        seen: SeenPod,
    },
    /// A request for the service of a pod.
    Service(ApiRequest),
}

impl Work {
    fn request(&self) -> ApiRequest {
        match self {
            Work::Create { .. } => ApiRequest::CreatePod,
            Work::Delete { .. } | Work::Collect { .. } => ApiRequest::DeletePod,
            Work::Annotate { .. } => ApiRequest::AnnotatePod,
            Work::Adopt { .. } => ApiRequest::AdoptPod,
            Work::Service(request) => *request,
        }
    }
}

impl Simulation {
    pub(super) fn submit(&mut self, replica: usize, work: Work) {
        let tried = Duration::ZERO;
        self.send(replica, ApiTask { work, tried });
    }

    /// Sends a request when it is allowed.
    pub(super) fn send(&mut self, replica: usize, task: ApiTask) {
        let Some(sender) = self.replicas.get_mut(replica) else {
            return;
        };
        sender.requests_waiting.push_back(task);
        self.send_waiting(replica);
    }

    /// Sends as many of the waiting requests as are allowed.
    pub(super) fn send_waiting(&mut self, replica: usize) {
        let Some(sender) = self.replicas.get_mut(replica) else {
            return;
        };
        let mut begun = Vec::new();
        while sender.requests_running < MAX_CONCURRENT && sender.resumes <= self.now {
            let Some(task) = sender.requests_waiting.pop_front() else {
                break;
            };
            sender.requests_running += 1;
            begun.push(task);
        }
        let is_cut_off = sender.is_cut_off;
        for task in begun {
            let latency = match is_cut_off {
                true => NO_ANSWER,
                false => self.random.around(LATENCY),
            };
            self.after(latency, Happening::Answer { replica, task });
        }
    }

    /// The API server has answered, or the time of the request is over.
    pub(super) fn answer(&mut self, replica: usize, mut task: ApiTask) {
        let Some(sender) = self.replicas.get_mut(replica) else {
            return;
        };
        sender.requests_running -= 1;
        if !sender.is_alive {
            return;
        }
        let wait = if sender.is_cut_off {
            Some(NO_ANSWER)
        } else if !self.server.accepts(self.now, task.work.request()) {
            // As the driver's client does: all requests of the replica wait.
            sender.resumes = self.now.after(RETRY_AFTER);
            self.after(RETRY_AFTER, Happening::Resume(replica));
            Some(RETRY_AFTER + self.random.around(RETRY_AFTER / 4))
        } else {
            None
        };
        self.send_waiting(replica);
        match wait {
            None => self.effect(replica, task.work),
            Some(wait) => {
                task.tried += wait;
                if task.tried < self.retry_timeout(replica, &task.work) {
                    self.after(wait, Happening::Retry { replica, task });
                } else if let Work::Create { pod, .. } = task.work {
                    let fault = PodFault {
                        reason: "ApiServer".into(),
                        message: "".into(),
                        scope: FaultScope::Pod,
                    };
                    self.event(replica, PoolEvent::Failed { pod, fault });
                }
                // The state machine repeats everything else later.
            }
        }
    }

    fn retry_timeout(&self, replica: usize, work: &Work) -> Duration {
        match (work, self.replicas.get(replica)) {
            // As in the driver, so that callers get this reason.
            (Work::Create { .. }, Some(replica)) => replica.spec().settings.start_timeout * 9 / 10,
            _ => RETRY_TIMEOUT,
        }
    }

    fn effect(&mut self, replica: usize, work: Work) {
        match work {
            Work::Create { pod, index } => {
                if self.stage(index) != PodStage::Named {
                    return;
                }
                let ttl = self.ttl(replica);
                self.server.set_reclaim(index, self.now, ttl);
                self.change(index, PodStage::Starting);
                let more = self.random.around(START_MORE);
                self.after(START + more, Happening::PodReady(index));
                let version = pod_version();
                self.event(replica, PoolEvent::Created { pod, version });
                self.submit(replica, Work::Service(ApiRequest::CreateService));
            }
            Work::Delete { pod, index } => {
                if self.delete_pod(index) {
                    self.submit(replica, Work::Service(ApiRequest::DeleteService));
                } else {
                    self.event(replica, PoolEvent::Gone { pod });
                }
            }
            Work::Annotate { index, reclaim_in } => {
                self.server.set_reclaim(index, self.now, reclaim_in);
                self.change(index, self.stage(index));
            }
            Work::Adopt { pod, seen } => {
                let Some(seen) = self.unless_changed(replica, pod, seen) else {
                    return;
                };
                if self.version(seen.index) != seen.version {
                    return self.submit(
                        replica,
                        Work::Adopt {
                            pod,
                            seen: self.refetched(seen),
                        },
                    );
                }
                self.own(seen.index, replica);
                self.submit(replica, Work::Service(ApiRequest::AdoptService));
                self.decide(replica, |controller, now, actions| {
                    controller.adopted(now, pod, actions);
                });
            }
            Work::Collect { pod, seen } => {
                let Some(seen) = self.unless_changed(replica, pod, seen) else {
                    return;
                };
                if self.version(seen.index) != seen.version {
                    return self.submit(
                        replica,
                        Work::Collect {
                            pod,
                            seen: self.refetched(seen),
                        },
                    );
                }
                self.delete_pod(seen.index);
                self.submit(replica, Work::Service(ApiRequest::DeleteService));
            }
            Work::Service(_) => {}
        }
    }

    /// A pod that still has the owner that the replica knows. Otherwise the replica learns what has become of it, after
    /// it has read the object again.
    fn unless_changed(&mut self, replica: usize, pod: PodId, seen: SeenPod) -> Option<SeenPod> {
        if self.stage(seen.index) >= PodStage::Terminating {
            self.event(replica, PoolEvent::Gone { pod });
            return None;
        }
        let owner = self.server.pods.get(seen.index).map(|pod| pod.owner);
        let is_same = self.version(seen.index) == seen.version;
        if !is_same {
            self.server.accepts(self.now, ApiRequest::GetPod);
        }
        if owner == seen.owner {
            return Some(seen);
        }
        self.event(replica, PoolEvent::Disowned { pod });
        None
    }

    fn refetched(&self, seen: SeenPod) -> SeenPod {
        let version = self.version(seen.index);
        SeenPod { version, ..seen }
    }
}
