//! The options of a render or an evaluation.

use std::num::NonZeroUsize;
use std::time::Duration;

use kiln_krm::record::UnknownKeys;
use kiln_krm::selector::Overlap;
use kiln_runtime::{CancelToken, Deadline, Evaluator, FunctionPin, Limits, Network, RunContext};

use crate::call_record::TouchedResources;

/// The compatibility mode: what happens where kiln and kpt differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RenderCompat {
    /// Unchanged text stays as it was, results of severity error are failures, and a function's exit code counts more
    /// than an unreadable output.
    #[default]
    Kiln,
    Kpt,
}

impl RenderCompat {
    /// What happens to a resource that several selectors match.
    pub(crate) fn overlap(self) -> Overlap {
        match self {
            RenderCompat::Kiln => Overlap::Once,
            RenderCompat::Kpt => Overlap::Repeated,
        }
    }
}

/// Finds the tags of images.
pub trait Tags: Sync {
    /// The known tags of an image; empty if they cannot be determined.
    fn of(&self, image: &str) -> Vec<String>;

    /// Tags that take longer to find. Called if none of the others matches.
    fn elsewhere(&self, image: &str) -> Vec<String> {
        let _ = image;
        Vec::new()
    }
}

/// The exact versions of functions.
pub trait Pins: Sync {
    /// The version of a function that a Kptfile names by image and tag, as written there; `None` if it is to be resolved.
    fn of(&self, image: &str, tag: &str) -> Option<PinnedImage>;
}

/// An image that was resolved earlier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PinnedImage {
    /// The whole name, with prefix and tag.
    pub resolved: String,
    pub pin: FunctionPin,
}

/// How functions are run.
pub struct FunctionOptions<'a> {
    pub compat: RenderCompat,
    pub evaluator: &'a dyn Evaluator,
    /// The prefix of short image names.
    pub image_prefix: &'a str,
    /// Finds the tags of an image, for functions with a range of versions.
    pub tags: &'a dyn Tags,
    /// The versions that are not looked up.
    pub pins: Option<&'a dyn Pins>,
    /// The network of containers.
    pub network: Network,
    /// The time limit of each function.
    pub timeout: Option<Duration>,
    pub limits: Limits,
    /// The number of threads that read or restore one list of resources.
    pub threads: NonZeroUsize,
    /// Cancelled when the user interrupts the command.
    pub cancel: CancelToken,
    pub touched: TouchedResources,
    /// Whether results have the identities of programs, whose files must be read for that.
    pub wants_identity: bool,
}

impl FunctionOptions<'_> {
    /// The context of a function that starts now.
    pub(crate) fn context(&self, cancel: &CancelToken) -> RunContext {
        RunContext {
            deadline: self.timeout.and_then(Deadline::after),
            limits: self.limits,
            cancel: cancel.clone(),
            wants_identity: self.wants_identity,
            ..RunContext::default()
        }
    }
}

/// How much runs in parallel. The result and the log are the same in any case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Jobs {
    /// How many packages are rendered at a time, at most.
    pub count: NonZeroUsize,
    /// Whether functions that are not native run in parallel as well.
    pub external: ExternalFunctions,
}

impl Jobs {
    /// One package after the other.
    pub const ONE: Jobs = Jobs {
        count: NonZeroUsize::MIN,
        external: ExternalFunctions::InOrder,
    };
}

/// When functions run that are not native and may have side effects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExternalFunctions {
    /// One at a time, and only after everything before them has succeeded, as if packages were rendered in sequence.
    InOrder,
    /// In parallel, even with earlier ones that fail later.
    Parallel,
}

/// How a package is rendered.
pub struct RenderOptions<'a> {
    /// How functions are run.
    pub functions: FunctionOptions<'a>,
    /// The absolute path of the package, for functions and messages.
    pub root: &'a str,
    /// Messages name packages relative to this directory.
    pub working_directory: &'a str,
    /// Whether executables may be run.
    pub allow_exec: bool,
    /// How much runs in parallel.
    pub jobs: Jobs,
    /// Whether resources of the Config Connector get kpt's attribution annotation.
    pub attribution: bool,
    /// What happens to unknown fields of Kptfiles.
    pub unknown_fields: UnknownKeys,
}
