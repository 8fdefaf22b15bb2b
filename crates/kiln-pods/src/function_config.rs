//! FunctionConfig objects: settings per function, kept in the cluster.
//!
//! They are Porch's (`config.porch.kpt.dev/v1alpha1`). What this program has seen of one it writes into its status, and
//! a finalizer keeps the object until the settings are out of force.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::cache_config::{CacheEntry, duration, positive};
use crate::overrides::Overrides;

/// The group of Porch's configuration.
pub const GROUP: &str = "config.porch.kpt.dev";

/// Our finalizer on FunctionConfigs.
pub const FINALIZER: &str = "config.porch.kpt.dev/functionconfig-function-runner";

/// A FunctionConfig, as far as this program goes.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct FunctionConfig {
    /// Who it is.
    pub metadata: Metadata,
    /// What is to be.
    #[serde(default)]
    pub spec: Spec,
    /// What has been seen.
    #[serde(default)]
    pub status: Status,
}

/// Who an object is.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// Its name.
    pub name: String,
    /// Which version of its spec it has.
    pub generation: i64,
    /// Which version of everything it has.
    pub resource_version: String,
    /// Since when it is to go.
    pub deletion_timestamp: Option<String>,
    /// Whom it waits for before it goes.
    pub finalizers: Vec<String>,
}

/// What a FunctionConfig asks for.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spec {
    /// The function's name, without prefix and tag.
    pub image: String,
    /// The prefixes under which it is meant; "" is the default prefix, none means any.
    pub prefixes: Vec<String>,
    /// How pods run it.
    pub pod_executor: Option<PodExecutor>,
    /// The program that runs it.
    pub binary_executor: Option<BinaryExecutor>,
    /// The function that is built in.
    pub go_executor: Option<GoExecutor>,
}

/// How pods run a function.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodExecutor {
    /// The tags that are meant; none means all.
    pub tags: Vec<String>,
    /// How long pods live unused, as Go writes it.
    pub time_to_live: Option<String>,
    /// How many pods there may be.
    pub max_parallel_executions: Option<i64>,
    /// How many evaluations a pod has before another is made.
    pub preferred_max_queue_length: Option<i64>,
    /// What replaces parts of the template.
    pub template_overrides: Option<Overrides>,
}

/// The program that runs a function.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct BinaryExecutor {
    /// The tags that it runs.
    pub tags: Vec<String>,
    /// Where it is, by itself or below the directory of functions.
    pub path: String,
}

/// The function that is built in.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct GoExecutor {
    /// What it is called; as the image if not given.
    pub id: Option<String>,
    /// The tags that it runs.
    pub tags: Vec<String>,
}

/// What has been seen of a FunctionConfig.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// By function runners.
    pub function_runner_observed_generation: i64,
    /// What is wrong with it.
    pub error: String,
}

/// What is in force for an image.
#[derive(Clone, PartialEq, Debug)]
pub struct PodConfig {
    /// How long pods live and how many there are; its image is the function's name.
    pub entry: CacheEntry,
    /// What replaces parts of the template.
    pub overrides: Overrides,
}

impl FunctionConfig {
    /// What pods of an image get of it; none if it does not mean that image. `default_prefix` stands for "".
    pub fn for_image(&self, image: &str, default_prefix: &str) -> Option<&PodExecutor> {
        let executor = self.spec.pod_executor.as_ref()?;
        let reference = kiln_krm::image::normalize(image).ok()?;
        let tag = reference.tag.as_deref().unwrap_or_default();
        let tag_is_meant =
            executor.tags.is_empty() || executor.tags.iter().any(|meant| meant == tag);
        (tag_is_meant && self.means_name(image, default_prefix)).then_some(executor)
    }

    /// Where the program is that runs an image; none if it says nothing of that.
    pub fn program_for(&self, image: &str, default_prefix: &str) -> Option<&str> {
        let executor = self.spec.binary_executor.as_ref()?;
        self.tag_of(image, default_prefix, &executor.tags)?;
        Some(executor.path.as_str()).filter(|path| !path.is_empty())
    }

