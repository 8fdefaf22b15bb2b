//! The options of the pod evaluator.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kiln_oci::Proxies;

use crate::config::function_config::LocalExecutors;
use crate::connection::address::AddressMode;
use crate::images::ImageResolver;

/// The options of the pod evaluator: the flags of a function runner.
#[derive(Clone)]
pub struct PodOptions {
    /// How to find the API server.
    pub cluster: ClusterSource,
    /// Proxies for an API server outside the cluster; `proxy-url` in a kubeconfig takes precedence.
    pub proxies: Proxies,
    /// The name of this replica; unique, also across restarts.
    pub replica: String,
    pub namespace: String,
    /// The runner's own namespace. Defaults to the namespace of its service account or kubeconfig, then to
    /// `porch-system`.
    pub own_namespace: Option<String>,
    /// The image that contains the wrapper server.
    pub wrapper_image: String,
    /// Maximum size of a message in bytes.
    pub max_message_size: usize,
    /// The prefix of short image names.
    pub default_image_prefix: String,
    /// How long a pod without calls is kept.
    pub pod_ttl: Duration,
    /// How often expired pods are looked for.
    pub scan_interval: Duration,
    /// Number of calls of a pod at which another pod is created.
    pub max_waitlist: NonZeroUsize,
    /// Maximum number of pods per image.
    pub max_pods: NonZeroUsize,
    /// Time limit for a pod to become ready.
    pub start_timeout: Duration,
    /// Duration of the replica's lease.
    pub lease_period: Duration,
    /// Which address of a pod is called.
    pub address_mode: AddressMode,
    /// The ConfigMap with templates, in the runner's own namespace.
    pub template: Option<String>,
    pub cache_config: Option<PathBuf>,
    /// Whether to create pods for listed images before the first request.
    pub warm_up: bool,
    /// The secret for images that are not public.
    pub pull_secret: Option<PullSecret>,
    /// Resolves image references.
    pub images: Arc<dyn ImageResolver>,
    /// Runs functions without a pod as FunctionConfigs request.
    pub local_executors: Arc<dyn LocalExecutors>,
    /// Returns the trace context of a call as headers for the pod. It is called in the span of the call.
    pub trace_context: Option<TraceContext>,
}

/// Returns headers: names and values.
pub type TraceContext = fn() -> Vec<(&'static str, String)>;

/// How to find the API server.
#[derive(Clone)]
pub enum ClusterSource {
    /// As controller-runtime does: the file that `KUBECONFIG` names, the service account, or the user's kubeconfig.
    Infer,
    /// The path of a kubeconfig file.
    Kubeconfig(PathBuf),
    Client(kube::Client),
}

/// A secret that pods pull their images with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PullSecret {
    /// The Docker config file that the secret is a copy of.
    pub path: PathBuf,
    /// The name of the secret in the namespace of pods.
    pub name: String,
}
