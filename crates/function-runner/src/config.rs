//! The validated configuration of the runner.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use kiln_evaluators::CacheMode;
use kiln_oci::PullPolicy;
use kiln_policy::PolicyPaths;
use kiln_sandbox::SandboxMode;
use kiln_server::{AdmissionOptions, ConnectionOptions, TlsFiles};
use kiln_store::CollectLimits;
use kiln_telemetry::{LogFormat, LogLevel};
use kiln_wasm::{WasmClock, WasmEngine, WasmRandom};

use crate::flags::Flavour;

/// The values of all flags. Nothing has been opened yet.
#[derive(Clone, Debug)]
pub struct RunnerConfig {
    /// Which program this is.
    pub flavour: Flavour,
    /// The address to listen on; all addresses if not given.
    pub address: Option<IpAddr>,
    /// 0 means a free port.
    pub port: u16,
    pub log_level: LogLevel,
    pub log_format: LogFormat,
    pub evaluators: EnabledEvaluators,
    /// The directory with the programs of the exec evaluator.
    pub functions: PathBuf,
    /// The table of the exec evaluator; `None` means no table.
    pub config: Option<PathBuf>,
    /// Whether the file of the table may be missing.
    pub config_is_optional: bool,
    /// The prefix of short image names.
    pub default_image_prefix: String,
    /// How modules run.
    pub wasm: WasmConfig,
    pub max_message_size: usize,
    /// Maximum number of bytes of requests and responses in memory.
    pub max_held_bytes: usize,
    pub connections: ConnectionOptions,
    pub admission: AdmissionOptions,
    /// Time limit of functions.
    pub evaluation_timeout: Option<Duration>,
    /// Time for running calls to finish at shutdown.
    pub drain_timeout: Duration,
    pub tls: Option<TlsFiles>,
    /// Whether the program is to create certificates, because the user has none.
    pub tls_self_signed: bool,
    /// The file with the token that callers must send.
    pub token_file: Option<PathBuf>,
    /// The files with the rules for functions.
    pub policy: PolicyPaths,
    /// Whether programs run in a sandbox; if not given, strict where the system supports it.
    pub sandbox: Option<SandboxMode>,
    /// Whether programs in the sandbox may use the network.
    pub allow_network: bool,
    /// Memory limit of a program in the sandbox, in bytes.
    pub memory: Option<NonZeroUsize>,
    /// Memory limit of a worker of native functions, in bytes; derived from the message size if not given.
    pub native_memory: Option<u64>,
    pub image: ImageConfig,
    /// Which answers of functions are kept, in the directory of images.
    pub cache: CacheMode,
    pub pods: PodConfig,
    /// The status page; `None` means that there is none.
    pub status: Option<StatusConfig>,
    /// All flags, for the status page: name, value and default.
    pub flags: Vec<(&'static str, String, String)>,
    /// Warnings about ignored values, to be logged.
    pub warnings: Vec<String>,
}

/// Settings of the status page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StatusConfig {
    /// Port 0 means a free port.
    pub address: SocketAddr,
    /// Whether the user chose the address. Without that, a port in use is not an error.
    pub is_chosen: bool,
    /// Whether messages of failed calls are kept and shown. They may contain parts of lists.
    pub shows_messages: bool,
}

/// Which evaluators are enabled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EnabledEvaluators {
    pub native: bool,
    pub exec: bool,
    pub image: bool,
    pub wasm: bool,
    pub pod: bool,
}

/// Settings of the WebAssembly evaluator.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WasmConfig {
    pub engine: WasmEngine,
    pub clock: WasmClock,
    pub random: WasmRandom,
    /// The directory for modules and compiled code; `None` means that nothing is stored.
    pub cache: Option<PathBuf>,
    /// Limit of the memory of a call, in bytes.
    pub memory: u64,
}

/// Settings of the evaluator of images without pods.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImageConfig {
    /// The directory of unpacked images; `None` means that there is no place for one.
    pub store: Option<PathBuf>,
    pub pull_policy: PullPolicy,
    /// What the store may keep after a pull.
    pub collect: CollectLimits,
}

/// Settings of the pod evaluator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodConfig {
    /// The kubeconfig file; `None` means the lookup of controller-runtime.
    pub kubeconfig: Option<PathBuf>,
    /// The file with settings per image, and with images to warm up.
    pub cache_config: PathBuf,
    /// Whether to create pods for listed images before the first call.
    pub warm_up: bool,
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
