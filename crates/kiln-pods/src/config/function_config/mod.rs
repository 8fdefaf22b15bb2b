//! FunctionConfig objects: settings per function in the cluster.
//!
//! The kind is Porch's (`config.porch.kpt.dev/v1alpha1`). This program writes the observed generation and errors to the
//! status, and a finalizer keeps the object until its settings are no longer in force.

mod tags;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::config::cache_config::{CacheEntry, duration, positive};
use crate::config::overrides::Overrides;
pub(crate) use tags::is_one_tag;
pub use tags::tag_matches;
use tags::{one_matches, tag_of};

/// The API group of Porch's configuration.
pub(crate) const GROUP: &str = "config.porch.kpt.dev";

/// The finalizer of function runners on FunctionConfigs.
pub(crate) const FINALIZER: &str = "config.porch.kpt.dev/functionconfig-function-runner";

/// A FunctionConfig; fields that this program does not use are left out.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct FunctionConfig {
    pub(crate) metadata: FunctionConfigMeta,
    #[serde(default)]
    pub spec: FunctionConfigSpec,
    #[serde(default)]
    pub(crate) status: FunctionConfigStatus,
}

/// The part of the object metadata that this program uses.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct FunctionConfigMeta {
    pub(crate) name: String,
    pub(crate) generation: i64,
    pub(crate) resource_version: String,
    pub(crate) deletion_timestamp: Option<String>,
    pub(crate) finalizers: Vec<String>,
}

/// The spec of a FunctionConfig.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FunctionConfigSpec {
    /// The function's name, without prefix and tag.
    pub image: String,
    /// The image prefixes that the settings apply to; "" is the default prefix, an empty list means any prefix.
    pub prefixes: Vec<String>,
    pub(crate) pod_executor: Option<PodExecutor>,
    /// A program that runs the function.
    pub binary_executor: Option<BinaryExecutor>,
    /// A built-in function.
    pub go_executor: Option<GoExecutor>,
}

/// Settings for the pods of a function.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodExecutor {
    /// Constraints on the tags that the settings apply to; `*` means all tags, empty none.
    pub(crate) tags: Vec<String>,
    /// How long a pod without calls is kept, in Go's syntax.
    pub(crate) time_to_live: Option<String>,
    /// Maximum number of pods.
    pub(crate) max_parallel_executions: Option<i64>,
    /// Number of calls of a pod at which another pod is created.
    pub(crate) preferred_max_queue_length: Option<i64>,
    pub(crate) template_overrides: Option<Overrides>,
}

/// A program that runs a function.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct BinaryExecutor {
    /// Constraints on the tags that the program runs.
    pub tags: Vec<String>,
    /// An absolute path, or one relative to the directory of functions.
    pub path: String,
}

/// A built-in function.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct GoExecutor {
    /// The name of the built-in function; defaults to the image name.
    pub id: Option<String>,
    /// Constraints on the tags that the built-in function runs.
    pub tags: Vec<String>,
}

/// The status of a FunctionConfig.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct FunctionConfigStatus {
    pub(crate) function_runner_observed_generation: i64,
    /// Why the configuration is invalid or not supported.
    pub(crate) error: String,
}

/// The settings in force for the pods of an image.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PodConfig {
    /// Time to live and limits.
    pub(crate) entry: CacheEntry,
    /// Replaces parts of the pod template.
    pub(crate) overrides: Overrides,
}

impl FunctionConfig {
    /// The pod settings if they apply to `image`. `default_prefix` stands for "".
    pub(crate) fn pod_executor_for(
        &self,
        image: &str,
        default_prefix: &str,
    ) -> Option<&PodExecutor> {
        let executor = self.spec.pod_executor.as_ref()?;
        let reference = kiln_krm::image::normalize(image).ok()?;
        let matches = self.matches_name(image, default_prefix)
            && one_matches(&executor.tags, tag_of(&reference));
        matches.then_some(executor)
    }

    /// The path of the program that runs `image`, if there is one.
    pub fn program_for(&self, image: &str, default_prefix: &str) -> Option<&str> {
        let executor = self.spec.binary_executor.as_ref()?;
        self.matching_tag(image, default_prefix, &executor.tags)?;
        Some(executor.path.as_str()).filter(|path| !path.is_empty())
    }

    /// The built-in function that runs `image`, as name and version, if there is one.
    pub fn builtin_for(&self, image: &str, default_prefix: &str) -> Option<(&str, String)> {
        let executor = self.spec.go_executor.as_ref()?;
        let tag = self.matching_tag(image, default_prefix, &executor.tags)?;
        Some((self.builtin_name()?, tag))
    }

    /// The name of the built-in function.
    pub fn builtin_name(&self) -> Option<&str> {
        let executor = self.spec.go_executor.as_ref()?;
        let id = executor.id.as_deref().filter(|id| !id.is_empty());
        Some(id.unwrap_or(&self.spec.image))
    }

    /// The tag of `image` if the name matches and a constraint matches the tag. A digest identifies one image exactly, so
    /// it is never replaced.
    fn matching_tag(
        &self,
        image: &str,
        default_prefix: &str,
        constraints: &[String],
    ) -> Option<String> {
        let reference = kiln_krm::image::normalize(image).ok()?;
        let is_by_tag = reference.digest.is_none() && self.matches_name(image, default_prefix);
        let tag = tag_of(&reference).filter(|_| is_by_tag)?;
        one_matches(constraints, Some(tag)).then(|| tag.to_owned())
    }

