//! Starts the driver and its watches.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::Driver;
use super::cluster_writer::ClusterWriter;
use super::controller::PodController;
use super::maintenance::Maintenance;
use super::message::{AnyUpdate, Message};
use super::tasks::DriverTasks;
use super::warm_up::WarmUp;
use super::watch_health::{WatchHealth, WatchedKind};
use crate::config::cache_file::CacheFile;
use crate::config::current_templates::{CurrentTemplates, TemplateSource};
use crate::config::pool_specs::PoolSpecs;
use crate::config::template::{BASE_POD_TEMPLATE, BASE_SERVICE_TEMPLATE};
use crate::error::PodStartError;
use crate::kube::api::{Api, ObjectSelector, ResourceCollection};
use crate::kube::client;
use crate::kube::cluster_view::ClusterView;
use crate::kube::lease::ReplicaLease;
use crate::kube::names::label_value;
use crate::kube::names::{IMAGE_LABEL, LEASE_LABEL, REPLICA_LABEL};
use crate::kube::objects::PodSettings;
use crate::kube::pull_secret::PullSecretSync;
use crate::kube::replicas::ReplicaLeases;
use crate::kube::watch::{ObjectWatch, WatchUpdate, WatchedObject};
use crate::options::PodOptions;
use crate::pool::{PodPools, PoolSettings};

/// How long the start waits for the first complete list of objects. It must be shorter than the probes of a Deployment
/// allow.
const FIRST_SYNC_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) struct StartedDriver {
    pub(crate) messages: UnboundedSender<Message>,
    pub(crate) usable: watch::Receiver<bool>,
    pub(crate) tasks: Vec<AbortHandle>,
}

impl Driver {
    /// Starts the driver and waits for the first complete cluster view, but not forever: permissions may be granted and
    /// API servers may come back later, and the program may be useful without pods.
    pub(crate) async fn start(options: PodOptions) -> Result<StartedDriver, PodStartError> {
        let (client, own_namespace) = client::connect(&options).await?;
        let api = Api::new(client);
        let (to, messages) = mpsc::unbounded_channel();
        let (usable, mut is_usable) = watch::channel(false);
        let cache_file = options
            .cache_config
            .as_deref()
            .map(cache_file)
            .transpose()?;
        let replica = label_value(&options.replica);
        let template_source = match &options.template {
            Some(name) => TemplateSource::ConfigMap {
                name: name.clone(),
                namespace: own_namespace,
            },
            None => TemplateSource::Objects,
        };
        let (restart_watches, watch_restarts) = watch::channel(());
        let watches = WatchStarter {
            api: api.clone(),
            restart_watches: watch_restarts,
            to: to.clone(),
            namespace: options.namespace.clone(),
        };
        let mut tasks = Vec::new();
        let kinds = watches.start(&template_source, &mut tasks);
        let lease = ReplicaLease::new(api.with_own_limit(), &options, &replica);
        let writer = Arc::new(writer(
            &options,
            api,
            to.clone(),
            replica.clone(),
            &lease,
            cache_file,
        ));
        let renewals = to.clone();
        let renewing =
            lease.run(move |outcome| renewals.send(Message::LeaseRenewed(outcome)).is_ok());
        tasks.push(tokio::spawn(renewing).abort_handle());
        let specs = specs(&options, &writer, template_source);
        let controller = PodController::new(
            // An expired lease is noticed within a third of its period, so orphans are handled within two periods.
            PodPools::new(options.scan_interval, options.lease_period / 2),
            ClusterView::new(options.address_mode, &options.namespace, &replica),
            ReplicaLeases::new(options.lease_period),
            replica,
        );
        let driver = Driver {
            controller,
            tasks: DriverTasks::new(specs, writer),
            watch_health: WatchHealth::new(kinds),
            maintenance: Maintenance::new(options.lease_period, options.scan_interval),
            warm_up: WarmUp::new(options.warm_up),
            usable,
            restart_watches,
            drained: None,
            began: Instant::now(),
        };
        tasks.push(tokio::spawn(driver.run(messages)).abort_handle());
        let first_sync = is_usable.wait_for(|usable| *usable);
        if tokio::time::timeout(FIRST_SYNC_TIMEOUT, first_sync)
            .await
            .is_err()
        {
            tracing::warn!(
                "the pod evaluator is not ready: the objects in namespace {:?} could not be listed within {} seconds; \
                 it becomes ready as soon as they can be listed",
                options.namespace,
                FIRST_SYNC_TIMEOUT.as_secs()
            );
        }
        Ok(StartedDriver {
            messages: to,
            usable: is_usable,
            tasks,
        })
    }
}

