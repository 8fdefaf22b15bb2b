//! Settings of the evaluator.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use kiln_oci::{PullPolicy, RegistryError, RegistryOptions};
use kiln_runtime::Mount;
use kiln_sandbox::ImagePolicy;
use kiln_store::{CollectLimits, Collected, PullProgress, StoreError, StoreOptions};

/// Settings of the evaluator. Nothing is opened before the first function runs.
#[derive(Clone)]
pub struct ImageOptions {
    /// The directory of the store; `None` if there is no place for one.
    pub store: Option<PathBuf>,
    pub store_options: StoreOptions,
    pub registry: RegistryOptions,
    pub pull_policy: PullPolicy,
    /// Is notified of pulls.
    pub pulls: Arc<dyn PullObserver>,
    /// What the store may keep. If given, the store is collected after a pull.
    pub collect: Option<CollectLimits>,
    pub levels: LevelChoice,
    pub policy: ImagePolicy,
    pub mounts: Vec<Mount>,
    /// `uid:gid`; the user `nobody` of the image if not given.
    pub user: Option<String>,
    /// Variables of every function, after the image's and before its own.
    pub variables: Vec<(String, String)>,
    /// The environment of this program: functions get the variables that they ask for by name.
    pub environment: Vec<(OsString, OsString)>,
    /// Where to make private directories.
    pub temporary: PathBuf,
}

/// Which levels of isolation to use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LevelChoice {
    /// The strongest that works. An image that none can run is left to the next evaluator.
    #[default]
    Any,
    /// Namespaces, with their own `/proc` or the outer one.
    Namespaces,
    /// The program in place, confined like an executable.
    Landlock,
}

impl Default for ImageOptions {
    fn default() -> ImageOptions {
        ImageOptions {
            store: None,
            store_options: StoreOptions::default(),
            registry: RegistryOptions::default(),
            pull_policy: PullPolicy::default(),
            pulls: Arc::new(()),
            collect: None,
            levels: LevelChoice::default(),
            policy: ImagePolicy::default(),
            mounts: Vec::new(),
            user: None,
            variables: Vec::new(),
            environment: Vec::new(),
            temporary: PathBuf::from("/tmp"),
        }
    }
}

/// Is notified of pulls.
pub trait PullObserver: Send + Sync {
    /// What receives the progress of a pull. It is dropped when the pull ends.
    fn begin(&self, _image: &str) -> Arc<dyn PullProgress> {
        Arc::new(())
    }

    /// The registry is not available, and the image of an earlier pull is used.
    fn offline(&self, _image: &str, _error: &RegistryError) {}

    /// The store was collected.
    fn collected(&self, _outcome: Result<Collected, StoreError>) {}
}

impl PullObserver for () {}
