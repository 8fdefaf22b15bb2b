//! How images run: by kiln itself, from its store, or by a container engine.

use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use kiln_container::{CommandStyle, ContainerEvaluator, ContainerOptions, Engine};
use kiln_image::{ImageEvaluator, ImageOptions, LevelChoice, PullObserver};
use kiln_oci::PullPolicy;
use kiln_runtime::{Evaluator, Mount};

use super::registry_tags::registry_options;
use crate::compat::Compat;
use crate::environment::{KILN_IMAGE_RUNTIME, KRM_FN_RUNTIME};
use crate::image_store::store_directory;
use crate::real_program::search_path_without_links;

#[derive(Args, Debug)]
pub(crate) struct ImageRuntimeFlags {
    /// How to run images: auto, namespaces, landlock, docker, podman or nerdctl [env: KILN_IMAGE_RUNTIME]
    #[arg(long, value_name = "RUNTIME", value_parser = ImageRuntime::from_str)]
    image_runtime: Option<ImageRuntime>,
}

/// How images run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ImageRuntime {
    /// By the strongest level of isolation that works here, or else by an engine.
    Auto,
    /// In namespaces.
    Namespaces,
    /// In place, confined by Landlock.
    Landlock,
    /// By a container engine.
    Engine(Engine),
}

impl FromStr for ImageRuntime {
    type Err = String;

    fn from_str(text: &str) -> Result<ImageRuntime, String> {
        match text {
            "auto" => Ok(ImageRuntime::Auto),
            "namespaces" => Ok(ImageRuntime::Namespaces),
            "landlock" => Ok(ImageRuntime::Landlock),
            "docker" | "podman" | "nerdctl" => Engine::parse(text)
                .map(ImageRuntime::Engine)
                .map_err(|error| error.to_string()),
            _ => Err(
                "must be one of: auto, namespaces, landlock, docker, podman, nerdctl".to_owned(),
            ),
        }
    }
}

/// Settings of images that commands have in common.
pub(crate) struct ImageSettings {
    pub(crate) pull_policy: PullPolicy,
    pub(crate) mounts: Vec<Mount>,
    /// `uid:gid`. Default: the user `nobody`.
    pub(crate) user: Option<String>,
    /// The command line of engines.
    pub(crate) style: CommandStyle,
    /// Variables of every image.
    pub(crate) variables: Vec<(String, String)>,
    /// Is notified of pulls.
    pub(crate) pulls: Arc<dyn PullObserver>,
}

/// The evaluators of images. Those that are not in use are not in the chain.
pub(crate) struct ImageEvaluators {
    pub(crate) image: Option<Arc<ImageEvaluator>>,
    pub(crate) container: Arc<ContainerEvaluator>,
    is_engine_used: bool,
}

impl ImageRuntimeFlags {
    /// The evaluators that the flag, or else the environment, selects.
    pub(crate) fn check(&self, compat: Compat, settings: ImageSettings) -> Result<ImageEvaluators> {
        let selected_engine = std::env::var(KRM_FN_RUNTIME).unwrap_or_default();
        let runtime = self.runtime()?;
        let (levels, engine, is_engine_used) = match runtime {
            Some(ImageRuntime::Namespaces) => {
                (Some(LevelChoice::Namespaces), selected_engine, false)
            }
            Some(ImageRuntime::Landlock) => (Some(LevelChoice::Landlock), selected_engine, false),
            Some(ImageRuntime::Engine(engine)) => (None, engine.program().to_owned(), true),
            Some(ImageRuntime::Auto) => (Some(LevelChoice::Any), selected_engine, true),
            // The engine that the user has selected, and kpt's choice.
            None if !selected_engine.is_empty() || compat != Compat::Kiln => {
                (None, selected_engine, true)
            }
            None => (Some(LevelChoice::Any), String::new(), true),
        };
        let image = levels.map(|levels| image_evaluator(levels, &settings));
        Ok(ImageEvaluators {
            image: image.transpose()?.map(Arc::new),
            container: Arc::new(ContainerEvaluator::new(ContainerOptions {
                engine,
                // Called by the name of an engine, kiln would call itself.
                search_path: search_path_without_links(&Engine::ALL.map(Engine::program)),
                style: settings.style,
                pull_policy: settings.pull_policy,
                mounts: settings.mounts,
                user: settings.user,
            })),
            is_engine_used,
        })
    }

    fn runtime(&self) -> Result<Option<ImageRuntime>> {
        match self.image_runtime {
            Some(runtime) => Ok(Some(runtime)),
            None => runtime_of_environment(),
        }
    }
}

fn runtime_of_environment() -> Result<Option<ImageRuntime>> {
    match std::env::var(KILN_IMAGE_RUNTIME) {
        Ok(text) if !text.is_empty() => text
            .parse()
            .map(Some)
            .map_err(|reason: String| anyhow!("{KILN_IMAGE_RUNTIME} {text:?} {reason}")),
        _ => Ok(None),
    }
}

/// The evaluator of images from the store, whichever engine kpt is set to use; `None` if the environment selects an
/// engine for all images.
pub(crate) fn image_evaluator_without_engine(
    settings: &ImageSettings,
) -> Result<Option<ImageEvaluator>> {
    let levels = match runtime_of_environment()? {
        None | Some(ImageRuntime::Auto) => LevelChoice::Any,
        Some(ImageRuntime::Namespaces) => LevelChoice::Namespaces,
        Some(ImageRuntime::Landlock) => LevelChoice::Landlock,
        Some(ImageRuntime::Engine(_)) => return Ok(None),
    };
    image_evaluator(levels, settings).map(Some)
}

impl ImageEvaluators {
    /// The evaluator of images from the store, for the chain.
    pub(crate) fn image(&self) -> Option<Arc<dyn Evaluator>> {
        let image = self.image.clone()?;
        Some(image)
    }

    /// The evaluator of the engine, for the chain.
    pub(crate) fn container(&self) -> Option<Arc<dyn Evaluator>> {
        match self.is_engine_used {
            true => Some(Arc::<ContainerEvaluator>::clone(&self.container)),
            false => None,
        }
    }
}

fn image_evaluator(levels: LevelChoice, settings: &ImageSettings) -> Result<ImageEvaluator> {
    let registry = registry_options().context("cannot use the proxies of the environment")?;
    Ok(ImageEvaluator::new(ImageOptions {
        store: Some(store_directory()),
        registry,
        pull_policy: settings.pull_policy,
        levels,
        mounts: settings.mounts.clone(),
        user: settings.user.clone(),
        variables: settings.variables.clone(),
        pulls: Arc::clone(&settings.pulls),
        environment: std::env::vars_os().collect(),
        temporary: std::env::temp_dir(),
        ..ImageOptions::default()
    }))
}