fn writer(
    options: &PodOptions,
    api: Api,
    to: UnboundedSender<Message>,
    replica: String,
    lease: &ReplicaLease,
    cache_file: Option<CacheFile>,
) -> ClusterWriter {
    let namespace = &options.namespace;
    let pull_secret = options.pull_secret.as_ref();
    ClusterWriter {
        api,
        messages: to,
        replica,
        settings: PodSettings {
            namespace: namespace.clone(),
            wrapper_image: options.wrapper_image.clone(),
            max_message_size: options.max_message_size,
        },
        images: Arc::clone(&options.images),
        local_executors: Arc::clone(&options.local_executors),
        written_status: Default::default(),
        pull_secret: pull_secret
            .map(|secret| PullSecretSync::new(secret.path.clone(), secret.name.clone(), namespace)),
        cache_file: cache_file.map(Arc::new),
        pods: ResourceCollection::pods(namespace),
        services: ResourceCollection::services(namespace),
        leases: ResourceCollection::leases(namespace),
        configs: ResourceCollection::function_configs(namespace),
        lease_name: lease.name().to_owned(),
    }
}

fn specs(
    options: &PodOptions,
    writer: &ClusterWriter,
    template_source: TemplateSource,
) -> PoolSpecs {
    let defaults = PoolSettings {
        ttl: options.pod_ttl,
        max_waitlist: options.max_waitlist,
        max_pods: options.max_pods,
        start_timeout: options.start_timeout,
    };
    let mut specs = PoolSpecs::new(
        defaults,
        writer.settings.clone(),
        options.default_image_prefix.clone(),
        options
            .pull_secret
            .as_ref()
            .map(|secret| secret.name.clone()),
        CurrentTemplates::new(template_source),
    );
    if let Some(file) = &writer.cache_file {
        specs.set_cache(&file.entries());
    }
    specs
}

struct WatchStarter {
    api: Api,
    restart_watches: watch::Receiver<()>,
    to: UnboundedSender<Message>,
    namespace: String,
}

impl WatchStarter {
    /// Starts all watches and returns the watched kinds.
    fn start(&self, templates: &TemplateSource, tasks: &mut Vec<AbortHandle>) -> Vec<WatchedKind> {
        let namespace = &self.namespace;
        let ours = || ObjectSelector::labels(format!("{IMAGE_LABEL},{REPLICA_LABEL}"));
        let mut kinds = vec![
            WatchedKind::Pods,
            WatchedKind::Services,
            WatchedKind::Slices,
            WatchedKind::Leases,
            WatchedKind::Configs,
            WatchedKind::OwnLease,
        ];
        tasks.extend([
            self.watch(ResourceCollection::pods(namespace), ours(), AnyUpdate::Pods),
            self.watch(
                ResourceCollection::services(namespace),
                ours(),
                AnyUpdate::Services,
            ),
            self.watch(
                ResourceCollection::endpoint_slices(namespace),
                ours(),
                AnyUpdate::Slices,
            ),
            self.watch(
                ResourceCollection::leases(namespace),
                ObjectSelector::labels(LEASE_LABEL),
                AnyUpdate::Leases,
            ),
            self.watch(
                ResourceCollection::function_configs(namespace),
                ObjectSelector::default(),
                AnyUpdate::Configs,
            ),
        ]);
        match templates {
            TemplateSource::ConfigMap { name, namespace } => {
                kinds.push(WatchedKind::ConfigMap);
                let maps = ResourceCollection::config_maps(namespace);
                tasks.push(self.watch(maps, ObjectSelector::name(name), AnyUpdate::ConfigMap));
            }
            TemplateSource::Objects => {
                kinds.extend([WatchedKind::PodTemplate, WatchedKind::ServiceTemplate]);
                let pods = ResourceCollection::pod_templates(namespace);
                let services = ResourceCollection::service_templates(namespace);
                tasks.extend([
                    self.watch(
                        pods,
                        ObjectSelector::name(BASE_POD_TEMPLATE),
                        AnyUpdate::PodTemplate,
                    ),
                    self.watch(
                        services,
                        ObjectSelector::name(BASE_SERVICE_TEMPLATE),
                        AnyUpdate::ServiceTemplate,
                    ),
                ]);
            }
        }
        kinds
    }

    fn watch<T>(
        &self,
        collection: ResourceCollection,
        selector: ObjectSelector,
        wrap: impl Fn(WatchUpdate<T>) -> AnyUpdate + Send + Sync + 'static,
    ) -> AbortHandle
    where
        T: WatchedObject + DeserializeOwned + Clone + Send + 'static,
    {
        let watch = ObjectWatch {
            api: self.api.clone(),
            collection,
            selector,
            restart: self.restart_watches.clone(),
        };
        let message = move |update| Message::Watched(Box::new(wrap(update)));
        tokio::spawn(watch.run(self.to.clone(), message)).abort_handle()
    }
}

fn cache_file(path: &Path) -> Result<CacheFile, PodStartError> {
    CacheFile::load(path).map_err(|reason| PodStartError::CacheConfig {
        path: path.display().to_string(),
        reason,
    })
}
