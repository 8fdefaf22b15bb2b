//! How the driver comes to life: what it is made of, and what it watches.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use super::Driver;
use super::hands::Hands;
use super::house::House;
use super::message::{AnySeen, Message};
use super::sight::{Kind, Sight};
use super::warmth::Warmth;
use crate::api::{Api, Collection, Selector};
use crate::cache_file::CacheFile;
use crate::cluster;
use crate::error::StartError;
use crate::keys::{IMAGE_LABEL, LEASE_LABEL, REPLICA_LABEL};
use crate::lease::Lease;
use crate::names::label_value;
use crate::objects::PodSettings;
use crate::options::Options;
use crate::plans::{Plans, TemplateBook, TemplateSource};
use crate::pull_secret::PullSecretCopy;
use crate::replicas::Replicas;
use crate::state::{Pool, Settings};
use crate::template::{BASE_POD_TEMPLATE, BASE_SERVICE_TEMPLATE};
use crate::watch::{Seen, View, Watch};
use crate::world::World;

/// How long the first look at a cluster is waited for. Probes of a Deployment are not more patient than a multiple of it.
const FIRST_LOOK: Duration = Duration::from_secs(10);

/// A driver that works.
pub(crate) struct Begun {
    pub(crate) to: UnboundedSender<Message>,
    pub(crate) usable: watch::Receiver<bool>,
    pub(crate) tasks: Vec<AbortHandle>,
}

impl Driver {
    /// Begins to work, and waits until what there is has been seen, but not for ever: rights may be granted and API servers
    /// come back, and whoever starts this may be of use without pods.
    pub(crate) async fn start(options: Options) -> Result<Begun, StartError> {
        let (client, own_namespace) = cluster::find(&options).await?;
        let api = Api::new(client);
        let (to, messages) = mpsc::unbounded_channel();
        let (usable, mut is_usable) = watch::channel(false);
        let cache_file = options
            .cache_config
            .as_deref()
            .map(cache_file)
            .transpose()?;
        let me = label_value(&options.replica);
        let template_source = match &options.template {
            Some(name) => TemplateSource::ConfigMap {
                name: name.clone(),
                namespace: own_namespace,
            },
            None => TemplateSource::Objects,
        };
        let (anew, begin_anew) = watch::channel(());
        let watches = Watches {
            api: api.clone(),
            anew: begin_anew,
            to: to.clone(),
            namespace: options.namespace.clone(),
        };
        let mut tasks = Vec::new();
        let kinds = watches.start(&template_source, &mut tasks);
        let lease = Lease::new(api.apart(), &options, &me);
        let hands = Arc::new(hands(
            &options,
            api,
            to.clone(),
            me.clone(),
            &lease,
            cache_file,
        ));
        let renewals = to.clone();
        let renewing = lease.keep(move |outcome| renewals.send(Message::Renewed(outcome)).is_ok());
        tasks.push(tokio::spawn(renewing).abort_handle());
        let driver = Driver {
            // That a lease is over is seen within a third of its period, so that all is done within two.
            pool: Pool::new(options.scan_interval, options.lease_period / 2),
            world: World::new(options.address_mode, &options.namespace, &me),
            replicas: Replicas::new(options.lease_period),
            plans: plans(&options, &hands, template_source),
            sight: Sight::new(kinds),
            house: House::new(options.lease_period, options.scan_interval),
            warmth: Warmth::new(options.warm_up),
            requests: Default::default(),
            losses: Vec::new(),
            connections: Default::default(),
            dials: Default::default(),
            creations: Default::default(),
            hands,
            jobs: JoinSet::new(),
            usable,
            anew,
            ending: None,
            began: Instant::now(),
        };
        tasks.push(tokio::spawn(driver.run(messages)).abort_handle());
        let look = is_usable.wait_for(|usable| *usable);
        if tokio::time::timeout(FIRST_LOOK, look).await.is_err() {
            tracing::warn!(
                "functions cannot be run in pods yet: what there is in namespace {:?} could not be seen within {} seconds; \
                 they will be as soon as it can",
                options.namespace,
                FIRST_LOOK.as_secs()
            );
        }
        Ok(Begun {
            to,
            usable: is_usable,
            tasks,
        })
    }
}

