//! The specs of pod pools, combined from flags, files and objects of the cluster.
//!
//! A FunctionConfig takes precedence over the pod cache config file, and the file over flags. Specs are cached per
//! image until something changes, so a request costs one map lookup.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use kiln_krm::image::with_prefix;

use crate::config::cache_config::CacheEntry;
use crate::config::current_templates::CurrentTemplates;
use crate::config::function_config::{FunctionConfig, PodConfig, is_one_tag};
use crate::config::overrides::{ContainerOverrides, Overrides};
use crate::config::template::Templates;
use crate::kube::objects::{PodSettings, settings_version};
use crate::pool::{ImageKey, PodVersion, PoolSettings, PoolSpec};

/// Images of this registry are public, as in Porch.
const PUBLIC_REGISTRY: &str = "gcr.io/kpt-fn/";

/// The sources of specs, and a cache of the results.
pub(crate) struct PoolSpecs {
    pub(crate) defaults: PoolSettings,
    pub(crate) settings: PodSettings,
    pub(crate) default_prefix: String,
    /// The secret for images that are not public.
    pub(crate) pull_secret: Option<String>,
    pub(crate) templates: CurrentTemplates,
    cache: HashMap<String, CacheEntry>,
    configs: BTreeMap<String, FunctionConfig>,
    digests: HashMap<ImageKey, Arc<str>>,
    cached: HashMap<ImageKey, Arc<PoolSpec>>,
}

/// Everything besides the image that a pod is made of.
#[derive(Clone, Debug)]
pub(crate) struct EffectiveTemplate {
    pub(crate) templates: Arc<Templates>,
    pub(crate) overrides: Overrides,
    pub(crate) pull_secret: Option<String>,
    /// Identifies the combination of template and settings.
    pub(crate) version: Arc<str>,
}

impl PoolSpecs {
    pub(crate) fn new(
        defaults: PoolSettings,
        settings: PodSettings,
        default_prefix: String,
        pull_secret: Option<String>,
        templates: CurrentTemplates,
    ) -> PoolSpecs {
        PoolSpecs {
            defaults,
            settings,
            default_prefix,
            pull_secret,
            templates,
            cache: HashMap::new(),
            configs: BTreeMap::new(),
            digests: HashMap::new(),
            cached: HashMap::new(),
        }
    }

    pub(crate) fn spec(&mut self, image: &ImageKey) -> Arc<PoolSpec> {
        if let Some(spec) = self.cached.get(image) {
            return Arc::clone(spec);
        }
        let spec = Arc::new(self.make(image));
        self.cached.insert(image.clone(), Arc::clone(&spec));
        spec
    }

    /// The template and settings for a new pod of an image; the error says why no pod can be created.
    pub(crate) fn effective_template(&self, image: &str) -> Result<EffectiveTemplate, String> {
        let templates = self.templates.current()?;
        let config = self.config(image);
        let overrides = config.overrides;
        let pull_secret = self.pull_secret_for(image).map(str::to_owned);
        let version = self.version(&templates, &overrides, pull_secret.as_deref());
        Ok(EffectiveTemplate {
            templates,
            overrides,
            pull_secret,
            version,
        })
    }

    /// Replaces the entries of the pod cache config file.
    pub(crate) fn set_cache(&mut self, entries: &[CacheEntry]) {
        let resolved = |entry: &CacheEntry| {
            (
                with_prefix(&self.default_prefix, &entry.image),
                entry.clone(),
            )
        };
        self.cache = entries.iter().map(resolved).collect();
    }

    /// Replaces all FunctionConfigs.
    pub(crate) fn set_configs(&mut self, configs: Vec<FunctionConfig>) {
        self.configs = configs
            .into_iter()
            .map(|config| (config.metadata.name.clone(), config))
            .collect();
    }

    /// Adds or replaces a FunctionConfig.
    pub(crate) fn set_config(&mut self, config: FunctionConfig) {
        match config.metadata.deletion_timestamp {
            Some(_) => self.remove_config(&config.metadata.name),
            None => drop(self.configs.insert(config.metadata.name.clone(), config)),
        }
    }

    pub(crate) fn remove_config(&mut self, name: &str) {
        self.configs.remove(name);
    }

    /// The FunctionConfigs in force, ordered by name.
    pub(crate) fn configs(&self) -> impl Iterator<Item = &FunctionConfig> {
        self.configs.values()
    }

