//! What is wanted of the pods of an image: flags, files and objects of the cluster put together.
//!
//! A FunctionConfig goes before the file of `--pod-cache-config`, and that before flags. Plans are made once per image and
//! kept until something changes: a request costs a look into a table.

mod templates;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use kiln_krm::image::with_prefix;

use crate::cache_config::CacheEntry;
use crate::function_config::{FunctionConfig, PodConfig};
use crate::objects::{PodSettings, settings_version};
use crate::overrides::{ContainerOverrides, Overrides};
use crate::state::{ImageKey, Plan, Settings, Version};
use crate::template::Templates;
pub(crate) use templates::{TemplateBook, TemplateSource};

/// Images of this registry are public, as Porch has it.
const PUBLIC_REGISTRY: &str = "gcr.io/kpt-fn/";

/// What plans are made of.
pub(crate) struct Plans {
    pub(crate) defaults: Settings,
    pub(crate) settings: PodSettings,
    pub(crate) default_prefix: String,
    /// The secret for images that are not public.
    pub(crate) pull_secret: Option<String>,
    pub(crate) templates: TemplateBook,
    cache: HashMap<String, CacheEntry>,
    configs: BTreeMap<String, FunctionConfig>,
    digests: HashMap<ImageKey, Arc<str>>,
    made: HashMap<ImageKey, Arc<Plan>>,
}

/// What a pod is made of.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    pub(crate) templates: Arc<Templates>,
    pub(crate) overrides: Overrides,
    pub(crate) pull_secret: Option<String>,
    /// What its version says of all that.
    pub(crate) version: Arc<str>,
}

impl Plans {
    pub(crate) fn new(
        defaults: Settings,
        settings: PodSettings,
        default_prefix: String,
        pull_secret: Option<String>,
        templates: TemplateBook,
    ) -> Plans {
        Plans {
            defaults,
            settings,
            default_prefix,
            pull_secret,
            templates,
            cache: HashMap::new(),
            configs: BTreeMap::new(),
            digests: HashMap::new(),
            made: HashMap::new(),
        }
    }

    /// The plan for an image.
    pub(crate) fn plan(&mut self, image: &ImageKey) -> Arc<Plan> {
        if let Some(plan) = self.made.get(image) {
            return Arc::clone(plan);
        }
        let plan = Arc::new(self.make(image));
        self.made.insert(image.clone(), Arc::clone(&plan));
        plan
    }

    /// What a pod of an image is made of now; the error says why none can be.
    pub(crate) fn recipe(&self, image: &str) -> Result<Recipe, String> {
        let templates = self.templates.current()?;
        let config = self.config(image);
        let overrides = config.overrides;
        let pull_secret = self.pull_secret_for(image).map(str::to_owned);
        let version = self.version(&templates, &overrides, pull_secret.as_deref());
        Ok(Recipe {
            templates,
            overrides,
            pull_secret,
            version,
        })
    }

    /// The file of `--pod-cache-config` as it is now.
    pub(crate) fn set_cache(&mut self, entries: &[CacheEntry]) {
        let resolved = |entry: &CacheEntry| {
            (
                with_prefix(&self.default_prefix, &entry.image),
                entry.clone(),
            )
        };
        self.cache = entries.iter().map(resolved).collect();
    }

    /// The FunctionConfigs as they are now.
    pub(crate) fn set_configs(&mut self, configs: Vec<FunctionConfig>) {
        self.configs = configs
            .into_iter()
            .map(|config| (config.metadata.name.clone(), config))
            .collect();
    }

    /// A FunctionConfig as it is now.
    pub(crate) fn set_config(&mut self, config: FunctionConfig) {
        match config.metadata.deletion_timestamp {
            Some(_) => self.remove_config(&config.metadata.name),
            None => drop(self.configs.insert(config.metadata.name.clone(), config)),
        }
    }

    pub(crate) fn remove_config(&mut self, name: &str) {
        self.configs.remove(name);
    }

    /// The FunctionConfigs in force, by name.
    pub(crate) fn configs(&self) -> impl Iterator<Item = &FunctionConfig> {
        self.configs.values()
    }

    /// What an image's reference stands for. True if that is news.
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

    /// The plans that differ from those that were made before. What nobody has any use for is forgotten.
    pub(crate) fn renew(&mut self, used: &[ImageKey]) -> Vec<(ImageKey, Arc<Plan>)> {
        let is_used: HashSet<&ImageKey> = used.iter().collect();
        self.digests.retain(|image, _| is_used.contains(image));
        let before = std::mem::take(&mut self.made);
        let differing = used.iter().filter_map(|image| {
            let plan = self.plan(image);
            let is_same = before.get(image).is_some_and(|before| *before == plan);
            (!is_same).then(|| (image.clone(), plan))
        });
        differing.collect()
    }

    /// The images that pods are made for before anybody asks, and what is set for each of them.
    pub(crate) fn listed(&self) -> BTreeMap<ImageKey, PodConfig> {
        let configs = self.configs.values();
        let of_objects = configs.filter_map(|config| {
            let executor = config.spec.pod_executor.as_ref()?;
            // One pod a function, as Porch has it: the first tag under the first prefix.
            let tag = executor.tags.first().filter(|_| config.check().is_ok())?;
            let prefix = config.spec.prefixes.first();
            let prefix = prefix.filter(|prefix| !prefix.is_empty());
            let prefix = prefix.unwrap_or(&self.default_prefix).trim_end_matches('/');
            Some(format!("{prefix}/{}:{tag}", config.spec.image))
        });
        let images = of_objects.chain(self.cache.keys().cloned());
        let listed = images.map(|image| {
            let config = self.config(&image);
            (ImageKey::new(image), config)
        });
        listed.collect()
    }

    fn make(&self, image: &ImageKey) -> Plan {
        let config = self.config(image.as_str());
        let entry = &config.entry;
        let non_zero = |given: Option<usize>, default| {
            given
                .and_then(|number| number.try_into().ok())
                .unwrap_or(default)
        };
        let settings = Settings {
            ttl: entry.time_to_live.unwrap_or(self.defaults.ttl),
            max_waitlist: non_zero(entry.max_waitlist_length, self.defaults.max_waitlist),
            max_pods: non_zero(entry.max_parallel_pods, self.defaults.max_pods),
            start_timeout: self.defaults.start_timeout,
        };
        // Without templates no pod can be made, and it does not matter which version it has not.
        let version = self.recipe(image.as_str()).map(|recipe| recipe.version);
        Plan {
            settings,
            version: Version {
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

    /// What is set for an image.
    fn config(&self, image: &str) -> PodConfig {
        let of_objects = self.configs.values().find_map(|config| {
            let executor = config.for_image(image, &self.default_prefix)?;
            executor.config(image).ok()
        });
        if let Some(config) = of_objects {
            return config;
        }
        let Some(entry) = self.cache.get(image) else {
            return PodConfig::nothing(image);
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

/// What a pod is made of besides its image, in one text.
pub(crate) fn version_text(template: &str, settings: &str) -> Arc<str> {
    format!("{template}/{settings}").into()
}

#[cfg(test)]
mod tests;
