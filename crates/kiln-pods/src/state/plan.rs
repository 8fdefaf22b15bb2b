//! How the pods of an image are to be: how many, for how long, and made of what.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

/// What is wanted of the pods of one image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// How many there may be, and when they go.
    pub settings: Settings,
    /// What they are made of.
    pub version: Version,
}

/// The numbers of one image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// How long a pod stays without work.
    pub ttl: Duration,
    /// How many evaluations a pod has before another pod is started.
    pub max_waitlist: NonZeroUsize,
    /// How many pods this replica may have.
    pub max_pods: NonZeroUsize,
    /// How long a pod may take to become ready.
    pub start_timeout: Duration,
}

/// What a pod is made of. Pods made of something else than is wanted get no work any more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Version {
    /// The template with everything that is changed in it for the image, in whatever words the driver has for it.
    pub template: Arc<str>,
    /// What the image's reference stood for; none if nobody has asked the registry yet.
    pub digest: Option<Arc<str>>,
}

impl Version {
    /// Whether a pod of this version does where `wanted` is wanted.
    pub fn is_current(&self, wanted: &Version) -> bool {
        let same_digest = match (&self.digest, &wanted.digest) {
            (Some(digest), Some(wanted)) => digest == wanted,
            _ => true,
        };
        same_digest && self.template == wanted.template
    }
}