    /// Sets the digest of an image. Returns whether it has changed.
    pub(crate) fn set_digest(&mut self, image: &ImageKey, digest: &str) -> bool {
        let is_known = self
            .digests
            .get(image)
            .is_some_and(|known| **known == *digest);
        if !is_known {
            self.digests.insert(image.clone(), digest.into());
        }
        !is_known
    }

    /// The specs that have changed since the last call. Forgets images that are not in `used`.
    pub(crate) fn refresh(&mut self, used: &[ImageKey]) -> Vec<(ImageKey, Arc<PoolSpec>)> {
        let is_used: HashSet<&ImageKey> = used.iter().collect();
        self.digests.retain(|image, _| is_used.contains(image));
        let before = std::mem::take(&mut self.cached);
        let differing = used.iter().filter_map(|image| {
            let spec = self.spec(image);
            let is_same = before.get(image).is_some_and(|before| *before == spec);
            (!is_same).then(|| (image.clone(), spec))
        });
        differing.collect()
    }

    /// The images to warm up, with their settings: those that `runs_locally` knows need no pods.
    pub(crate) fn warm_up_images(
        &self,
        runs_locally: impl Fn(&str) -> bool,
    ) -> BTreeMap<ImageKey, PodConfig> {
        let configs = self.configs.values();
        let of_objects = configs.filter_map(|config| {
            let executor = config.spec.pod_executor.as_ref()?;
            // One pod per function, as in Porch: the first tag under the first prefix. A range is not the name of an image.
            let tag = executor.tags.first().filter(|tag| is_one_tag(tag));
            let tag = tag.filter(|_| config.check().is_ok())?;
            let prefix = config.spec.prefixes.first();
            let prefix = prefix.filter(|prefix| !prefix.is_empty());
            let prefix = prefix.unwrap_or(&self.default_prefix).trim_end_matches('/');
            Some(format!("{prefix}/{}:{tag}", config.spec.image))
        });
        let images = of_objects.chain(self.cache.keys().cloned());
        let images = images.filter(|image| !runs_locally(image));
        let warm_up_images = images.map(|image| {
            let config = self.config(&image);
            (ImageKey::new(image), config)
        });
        warm_up_images.collect()
    }

    fn make(&self, image: &ImageKey) -> PoolSpec {
        let config = self.config(image.as_str());
        let entry = &config.entry;
        let non_zero = |given: Option<usize>, default| {
            given
                .and_then(|number| number.try_into().ok())
                .unwrap_or(default)
        };
        let settings = PoolSettings {
            ttl: entry.time_to_live.unwrap_or(self.defaults.ttl),
            max_waitlist: non_zero(entry.max_waitlist_length, self.defaults.max_waitlist),
            max_pods: non_zero(entry.max_parallel_pods, self.defaults.max_pods),
            start_timeout: self.defaults.start_timeout,
        };
        // Without templates no pod can be created, so the version does not matter.
        let version = self
            .effective_template(image.as_str())
            .map(|effective_template| effective_template.version);
        PoolSpec {
            settings,
            version: PodVersion {
                template: version.unwrap_or_default(),
                digest: self.digests.get(image).cloned(),
            },
        }
    }

    fn version(
        &self,
        templates: &Templates,
        overrides: &Overrides,
        pull_secret: Option<&str>,
    ) -> Arc<str> {
        let settings = settings_version(&self.settings, overrides, pull_secret);
        version_text(templates.version(), &settings)
    }

    /// The settings of an image.
    fn config(&self, image: &str) -> PodConfig {
        let of_objects = self.configs.values().find_map(|config| {
            let executor = config.pod_executor_for(image, &self.default_prefix)?;
            executor.config(image).ok()
        });
        if let Some(config) = of_objects {
            return config;
        }
        let Some(entry) = self.cache.get(image) else {
            return PodConfig::empty(image);
        };
        let container = entry.resources.clone().map(|resources| ContainerOverrides {
            resources: Some(resources),
            ..ContainerOverrides::default()
        });
        PodConfig {
            entry: entry.clone(),
            overrides: Overrides {
                container,
                ..Overrides::default()
            },
        }
    }

    fn pull_secret_for(&self, image: &str) -> Option<&str> {
        let is_default = image
            .strip_prefix(self.default_prefix.trim_end_matches('/'))
            .is_some_and(|rest| rest.starts_with('/'));
        let is_public = is_default || image.starts_with(PUBLIC_REGISTRY);
        self.pull_secret.as_deref().filter(|_| !is_public)
    }
}

/// Joins the versions of template and settings.
pub(crate) fn version_text(template: &str, settings: &str) -> Arc<str> {
    format!("{template}/{settings}").into()
}

#[cfg(test)]
mod tests;
