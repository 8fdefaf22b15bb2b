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
    /// Settings of the pod evaluator.
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

/// Settings of the pod evaluator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pods {
    /// The kubeconfig file; `None` means the lookup of controller-runtime.
    pub kubeconfig: Option<PathBuf>,
    /// The file with settings per image, and with images to warm up.
    pub cache_config: PathBuf,
    /// Whether to create pods for listed images before the first call.
    pub warm_up: bool,
    /// The namespace of pods.
    pub namespace: String,
    /// How long a pod without calls is kept.
    pub ttl: Duration,
    /// How often to look for expired pods.
    pub scan_interval: Duration,
    /// The name of the ConfigMap with templates; `None` means Porch's objects or the built-in templates.
    pub template: Option<String>,
    /// Number of calls of a pod at which another pod is created.
    pub max_waitlist_length: NonZeroUsize,
    /// Maximum number of pods per function and replica.
    pub max_parallel_pods: NonZeroUsize,
    /// Whether registries outside the catalog need credentials.
    pub private_registries: bool,
    /// The Docker config file with the credentials.
    pub registry_auth_path: PathBuf,
    /// The name of the secret that pods pull images with.
    pub registry_auth_name: String,
    /// Whether registries need additional CA certificates.
    pub private_registries_tls: bool,
    /// The directory with these certificates.
    pub tls_secret_path: PathBuf,
    /// Which address of a pod is called.
    #[cfg(feature = "pods")]
    pub address_mode: kiln_pods::AddressMode,
    /// How long the lease of a replica is valid without renewal.
    pub lease_period: Duration,
    /// The image that contains the wrapper server.
    pub wrapper_server_image: Option<String>,
}