    /// The built-in function that runs an image, as name and version; none if it says nothing of that.
    pub fn builtin_for(&self, image: &str, default_prefix: &str) -> Option<(&str, &str)> {
        let executor = self.spec.go_executor.as_ref()?;
        let tag = self.tag_of(image, default_prefix, &executor.tags)?;
        Some((self.builtin_name()?, tag))
    }

    /// What the function is called that is built in for it.
    pub fn builtin_name(&self) -> Option<&str> {
        let executor = self.spec.go_executor.as_ref()?;
        let id = executor.id.as_deref().filter(|id| !id.is_empty());
        Some(id.unwrap_or(&self.spec.image))
    }

    /// The tag of an image that is meant and has one of these tags. A digest stands for one image and no other, so nothing
    /// is put in its place.
    fn tag_of<'a>(&self, image: &str, default_prefix: &str, tags: &'a [String]) -> Option<&'a str> {
        let reference = kiln_krm::image::normalize(image).ok()?;
        let is_by_tag = reference.digest.is_none() && self.means_name(image, default_prefix);
        let given = reference.tag.filter(|_| is_by_tag)?;
        let tag = tags.iter().find(|tag| **tag == given)?;
        Some(tag)
    }

    fn means_name(&self, image: &str, default_prefix: &str) -> bool {
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

    /// What is wrong with it, if anything is.
    pub fn check(&self) -> Result<(), String> {
        if self.spec.image.is_empty() {
            return Err("spec.image is empty".to_owned());
        }
        let empty = |what: &str| Err(format!("spec.{what} is empty"));
        match &self.spec.binary_executor {
            Some(executor) if executor.tags.is_empty() => return empty("binaryExecutor.tags"),
            Some(executor) if executor.path.is_empty() => return empty("binaryExecutor.path"),
            _ => (),
        }
        match &self.spec.go_executor {
            Some(executor) if executor.tags.is_empty() => return empty("goExecutor.tags"),
            _ => (),
        }
        match &self.spec.pod_executor {
            Some(executor) => executor.config(&self.spec.image).map(drop),
            None => Ok(()),
        }
    }

    /// The change that adds our finalizer; none if it has it or is to go.
    pub fn with_finalizer(&self) -> Option<Value> {
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

    /// The change that takes our finalizer away; none if it need not.
    pub fn without_finalizer(&self) -> Option<Value> {
        let mut finalizers = self.metadata.finalizers.clone();
        finalizers.retain(|found| found != FINALIZER);
        let has_it = finalizers.len() < self.metadata.finalizers.len();
        (has_it && self.metadata.deletion_timestamp.is_some())
            .then(|| self.finalizers_patch(&finalizers))
    }

    /// The change of its status that says what was seen; none if that is said already. A `complaint` is about something that
    /// cannot be done here, while the rest of it is in force.
    pub fn status_patch(&self, complaint: Option<String>) -> Option<Value> {
        let (error, seen) = match self.check() {
            Ok(()) => (complaint.unwrap_or_default(), self.metadata.generation),
            Err(error) => (error, self.status.function_runner_observed_generation),
        };
        let is_said =
            self.status.error == error && self.status.function_runner_observed_generation == seen;
        // A field that is not there is the empty one.
        let error = if error.is_empty() {
            Value::Null
        } else {
            error.into()
        };
        (!is_said)
            .then(|| json!({"status": {"functionRunnerObservedGeneration": seen, "error": error}}))
    }

    /// Whoever changed it meanwhile keeps their change: the version must still be the one that was seen.
    fn finalizers_patch(&self, finalizers: &[String]) -> Value {
        json!({"metadata": {
            "finalizers": finalizers,
            "resourceVersion": self.metadata.resource_version,
        }})
    }
}

impl PodConfig {
    /// Nothing is set: everything is as the flags have it.
    pub(crate) fn nothing(image: &str) -> PodConfig {
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
    /// What it means; the error says what is wrong.
    pub fn config(&self, image: &str) -> Result<PodConfig, String> {
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

/// What is before an image's name, and the name without tag and digest.
fn split_name(image: &str) -> (&str, &str) {
    let (prefix, last) = image.rsplit_once('/').unwrap_or(("", image));
    let name = last.split(['@', ':']).next().unwrap_or_default();
    (prefix, name)
}

#[cfg(test)]
mod tests;