fn hands(
    options: &Options,
    api: Api,
    to: UnboundedSender<Message>,
    me: String,
    lease: &Lease,
    cache_file: Option<CacheFile>,
) -> Hands {
    let namespace = &options.namespace;
    let pull_secret = options.pull_secret.as_ref();
    Hands {
        api,
        to,
        me,
        settings: PodSettings {
            namespace: namespace.clone(),
            wrapper_image: options.wrapper_image.clone(),
            max_message_size: options.max_message_size,
        },
        images: Arc::clone(&options.images),
        local: Arc::clone(&options.local),
        said: Default::default(),
        pull_secret: pull_secret
            .map(|secret| PullSecretCopy::new(secret.path.clone(), secret.name.clone(), namespace)),
        cache_file: cache_file.map(Arc::new),
        pods: Collection::pods(namespace),
        services: Collection::services(namespace),
        leases: Collection::leases(namespace),
        configs: Collection::function_configs(namespace),
        lease: lease.name().to_owned(),
    }
}

fn plans(options: &Options, hands: &Hands, template_source: TemplateSource) -> Plans {
    let defaults = Settings {
        ttl: options.pod_ttl,
        max_waitlist: options.max_waitlist,
        max_pods: options.max_pods,
        start_timeout: options.start_timeout,
    };
    let mut plans = Plans::new(
        defaults,
        hands.settings.clone(),
        options.default_image_prefix.clone(),
        options
            .pull_secret
            .as_ref()
            .map(|secret| secret.name.clone()),
        TemplateBook::new(template_source),
    );
    if let Some(file) = &hands.cache_file {
        plans.set_cache(&file.entries());
    }
    plans
}

struct Watches {
    api: Api,
    anew: watch::Receiver<()>,
    to: UnboundedSender<Message>,
    namespace: String,
}

impl Watches {
    /// Watches everything, and says what that is.
    fn start(&self, templates: &TemplateSource, tasks: &mut Vec<AbortHandle>) -> Vec<Kind> {
        let namespace = &self.namespace;
        let ours = || Selector::labels(format!("{IMAGE_LABEL},{REPLICA_LABEL}"));
        let mut kinds = vec![
            Kind::Pods,
            Kind::Services,
            Kind::Slices,
            Kind::Leases,
            Kind::Configs,
            Kind::OwnLease,
        ];
        tasks.extend([
            self.watch(Collection::pods(namespace), ours(), AnySeen::Pods),
            self.watch(Collection::services(namespace), ours(), AnySeen::Services),
            self.watch(
                Collection::endpoint_slices(namespace),
                ours(),
                AnySeen::Slices,
            ),
            self.watch(
                Collection::leases(namespace),
                Selector::labels(LEASE_LABEL),
                AnySeen::Leases,
            ),
            self.watch(
                Collection::function_configs(namespace),
                Selector::default(),
                AnySeen::Configs,
            ),
        ]);
        match templates {
            TemplateSource::ConfigMap { name, namespace } => {
                kinds.push(Kind::ConfigMap);
                let maps = Collection::config_maps(namespace);
                tasks.push(self.watch(maps, Selector::name(name), AnySeen::ConfigMap));
            }
            TemplateSource::Objects => {
                kinds.extend([Kind::PodTemplate, Kind::ServiceTemplate]);
                let pods = Collection::pod_templates(namespace);
                let services = Collection::service_templates(namespace);
                tasks.extend([
                    self.watch(
                        pods,
                        Selector::name(BASE_POD_TEMPLATE),
                        AnySeen::PodTemplate,
                    ),
                    self.watch(
                        services,
                        Selector::name(BASE_SERVICE_TEMPLATE),
                        AnySeen::ServiceTemplate,
                    ),
                ]);
            }
        }
        kinds
    }

    fn watch<T>(
        &self,
        collection: Collection,
        selector: Selector,
        seen: impl Fn(Seen<T>) -> AnySeen + Send + Sync + 'static,
    ) -> AbortHandle
    where
        T: View + DeserializeOwned + Clone + Send + 'static,
    {
        let watch = Watch {
            api: self.api.clone(),
            collection,
            selector,
            anew: self.anew.clone(),
        };
        let message = move |what| Message::Seen(Box::new(seen(what)));
        tokio::spawn(watch.run(self.to.clone(), message)).abort_handle()
    }
}

fn cache_file(path: &Path) -> Result<CacheFile, StartError> {
    CacheFile::load(path).map_err(|reason| StartError::CacheConfig {
        path: path.display().to_string(),
        reason,
    })
}
