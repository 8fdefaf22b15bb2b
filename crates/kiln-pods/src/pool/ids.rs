//! Identifiers of images, pods and requests.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// The image of a function. All requests with the same key share pods. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct ImageKey(Arc<str>);

/// A pod, from before its creation until after its deletion. Ids are never reused, unlike names in Kubernetes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct PodId(u64);

/// A request. The evaluator numbers requests and uses no number twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct RequestId(pub(crate) u64);

impl ImageKey {
    pub(crate) fn new(image: impl Into<Arc<str>>) -> ImageKey {
        ImageKey(image.into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for ImageKey {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ImageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PodId {
    pub(super) fn new(number: u64) -> PodId {
        PodId(number)
    }

    /// A number that is unique in this process; part of the pod's name in Kubernetes.
    pub(crate) fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for PodId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
