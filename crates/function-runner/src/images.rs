//! The evaluator of images that run without a pod.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use anyhow::Result;
use kiln_go::error_chain;
use kiln_image::{ImageEvaluator, ImageOptions, PullObserver};
use kiln_oci::RegistryError;
use kiln_runtime::Evaluator;
use kiln_sandbox::{ImagePolicy, SandboxLimits};
use kiln_store::{Collected, PullProgress, StoreError};

use crate::config::RunnerConfig;
use crate::environment::Environment;
use crate::registry;

/// The evaluator of images, and the attempt to use namespaces, which runs while the server starts.
pub(crate) struct PreparedImages {
    pub(crate) evaluator: Arc<dyn Evaluator>,
    pub(crate) probe: NamespaceProbe,
}

/// Prepares the evaluator of images; `None` if it is disabled or there is no place for images.
pub(crate) fn prepare(
    config: &RunnerConfig,
    environment: &Environment,
) -> Result<Option<PreparedImages>> {
    if !config.evaluators.image {
        return Ok(None);
    }
    let Some(store) = config.image.store.clone() else {
        tracing::info!("the image evaluator is disabled: neither --image-store nor HOME is set");
        return Ok(None);
    };
    let default = SandboxLimits::default();
    let memory = config
        .memory
        .and_then(|memory| u64::try_from(memory.get()).ok());
    let registry = registry::options(config, environment)?;
    let evaluator = Arc::new(ImageEvaluator::new(ImageOptions {
        store: Some(store.clone()),
        registry,
        pull_policy: config.image.pull_policy,
        policy: ImagePolicy {
            limits: SandboxLimits {
                memory: memory.unwrap_or(default.memory),
                ..default
            },
            ..ImagePolicy::default()
        },
        pulls: Arc::new(LoggedPulls),
        collect: Some(config.image.collect.clone()),
        environment: environment.variables.clone(),
        temporary: environment.temporary.clone(),
        ..ImageOptions::default()
    }));
    Ok(Some(PreparedImages {
        probe: NamespaceProbe::start(Arc::clone(&evaluator), store),
        evaluator,
    }))
}

/// Tries namespaces once and logs the result. Dropping it waits, so that no directory of the attempt is left behind.
pub(crate) struct NamespaceProbe(Option<JoinHandle<()>>);

impl NamespaceProbe {
    /// On a thread, because the server need not wait for it.
    fn start(evaluator: Arc<ImageEvaluator>, store: PathBuf) -> NamespaceProbe {
        let thread = Builder::new().name("namespace-probe".to_owned());
        let started = thread.spawn(move || match evaluator.probe_namespaces() {
            Ok(()) => tracing::info!("images run in namespaces, from {}", store.display()),
            Err(error) => tracing::info!(
                "images without a pod are limited to static programs, from {}: {}",
                store.display(),
                error_chain(&*error)
            ),
        });
        // Without a thread, the first image shows what works.
        NamespaceProbe(started.ok())
    }
}

impl Drop for NamespaceProbe {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            thread.join().ok();
        }
    }
}

/// Logs pulls and collections of the store.
struct LoggedPulls;

impl PullObserver for LoggedPulls {
    fn begin(&self, image: &str) -> Arc<dyn PullProgress> {
        tracing::info!("pulling image {image}");
        Arc::new(())
    }

    fn offline(&self, image: &str, error: &RegistryError) {
        let error = error_chain(error);
        tracing::warn!("using the cached image {image}: {error}");
    }

    fn collected(&self, outcome: Result<Collected, StoreError>) {
        match outcome {
            Ok(collected) => {
                for digest in &collected.images {
                    tracing::info!("removed image {digest} from the store");
                }
            }
            Err(error) => {
                tracing::warn!("cannot collect the image store: {}", error_chain(&error));
            }
        }
    }
}
