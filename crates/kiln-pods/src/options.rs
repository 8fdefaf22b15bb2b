//! How pods are to be run.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kiln_oci::Proxies;

use crate::address::AddressMode;
use crate::images::Images;
use crate::local::LocalExecutors;

/// How pods are to be run: the flags of a function runner.
#[derive(Clone)]
pub struct Options {
    /// How the API server is found.
    pub cluster: Cluster,
    /// By way of whom an API server elsewhere is asked; a kubeconfig that names a proxy goes before.
    pub proxies: Proxies,
    /// A name that no other replica has, not even the one that was here before.
    pub replica: String,
    /// The namespace of pods.
    pub namespace: String,
    /// The runner's own namespace; if not given that of its service account or kubeconfig, `porch-system` where none is.
    pub own_namespace: Option<String>,
    /// The image that has the wrapper.
    pub wrapper_image: String,
    /// How large messages may be, in bytes.
    pub max_message_size: usize,
    /// What stands before short names.
    pub default_image_prefix: String,
    /// How long a pod stays without work.
    pub pod_ttl: Duration,
    /// How often pods are looked through.
    pub scan_interval: Duration,
    /// How many evaluations a pod has before another is started.
    pub max_waitlist: NonZeroUsize,
    /// How many pods of one image there may be.
    pub max_pods: NonZeroUsize,
    /// How long a pod may take to become ready.
    pub start_timeout: Duration,
    /// How long a replica lives that does not renew its lease.
    pub lease_period: Duration,
    /// How pods are called.
    pub address_mode: AddressMode,
    /// The ConfigMap with templates, in the runner's own namespace.
    pub template: Option<String>,
    /// The file with settings per image.
    pub cache_config: Option<PathBuf>,
    /// Whether pods are made for the images that it lists.
    pub warm_up: bool,
    /// The secret for images that are not public.
    pub pull_secret: Option<PullSecret>,
    /// What knows images.
    pub images: Arc<dyn Images>,
    /// Who runs functions besides pods.
    pub local: Arc<dyn LocalExecutors>,
}

/// How the API server is found.
#[derive(Clone)]
pub enum Cluster {
    /// As controller-runtime finds it: a file that the environment names, the service account, or the user's own file.
    Infer,
    /// A file.
    Kubeconfig(PathBuf),
    /// A client that is there.
    Client(kube::Client),
}

/// A secret that pods pull their images with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PullSecret {
    /// The file that it is kept equal to, in Docker's form.
    pub path: PathBuf,
    /// Its name in the namespace of pods.
    pub name: String,
}
