//! What pods, requests and images are called inside the process.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// The image of a function: all requests with the same key share pods. Clones are cheap.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ImageKey(Arc<str>);

/// A pod, from before it is created until after it is gone. Never used again for another one: a number says which pod, a
/// name in Kubernetes only where.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PodId(u64);

/// A request that waits for a pod or has one. Whoever makes requests numbers them and uses no number twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RequestId(pub u64);

impl ImageKey {
    /// The key of an image reference.
    pub fn new(image: impl Into<Arc<str>>) -> ImageKey {
        ImageKey(image.into())
    }

    /// The reference.
    pub fn as_str(&self) -> &str {
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
    /// The pod with a number.
    pub(super) fn new(number: u64) -> PodId {
        PodId(number)
    }

    /// The number, which names in Kubernetes may be made of: no other pod of this process has it.
    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for PodId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
