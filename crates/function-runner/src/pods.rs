//! The pod evaluator of this program, configured by its flags.

mod config_objects;

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use config_objects::ConfigObjects;
use function_runner::{AddressMode, Config, Environment, Listed, PodRuntime, StartingPods};
use kiln_oci::{CacheOptions, ImageCache, Keychain, Proxies, RegistryClient, RegistryOptions};
use kiln_pods::{
    ClusterSource, LocalExecutors, PodCall, PodError, PodEvaluator, PodOptions, PodStartError,
    PullSecret, RegistryResolver,
};
use kiln_server::{ForwardError, ForwardedCall, Forwarder, Forwarding};
use tokio::sync::watch;
use tonic::metadata::{MetadataMap, MetadataValue};

/// Time limit for a new pod to become ready.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Number of pod scans after which a tag is resolved again.
const SCANS_PER_TAG: u32 = 5;

/// Registry of the older catalog; it is public, like the default one.
const OLDER_CATALOG: &str = "gcr.io/kpt-fn";

/// Starts the pod evaluator; see [`function_runner::StartPods`].
pub(crate) fn start<'a>(config: &'a Config, environment: &'a Environment) -> StartingPods<'a> {
    Box::pin(async move {
        let objects = Arc::new(ConfigObjects::new(config));
        let options = options(config, environment, Arc::<ConfigObjects>::clone(&objects))?;
        let evaluator = PodEvaluator::start(options).await.map_err(start_error)?;
        let pods: Arc<dyn PodRuntime> = Arc::new(Pods { evaluator, objects });
        Ok(pods)
    })
}

fn start_error(error: PodStartError) -> anyhow::Error {
    let hint = "start the pod runtime (--disable-runtimes=pod turns it off)";
    anyhow::Error::new(error).context(hint)
}

struct Pods {
    evaluator: PodEvaluator,
    objects: Arc<ConfigObjects>,
}

impl Forwarder for Pods {
    fn forward(&self, call: ForwardedCall) -> Forwarding<'_> {
        Box::pin(async move {
            let call = PodCall {
                image: call.image,
                resource_list: call.resource_list,
                deadline: call.deadline,
                metadata: trace(),
            };
            self.evaluator.evaluate(call).await.map_err(forward_error)
        })
    }

    fn usable(&self) -> watch::Receiver<bool> {
        self.evaluator.usable()
    }
}

impl PodRuntime for Pods {
    fn listed(&self) -> Arc<dyn Listed> {
        Arc::<ConfigObjects>::clone(&self.objects)
    }

    fn shut_down(
        &self,
        patience: Duration,
    ) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.evaluator.shut_down(patience))
    }
}

/// The trace context of the call, as request metadata for the pod.
fn trace() -> MetadataMap {
    let mut metadata = MetadataMap::new();
    for (name, value) in kiln_telemetry::outgoing_context() {
        if let Ok(value) = MetadataValue::try_from(value) {
            metadata.insert(name, value);
        }
    }
    metadata
}

fn forward_error(error: PodError) -> ForwardError {
    match error {
        PodError::Status(status) => ForwardError::Answered(status),
        PodError::ImageNotFound { .. } => ForwardError::NotFound(error.to_string()),
        PodError::NoPod { .. } | PodError::Interrupted { .. } => {
            ForwardError::Unavailable(error.to_string())
        }
        PodError::TimedOut { .. } => {
            let status = tonic::Status::deadline_exceeded(error.to_string());
            ForwardError::Answered(Box::new(status))
        }
        PodError::Draining => ForwardError::Ending,
    }
}

fn options(
    config: &Config,
    environment: &Environment,
    local_executors: Arc<dyn LocalExecutors>,
) -> Result<PodOptions> {
    let pods = &config.pods;
    let pull_secret = pods.private_registries.then(|| PullSecret {
        path: pods.registry_auth_path.clone(),
        name: pods.registry_auth_name.clone(),
    });
    let wrapper_image = pods.wrapper_server_image.clone();
    let variable = |name: &str| Some(environment.get(name)?.to_string_lossy().into_owned());
    let proxies = Proxies::from_variables(variable)?;
    Ok(PodOptions {
        cluster: match &pods.kubeconfig {
            Some(path) => ClusterSource::Kubeconfig(path.clone()),
            None => ClusterSource::Infer,
        },
        proxies: proxies.clone(),
        replica: replica(environment),
        namespace: pods.namespace.clone(),
        own_namespace: None,
        wrapper_image: wrapper_image.context("the wrapper has an image")?,
        max_message_size: config.max_message_size,
        default_image_prefix: config.default_image_prefix.clone(),
        pod_ttl: pods.ttl,
        scan_interval: pods.scan_interval,
        max_waitlist: pods.max_waitlist_length,
        max_pods: pods.max_parallel_pods,
        start_timeout: START_TIMEOUT,
        lease_period: pods.lease_period,
        address_mode: match pods.address_mode {
            AddressMode::Dns => kiln_pods::AddressMode::Dns,
            AddressMode::ClusterIp => kiln_pods::AddressMode::ClusterIp,
            AddressMode::PodIp => kiln_pods::AddressMode::PodIp,
        },
        template: pods.template.clone(),
        cache_config: Some(pods.cache_config.clone()),
        warm_up: pods.warm_up,
        pull_secret,
        images: Arc::new(RegistryResolver::new(images(config, environment, proxies))),
        local_executors,
    })
}

/// Registry credentials: public images use the local Docker keychain, all other images the configured secret.
fn images(config: &Config, environment: &Environment, proxies: Proxies) -> ImageCache {
    let pods = &config.pods;
    let variable = |name: &str| environment.get(name).cloned();
    let docker = Keychain::docker(variable("DOCKER_CONFIG"), variable("HOME"));
    let keychain = match pods.private_registries {
        true => {
            let public = [OLDER_CATALOG, config.default_image_prefix.as_str()];
            let public = public.map(|prefix| (prefix.to_owned(), docker.clone()));
            let private = Keychain::file(pods.registry_auth_path.clone());
            Keychain::routed(public.to_vec(), private)
        }
        false => docker,
    };
    let authority = pods.private_registries_tls;
    let registry = RegistryClient::new(RegistryOptions {
        keychain,
        proxies,
        ca_directory: authority.then(|| pods.tls_secret_path.clone()),
        ..RegistryOptions::default()
    });
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
