//! When the steps of a pod's start ended, for the status page.

use std::collections::{BTreeMap, HashMap};

use tokio::time::Instant;

use crate::pool::{ImageKey, PodId};
use crate::snapshot::ColdStart;

/// The number of images whose last start is kept.
const MAX_IMAGES: usize = 200;

/// A step of a start, by its end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum StartStep {
    /// The image is resolved, and the pod has a name.
    Resolved,
    Created,
    Scheduled,
    /// Its containers are ready according to Kubernetes.
    Ready,
    Connected,
    FirstCall,
}

/// The last start of each image, and the pods that are starting.
#[derive(Debug, Default)]
pub(super) struct ColdStarts {
    last: BTreeMap<ImageKey, PodStart>,
    /// The image of each pod whose start is the last one of its image.
    starting: HashMap<PodId, ImageKey>,
}

#[derive(Debug)]
struct PodStart {
    pod: PodId,
    name: String,
    decided: Instant,
    steps: Vec<(StartStep, Instant)>,
}

impl ColdStarts {
    /// A pod is about to be created.
    pub(super) fn decided(&mut self, pod: PodId, image: &ImageKey) {
        if !self.last.contains_key(image) && self.last.len() >= MAX_IMAGES {
            let oldest = self.last.iter().min_by_key(|(_, start)| start.decided);
            if let Some((oldest, pod)) = oldest.map(|(image, start)| (image.clone(), start.pod)) {
                self.starting.remove(&pod);
                self.last.remove(&oldest);
            }
        }
        let start = PodStart {
            pod,
            name: String::new(),
            decided: Instant::now(),
            steps: Vec::new(),
        };
        if let Some(before) = self.last.insert(image.clone(), start) {
            self.starting.remove(&before.pod);
        }
        self.starting.insert(pod, image.clone());
    }

    pub(super) fn named(&mut self, pod: PodId, name: String) {
        if let Some(start) = self.start(pod) {
            start.name = name;
        }
        self.reached(pod, StartStep::Resolved);
    }

    /// A step has ended. Only the first time counts, and no step comes before an earlier one.
    pub(super) fn reached(&mut self, pod: PodId, step: StartStep) {
        let Some(start) = self.start(pod) else {
            return;
        };
        if start.steps.last().is_none_or(|(last, _)| *last < step) {
            start.steps.push((step, Instant::now()));
        }
        if step == StartStep::FirstCall {
            self.starting.remove(&pod);
        }
    }

    /// A pod is gone. Its start remains the last one of its image.
    pub(super) fn forget(&mut self, pod: PodId) {
        self.starting.remove(&pod);
    }

    /// The last start of an image.
    pub(super) fn last(&self, image: &ImageKey) -> Option<ColdStart> {
        let start = self.last.get(image)?;
        let steps = start.steps.iter();
        Some(ColdStart {
            pod: start.name.clone(),
            age: start.decided.elapsed(),
            steps: steps
                .map(|(step, at)| (step.name(), at.duration_since(start.decided)))
                .collect(),
        })
    }

    fn start(&mut self, pod: PodId) -> Option<&mut PodStart> {
        self.last.get_mut(self.starting.get(&pod)?)
    }
}

impl StartStep {
    fn name(self) -> &'static str {
        match self {
            StartStep::Resolved => "resolve the image",
            StartStep::Created => "create the pod",
            StartStep::Scheduled => "schedule",
            StartStep::Ready => "pull, initialize and become ready",
            StartStep::Connected => "connect",
            StartStep::FirstCall => "first call",
        }
    }
}