    fn matches_name(&self, image: &str, default_prefix: &str) -> bool {
        let (prefix, name) = split_name(image);
        let mut prefixes = self.spec.prefixes.iter().map(|meant| match meant.as_str() {
            "" => default_prefix,
            meant => meant,
        });
        let is_below = |meant: &str| {
            let rest = prefix.strip_prefix(meant.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        name == self.spec.image && (self.spec.prefixes.is_empty() || prefixes.any(is_below))
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        if self.spec.image.is_empty() {
            return Err("spec.image is empty".to_owned());
        }
        let program = self.spec.binary_executor.as_ref();
        if program.is_some_and(|executor| executor.path.is_empty()) {
            return Err("spec.binaryExecutor.path is empty".to_owned());
        }
        match &self.spec.pod_executor {
            Some(executor) => executor.config(&self.spec.image).map(drop),
            None => Ok(()),
        }
    }

    /// A patch that adds the finalizer; `None` if it is present or the object is being deleted.
    pub(crate) fn with_finalizer(&self) -> Option<Value> {
        let has_it = self
            .metadata
            .finalizers
            .iter()
            .any(|found| found == FINALIZER);
        if has_it || self.metadata.deletion_timestamp.is_some() {
            return None;
        }
        let mut finalizers = self.metadata.finalizers.clone();
        finalizers.push(FINALIZER.to_owned());
        Some(self.finalizers_patch(&finalizers))
    }

    /// A patch that removes the finalizer; `None` if there is nothing to remove.
    pub(crate) fn without_finalizer(&self) -> Option<Value> {
        let mut finalizers = self.metadata.finalizers.clone();
        finalizers.retain(|found| found != FINALIZER);
        let has_it = finalizers.len() < self.metadata.finalizers.len();
        (has_it && self.metadata.deletion_timestamp.is_some())
            .then(|| self.finalizers_patch(&finalizers))
    }

    /// A patch of the status; `None` if it is up to date. `unsupported` names settings that this process does not
    /// support while the others are in force.
    pub(crate) fn status_patch(&self, unsupported: Option<String>) -> Option<Value> {
        let (error, observed) = match self.check() {
            Ok(()) => (unsupported.unwrap_or_default(), self.metadata.generation),
            Err(error) => (error, self.status.function_runner_observed_generation),
        };
        let is_current = self.status.error == error
            && self.status.function_runner_observed_generation == observed;
        // A null removes the field.
        let error = if error.is_empty() {
            Value::Null
        } else {
            error.into()
        };
        (!is_current).then(
            || json!({"status": {"functionRunnerObservedGeneration": observed, "error": error}}),
        )
    }

    /// The resource version makes the patch fail if the object has changed in the meantime.
    fn finalizers_patch(&self, finalizers: &[String]) -> Value {
        json!({"metadata": {
            "finalizers": finalizers,
            "resourceVersion": self.metadata.resource_version,
        }})
    }
}

impl PodConfig {
    /// No settings: the flags apply.
    pub(crate) fn empty(image: &str) -> PodConfig {
        PodConfig {
            entry: CacheEntry {
                image: image.to_owned(),
                time_to_live: None,
                max_waitlist_length: None,
                max_parallel_pods: None,
                resources: None,
            },
            overrides: Overrides::default(),
        }
    }
}

impl PodExecutor {
    /// Parses the settings; the error names the invalid field.
    pub(crate) fn config(&self, image: &str) -> Result<PodConfig, String> {
        let time_to_live = match self.time_to_live.as_deref() {
            None | Some("") => None,
            Some(text) => Some(
                duration(text)
                    .map_err(|reason| format!("spec.podExecutor.timeToLive: {reason}"))?,
            ),
        };
        Ok(PodConfig {
            entry: CacheEntry {
                image: image.to_owned(),
                time_to_live,
                max_waitlist_length: positive(self.preferred_max_queue_length),
                max_parallel_pods: positive(self.max_parallel_executions),
                resources: None,
            },
            overrides: self.template_overrides.clone().unwrap_or_default(),
        })
    }
}

/// Splits an image into prefix and name, without tag and digest.
fn split_name(image: &str) -> (&str, &str) {
    let (prefix, last) = image.rsplit_once('/').unwrap_or(("", image));
    let name = last.split(['@', ':']).next().unwrap_or_default();
    (prefix, name)
}

/// Runs functions without a pod, as FunctionConfigs request.
///
/// This crate watches FunctionConfigs but has neither programs nor built-in functions; the implementation has them.
pub trait LocalExecutors: Send + Sync {
    /// Replaces the FunctionConfigs in force, ordered by name.
    fn set(&self, configs: Vec<FunctionConfig>);

    /// The settings of a FunctionConfig that are not supported here; `None` if all are supported.
    fn unsupported(&self, config: &FunctionConfig) -> Option<String>;

    /// Whether an image, given by its full name, runs without a pod.
    fn runs(&self, image: &str) -> bool;
}

/// Supports pods only.
pub struct NoLocalExecutors;

impl LocalExecutors for NoLocalExecutors {
    fn set(&self, _configs: Vec<FunctionConfig>) {}

    fn unsupported(&self, config: &FunctionConfig) -> Option<String> {
        let spec = &config.spec;
        let unsupported = [
            spec.binary_executor.as_ref().map(|_| "spec.binaryExecutor"),
            spec.go_executor.as_ref().map(|_| "spec.goExecutor"),
        ];
        let unsupported = unsupported.into_iter().flatten().collect::<Vec<_>>();
        (!unsupported.is_empty()).then(|| format!("{}: not available here", unsupported.join(", ")))
    }

    fn runs(&self, _image: &str) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
