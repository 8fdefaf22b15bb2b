//! What a render or an evaluation is to be done with.

use std::num::NonZeroUsize;
use std::time::Duration;

use kiln_krm::record::UnknownKeys;
use kiln_krm::selector::Overlap;
use kiln_runtime::{CancelToken, Deadline, Evaluator, Limits, Network, RunContext};

/// Whose behaviour where they differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Behaviour {
    /// What nothing changed stays as it was, results of severity error are failures, and a function's exit code
    /// counts more than an answer nobody can read.
    #[default]
    Kiln,
    /// As kpt does it.
    Kpt,
}

impl Behaviour {
    /// What happens to a resource that several selectors match.
    pub(crate) fn overlap(self) -> Overlap {
        match self {
            Behaviour::Kiln => Overlap::Once,
            Behaviour::Kpt => Overlap::Repeated,
        }
    }
}

/// Knows the tags of images.
pub trait Tags: Sync {
    /// All that are known of an image without tag; none if it cannot be found out.
    fn of(&self, image: &str) -> Vec<String>;

    /// Those that take longer to find out. Asked for if none of the others will do.
    fn elsewhere(&self, image: &str) -> Vec<String> {
        let _ = image;
        Vec::new()
    }
}

/// How functions are run.
pub struct FunctionOptions<'a> {
    /// Whose behaviour.
    pub behaviour: Behaviour,
    /// What runs the functions.
    pub evaluator: &'a dyn Evaluator,
    /// What stands before the short names of images.
    pub image_prefix: &'a str,
    /// Finds the tags of an image, for functions that ask for a range of versions.
    pub tags: &'a dyn Tags,
    /// The network of containers.
    pub network: Network,
    /// The time that each function has; all the time in the world if not given.
    pub timeout: Option<Duration>,
    /// What each function may use.
    pub limits: Limits,
    /// How many threads may work on one list of resources, besides what functions do themselves.
    pub threads: NonZeroUsize,
    /// Tells that the user has given up.
    pub cancel: CancelToken,
}

impl FunctionOptions<'_> {
    /// The circumstances of a function that starts now.
    pub(crate) fn context(&self, cancel: &CancelToken) -> RunContext {
        RunContext {
            deadline: self.timeout.and_then(Deadline::after),
            limits: self.limits,
            cancel: cancel.clone(),
            ..RunContext::default()
        }
    }
}

/// How much is done at the same time. What comes of it, and what the log is told, is the same in any case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Jobs {
    /// How many packages are rendered at a time, at most.
    pub count: NonZeroUsize,
    /// Which functions run beside others.
    pub outside: Outside,
}

impl Jobs {
    /// One package after the other.
    pub const ONE: Jobs = Jobs {
        count: NonZeroUsize::MIN,
        outside: Outside::InOrder,
    };
}

/// What happens to functions that may do more than to answer: those that are not native.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outside {
    /// They run one at a time, and only when everything before them has come to a good end, as if nothing were done at
    /// the same time.
    InOrder,
    /// They run beside others, even beside some that come before them and then fail.
    Beside,
}

/// How a package is rendered.
pub struct RenderOptions<'a> {
    /// How functions are run.
    pub functions: FunctionOptions<'a>,
    /// The package's absolute path, by which functions and messages know it.
    pub root: &'a str,
    /// Where the user is; messages name packages as seen from there.
    pub working_directory: &'a str,
    /// Whether command lines may be run.
    pub allow_exec: bool,
    /// How much is done at the same time.
    pub jobs: Jobs,
    /// Whether resources of the Config Connector are marked as having passed through functions.
    pub attribution: bool,
    /// What becomes of fields that Kptfiles do not have.
    pub unknown_fields: UnknownKeys,
}
