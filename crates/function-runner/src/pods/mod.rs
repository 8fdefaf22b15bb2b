//! The pod evaluator of this program, configured by its flags.

mod function_configs;
mod status;

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use function_configs::ClusterFunctionConfigs;
use kiln_oci::{CacheOptions, ImageCache, RegistryClient, RegistryOptions};
use kiln_pods::{
    ClusterSource, LocalExecutors, PodEvaluator, PodOptions, PodStartError, PullSecret,
    RegistryResolver,
};

use crate::config::RunnerConfig;
use crate::environment::Environment;
use crate::registry;
use crate::started_pods::StartedPods;

/// Time limit for a new pod to become ready.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Number of pod scans after which a tag is resolved again.
const SCANS_PER_TAG: u32 = 5;

/// Connects to the cluster and starts the pod evaluator.
pub(crate) async fn start(config: &RunnerConfig, environment: &Environment) -> Result<StartedPods> {
    let configs = Arc::new(ClusterFunctionConfigs::new(config));
    let options = options(
        config,
        environment,
        Arc::<ClusterFunctionConfigs>::clone(&configs),
    )?;
    let evaluator = PodEvaluator::start(options).await.map_err(start_error)?;
    Ok(StartedPods {
        status: status::source(evaluator.clone()),
        evaluator: Arc::new(evaluator.clone()),
        function_configs: configs,
        usable: evaluator.usable(),
        shut_down: Box::new(|timeout| Box::pin(async move { evaluator.shut_down(timeout).await })),
    })
}

fn start_error(error: PodStartError) -> anyhow::Error {
    let hint = "start the pod evaluator (--disable-runtimes=pod disables it)";
    anyhow::Error::new(error).context(hint)
}

fn options(
    config: &RunnerConfig,
    environment: &Environment,
    local_executors: Arc<dyn LocalExecutors>,
) -> Result<PodOptions> {
    let pods = &config.pods;
    let pull_secret = pods.private_registries.then(|| PullSecret {
        path: pods.registry_auth_path.clone(),
        name: pods.registry_auth_name.clone(),
    });
    let wrapper_image = pods.wrapper_server_image.clone();
    let registry = registry::options(config, environment)?;
    Ok(PodOptions {
        cluster: match &pods.kubeconfig {
            Some(path) => ClusterSource::Kubeconfig(path.clone()),
            None => ClusterSource::Infer,
        },
        proxies: registry.proxies.clone(),
        replica: replica(environment),
        namespace: pods.namespace.clone(),
        own_namespace: None,
        wrapper_image: wrapper_image.context("the image of the wrapper is missing")?,
        max_message_size: config.max_message_size,
        default_image_prefix: config.default_image_prefix.clone(),
        pod_ttl: pods.ttl,
        scan_interval: pods.scan_interval,
        max_waitlist: pods.max_waitlist_length,
        max_pods: pods.max_parallel_pods,
        start_timeout: START_TIMEOUT,
        lease_period: pods.lease_period,
        address_mode: pods.address_mode,
        template: pods.template.clone(),
        cache_config: Some(pods.cache_config.clone()),
        warm_up: pods.warm_up,
        pull_secret,
        images: Arc::new(RegistryResolver::new(images(config, registry))),
        local_executors,
        trace_context: Some(kiln_telemetry::outgoing_context),
    })
}

/// Images, by their references.
fn images(config: &RunnerConfig, registry: RegistryOptions) -> ImageCache {
    let pods = &config.pods;
    let registry = RegistryClient::new(registry);
    let default = CacheOptions::default();
    let refresh_age = pods.scan_interval.saturating_mul(SCANS_PER_TAG);
    let options = CacheOptions {
        refresh_age: refresh_age.min(default.refresh_age),
        ..default
    };
    ImageCache::new(registry, options)
}

/// A name that is unique across restarts: pods of a runner that was killed are adopted like those of any other replica.
fn replica(environment: &Environment) -> String {
    let host = ["POD_NAME", "HOSTNAME"]
        .iter()
        .find_map(|name| environment.get(name));
    let host = host.map_or_else(
        || "function-runner".into(),
        |host| host.to_string_lossy().into_owned(),
    );
    let once = RandomState::new().hash_one(std::process::id());
    format!("{host}-{:08x}", once & 0xffff_ffff)
}
