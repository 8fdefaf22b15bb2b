//! What the runner is told, checked.

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use kiln_sandbox::SandboxMode;
use kiln_server::{AdmissionOptions, ConnectionOptions, TlsFiles};
use kiln_telemetry::{LogFormat, LogLevel};

/// Everything that flags say. Nothing has been opened yet.
#[derive(Clone, Debug)]
pub struct Config {
    /// The addresses to listen on; all there are if not given.
    pub address: Option<IpAddr>,
    /// The port; one that is free if 0.
    pub port: u16,
    /// How much is logged.
    pub log_level: LogLevel,
    /// In which form.
    pub log_format: LogFormat,
    /// Which runtimes are on.
    pub runtimes: Runtimes,
    /// Where the programs of the exec runtime are.
    pub functions: PathBuf,
    /// The table of the exec runtime; none if the runtime works without one.
    pub config: Option<PathBuf>,
    /// Whether the exec runtime works without a table if the file is missing.
    pub config_is_optional: bool,
    /// What short names of images begin with.
    pub default_image_prefix: String,
    /// How large messages may be.
    pub max_message_size: usize,
    /// How many bytes of requests and answers may be in memory.
    pub max_held_bytes: usize,
    /// How many connections there may be, and how slow they may be.
    pub connections: ConnectionOptions,
    /// How much runs at once.
    pub admission: AdmissionOptions,
    /// How long a function has at most.
    pub evaluation_timeout: Option<Duration>,
    /// How long running calls have at the end.
    pub drain_timeout: Duration,
    /// Certificates.
    pub tls: Option<TlsFiles>,
    /// The file with the token that callers have to show.
    pub token_file: Option<PathBuf>,
    /// Whether programs run in a sandbox; strict where the system can if not given.
    pub sandbox: Option<SandboxMode>,
    /// Whether programs in the sandbox may use the network.
    pub allow_network: bool,
    /// How much memory a program in the sandbox may have.
    pub memory: Option<NonZeroUsize>,
    /// How much memory a worker of native functions may have, in bytes; by the size of messages if not given.
    pub native_memory: Option<u64>,
    /// What the pod runtime is told.
    pub pods: Pods,
    /// Values that were given and are not used, to be logged.
    pub warnings: Vec<String>,
}

/// Which runtimes are on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Runtimes {
    /// Functions that are built in.
    pub native: bool,
    /// Programs of this machine.
    pub exec: bool,
    /// Pods of a cluster.
    pub pod: bool,
}

/// What the pod runtime is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pods {
    /// The file that names the cluster; found as controller-runtime finds it if not given.
    pub kubeconfig: Option<PathBuf>,
    /// Settings by image, and which to start with.
    pub cache_config: PathBuf,
    /// Whether to start pods before they are needed.
    pub warm_up: bool,
    /// Where pods are.
    pub namespace: String,
    /// How long a pod stays without work.
    pub ttl: Duration,
    /// How often to look for pods to end.
    pub scan_interval: Duration,
    /// The name of the template's ConfigMap; none for the one that is built in.
    pub template: Option<String>,
    /// How many calls wait for a pod before another is started.
    pub max_waitlist_length: NonZeroUsize,
    /// How many pods a function may have.
    pub max_parallel_pods: NonZeroUsize,
    /// Whether registries may want credentials.
    pub private_registries: bool,
    /// Where the credentials are.
    pub registry_auth_path: PathBuf,
    /// What their secret is called.
    pub registry_auth_name: String,
    /// Whether registries have certificates of their own.
    pub private_registries_tls: bool,
    /// Where these are.
    pub tls_secret_path: PathBuf,
    /// How pods are called.
    pub address_mode: AddressMode,
    /// After how long without a sign of life a runner's pods go to others.
    pub lease_period: Duration,
    /// The image that puts the wrapper into pods.
    pub wrapper_server_image: Option<String>,
}

/// How pods are called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddressMode {
    /// By the name of their service.
    Dns,
    /// By its address.
    ClusterIp,
    /// By their own address.
    PodIp,
}
