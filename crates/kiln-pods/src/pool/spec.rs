//! The desired state of the pods of one image.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

/// The desired state of the pods of one image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PoolSpec {
    pub(crate) settings: PoolSettings,
    pub(crate) version: PodVersion,
}

/// Limits of one image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PoolSettings {
    /// How long a pod without calls is kept.
    pub(crate) ttl: Duration,
    /// Number of calls of a pod at which another pod is created.
    pub(crate) max_waitlist: NonZeroUsize,
    /// Maximum number of pods of this replica.
    pub(crate) max_pods: NonZeroUsize,
    /// Time limit for a pod to become ready.
    pub(crate) start_timeout: Duration,
}

/// What a pod is made of. Pods of another version get no new calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PodVersion {
    /// Identifies the template and all settings that change it for the image.
    pub(crate) template: Arc<str>,
    /// The digest that the image reference resolved to; `None` before it is resolved.
    pub(crate) digest: Option<Arc<str>>,
}

impl PodVersion {
    /// Whether a pod of this version may serve requests for `wanted`.
    pub(crate) fn is_current(&self, wanted: &PodVersion) -> bool {
        let same_digest = match (&self.digest, &wanted.digest) {
            (Some(digest), Some(wanted)) => digest == wanted,
            _ => true,
        };
        same_digest && self.template == wanted.template
    }
}
