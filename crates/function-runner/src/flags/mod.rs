//! The flags: Go's syntax, the names and defaults of Porch's runner, and our own flags.

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use kiln_evaluators::CacheMode;
use kiln_go::{FlagHelp, FlagSet, GoDuration, Key, Parsed, Stop};
use kiln_krm::image::check_prefix;
use kiln_oci::PullPolicy;
use kiln_proto::DEFAULT_MAX_MESSAGE_SIZE;
use kiln_sandbox::SandboxMode;
use kiln_server::{
    AdmissionOptions, ConnectionOptions, DEFAULT_CONNECTION_IDLE_TIMEOUT, DEFAULT_DRAIN_TIMEOUT,
    DEFAULT_EVALUATION_TIMEOUT, DEFAULT_MAX_HELD_BYTES, DEFAULT_MAX_QUEUE, DEFAULT_REQUEST_TIMEOUT,
    TlsFiles,
};
use kiln_store::CollectLimits;
use kiln_telemetry::LogFormatError;
use kiln_wasm::{DEFAULT_MEMORY, HAS_COMPILER, WasmEngine, WasmFlagError};

use crate::config::{ImageConfig, RunnerConfig, WasmConfig};
use crate::environment::Environment;

mod lenient;
mod pods;
mod status;

use pods::PodFlags;
use status::StatusFlags;

/// Which program the flags are for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flavour {
    /// The replacement of Porch's runner.
    FunctionRunner,
    /// `kiln serve`: for use on one's own machine.
    Serve,
}

impl Flavour {
    /// How the program is called.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Flavour::FunctionRunner => "function-runner",
            Flavour::Serve => "kiln serve",
        }
    }
}

/// The flags of the runner.
pub struct RunnerFlags {
    flavour: Flavour,
    set: FlagSet,
    port: Key<i64>,
    listen_address: Key<String>,
    disable_runtimes: Key<String>,
    log_level: Key<i64>,
    log_format: Key<String>,
    functions: Key<String>,
    config: Key<String>,
    default_image_prefix: Key<String>,
    max_request_body_size: Key<i64>,
    image_store: Key<String>,
    image_pull_policy: Key<String>,
    image_store_size: Key<i64>,
    image_store_age: Key<GoDuration>,
    cache: Key<String>,
    service: ServiceFlags,
    security: SecurityFlags,
    wasm: WasmFlags,
    status: StatusFlags,
    pods: PodFlags,
}

struct WasmFlags {
    engine: Key<String>,
    clock: Key<String>,
    random: Key<String>,
    cache: Key<String>,
    memory: Key<i64>,
}

struct ServiceFlags {
    max_concurrent: Key<i64>,
    max_concurrent_native: Key<i64>,
    max_slow_native: Key<i64>,
    native_memory: Key<i64>,
    max_concurrent_pod_calls: Key<i64>,
    max_queued: Key<i64>,
    max_held_bytes: Key<i64>,
    max_connections: Key<i64>,
    connection_idle_timeout: Key<GoDuration>,
    request_timeout: Key<GoDuration>,
    evaluation_timeout: Key<GoDuration>,
    drain_timeout: Key<GoDuration>,
}

struct SecurityFlags {
    tls_cert: Key<String>,
    tls_key: Key<String>,
    tls_client_ca: Key<String>,
    require_tls: Key<bool>,
    /// Only `kiln serve` has it.
    self_signed: Option<Key<bool>>,
    auth_token_file: Key<String>,
    policy: Key<String>,
    exec_sandbox: Key<String>,
    exec_allow_network: Key<bool>,
    exec_memory: Key<i64>,
}

impl RunnerFlags {
    /// The flags of a program.
    pub fn new(flavour: Flavour) -> RunnerFlags {
        let (listen_address, disabled) = match flavour {
            Flavour::FunctionRunner => ("", ""),
            Flavour::Serve => ("127.0.0.1", "pod"),
        };
        let mut set = FlagSet::new(flavour.program());
        RunnerFlags {
            flavour,
            port: set.add("port", 9445, "The server port"),
            listen_address: set.text(
                "listen-address",
                listen_address,
                "The `IP` address to listen on; all addresses if empty",
            ),
            disable_runtimes: set.text(
                "disable-runtimes",
                disabled,
                "The evaluators to disable, separated by commas: native, exec, wasm, image, pod",
            ),
            log_level: set.add(
                "log-level",
                2,
                "The log level, from 0 (errors and warnings) to 5 (everything)",
            ),
            log_format: set.text(
                "log-format",
                "text",
                "The log format: text, like klog, or json",
            ),
            functions: set.text(
                "functions",
                "./functions",
                "The `directory` with the executables of the exec evaluator",
            ),
            config: set.text(
                "config",
                "./config.yaml",
                "The `file` that maps images to executables of the exec evaluator; none if empty",
            ),
            default_image_prefix: set.text(
                "default-image-prefix",
                "ghcr.io/kptdev/krm-functions-catalog",
                "The prefix of short image names",
            ),
            max_request_body_size: set.add(
                "max-request-body-size",
                DEFAULT_MAX_MESSAGE_SIZE as i64,
                "Maximum size of requests and responses, in `bytes`",
            ),
            image_store: set.text(
                "image-store",
                "",
                "The `directory` of unpacked images of the image evaluator; if empty, KILN_STORE, or kiln/store in the cache directory of the user",
            ),
            image_pull_policy: set.text(
                "image-pull-policy",
                "IfNotPresent",
                "When the image evaluator pulls images: Always, IfNotPresent or Never",
            ),
            image_store_size: set.add(
                "image-store-size",
                i64::try_from(CollectLimits::default().size).unwrap_or(i64::MAX),
                "Size of the image store, in `bytes`, above which a pull removes the images that were used least recently",
            ),
            image_store_age: set.add(
                "image-store-age",
                GoDuration::from(CollectLimits::default().age),
                "Time without use after which a pull removes an image from the image store",
            ),
            cache: set.text(
                "cache",
                "off",
                "Keep answers of functions in WebAssembly, in --image-store, and join equal calls: off, on, images (also those of images) or verify (run anyway, and compare)",
            ),
            service: ServiceFlags::new(&mut set, flavour),
            security: SecurityFlags::new(&mut set, flavour),
            wasm: WasmFlags::new(&mut set),
            status: StatusFlags::new(&mut set, flavour),
            // A command line that works with one program works with the other, but pods need a cluster.
            pods: match flavour {
                Flavour::FunctionRunner => PodFlags::new(&mut set),
                Flavour::Serve => set.hidden(PodFlags::new),
            },
            set,
        }
    }

    /// The names of the flags that the help describes.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.set.names()
    }

    /// The flags that the help describes.
    pub fn help(&self) -> Vec<FlagHelp> {
        self.set.help()
    }

    /// All flags: name, default and description.
    pub fn describe(&self) -> impl Iterator<Item = (&'static str, String, &'static str)> {
        self.set.describe()
    }

    /// Parses a command line without the program's name. On an error the program exits with Go's exit code.
    pub fn parse(
        &self,
        arguments: impl IntoIterator<Item = String>,
        environment: &Environment,
    ) -> Result<RunnerConfig, Stop> {
        let parsed = self.set.parse(arguments)?;
        self.config(&parsed, environment)
            .map_err(|message| self.set.wrong(&message))
    }

    /// At least one message of the allowed size has to fit.
    fn held_bytes(&self, parsed: &Parsed, message_size: usize) -> Result<usize, String> {
        let least = i64::try_from(message_size).unwrap_or(i64::MAX);
        let held = parsed.get(self.service.max_held_bytes);
        match parsed.is_given(self.service.max_held_bytes) {
            true => within("max-held-bytes", held, least, i64::MAX),
            // Porch has no such flag, so large messages must not require it.
            false => within("max-held-bytes", held.max(least), least, i64::MAX),
        }
    }

    fn config(&self, parsed: &Parsed, environment: &Environment) -> Result<RunnerConfig, String> {
        let mut warnings = Vec::new();
        lenient::ignore(parsed.rest(), &mut warnings);
        let table = given(parsed.get(self.config));
        if table.is_none() {
            warnings.push("--config is empty: the exec evaluator has no table".to_owned());
        }
        let address = parsed.get(self.listen_address);
        let address: Option<IpAddr> = match address.as_str() {
            "" => None,
            text => Some(
                text.parse()
                    .map_err(|_| format!("--listen-address {text:?} is not an IP address"))?,
            ),
        };
        let prefix = parsed.get(self.default_image_prefix);
        check_prefix(&prefix).map_err(|error| format!("--default-image-prefix: {error}"))?;
        let functions = PathBuf::from(parsed.get(self.functions));
        let max_message_size =
            lenient::message_size(parsed.get(self.max_request_body_size), &mut warnings);
        Ok(RunnerConfig {
            flavour: self.flavour,
            address,
            port: within("port", parsed.get(self.port), 0, u16::MAX.into())?,
            log_level: lenient::log_level(parsed.get(self.log_level), &mut warnings),
            log_format: parsed
                .get(self.log_format)
                .parse()
                .map_err(|error: LogFormatError| format!("--log-format: {error}"))?,
            evaluators: lenient::enabled_evaluators(
                &parsed.get(self.disable_runtimes),
                &mut warnings,
            ),
            // Without dots in between, as Go makes paths absolute.
            functions: environment.directory.join(functions).components().collect(),
            config: table,
            config_is_optional: !parsed.is_given(self.config),
            default_image_prefix: prefix,
            max_message_size,
            max_held_bytes: self.held_bytes(parsed, max_message_size)?,
            connections: self.service.connections(parsed)?,
            admission: self.service.admission(parsed)?,
            evaluation_timeout: Some(not_negative(
                "evaluation-timeout",
                parsed.get(self.service.evaluation_timeout),
            )?)
            .filter(|timeout| !timeout.is_zero()),
            drain_timeout: not_negative("drain-timeout", parsed.get(self.service.drain_timeout))?,
            tls: self.security.tls(parsed)?,
            tls_self_signed: self.security.is_self_signed(parsed),
            token_file: given(parsed.get(self.security.auth_token_file)),
            policy: environment.policy(given(parsed.get(self.security.policy))),
            sandbox: self.security.sandbox(parsed)?,
            allow_network: parsed.get(self.security.exec_allow_network),
            memory: NonZeroUsize::new(within(
                "exec-memory-limit",
                parsed.get(self.security.exec_memory),
                0,
                i64::MAX,
            )?),
            native_memory: Some(within(
                "native-memory-limit",
                parsed.get(self.service.native_memory),
                0,
                i64::MAX,
            )?)
            .filter(|memory| *memory > 0),
            image: ImageConfig {
                store: given(parsed.get(self.image_store)).or_else(|| environment.image_store()),
                pull_policy: pull_policy(&parsed.get(self.image_pull_policy))?,
                collect: CollectLimits {
                    size: within(
                        "image-store-size",
                        parsed.get(self.image_store_size),
                        0,
                        i64::MAX,
                    )?,
                    age: not_negative("image-store-age", parsed.get(self.image_store_age))?,
                },
            },
            cache: cache_mode(&parsed.get(self.cache))?,
            wasm: self.wasm.config(parsed)?,
            pods: self.pods.config(parsed, environment, &mut warnings)?,
            status: self.status.config(parsed)?,
            flags: self.set.values(parsed),
            warnings,
        })
    }
}

impl ServiceFlags {
    fn new(set: &mut FlagSet, flavour: Flavour) -> ServiceFlags {
        let pod_calls = |set: &mut FlagSet| {
            set.add(
                "max-concurrent-pod-calls",
                0,
                "Maximum number of calls that run in pods or wait for one; 0 means 1024",
            )
        };
        ServiceFlags {
            max_concurrent: set.add(
                "max-concurrent-evaluations",
                0,
                "Maximum number of executables that run at once; 0 means four per core",
            ),
            max_concurrent_native: set.add(
                "max-concurrent-native",
                0,
                "Maximum number of built-in functions that run at once on small lists, and as many on large ones; 0 means one per core",
            ),
            max_slow_native: set.add(
                "max-slow-native",
                0,
                "Maximum number of additional built-in functions that take longer than 100ms; 0 means 16 per core",
            ),
            native_memory: set.add(
                "native-memory-limit",
                0,
                "Memory limit of a worker process of built-in functions, in `bytes`; 0 means 512 MiB or 48 times --max-request-body-size, whichever is more",
            ),
            max_concurrent_pod_calls: match flavour {
                Flavour::FunctionRunner => pod_calls(set),
                Flavour::Serve => set.hidden(pod_calls),
            },
            max_queued: set.add(
                "max-queued-evaluations",
                DEFAULT_MAX_QUEUE as i64,
                "Maximum number of waiting calls; further calls are refused",
            ),
            max_held_bytes: set.add(
                "max-held-bytes",
                DEFAULT_MAX_HELD_BYTES as i64,
                "Maximum number of `bytes` of requests and responses in memory; further calls are refused",
            ),
            max_connections: set.add(
                "max-connections",
                0,
                "Maximum number of connections with calls; 0 means 4096, or half of the limit of open files if that is less",
            ),
            connection_idle_timeout: set.add(
                "connection-idle-timeout",
                GoDuration::from(DEFAULT_CONNECTION_IDLE_TIMEOUT),
                "Time that a connection may stay open without a request",
            ),
            request_timeout: set.add(
                "request-timeout",
                GoDuration::from(DEFAULT_REQUEST_TIMEOUT),
                "Time limit for receiving a request, plus a second for every 64 KiB of it",
            ),
            evaluation_timeout: set.add(
                "evaluation-timeout",
                GoDuration::from(DEFAULT_EVALUATION_TIMEOUT),
                "Time limit of functions, whatever the caller's deadline; 0 means no limit",
            ),
            drain_timeout: set.add(
                "drain-timeout",
                GoDuration::from(DEFAULT_DRAIN_TIMEOUT),
                "Time for running calls to finish at shutdown",
            ),
        }
    }

    fn connections(&self, parsed: &Parsed) -> Result<ConnectionOptions, String> {
        let max = within(
            "max-connections",
            parsed.get(self.max_connections),
            0,
            1_000_000,
        )?;
        let idle_timeout = parsed.get(self.connection_idle_timeout);
        let request_timeout = parsed.get(self.request_timeout);
        Ok(ConnectionOptions {
            max: NonZeroUsize::new(max).unwrap_or(ConnectionOptions::default().max),
            idle_timeout: positive("connection-idle-timeout", idle_timeout)?,
            request_timeout: positive("request-timeout", request_timeout)?,
        })
    }

    fn admission(&self, parsed: &Parsed) -> Result<AdmissionOptions, String> {
        let default = AdmissionOptions::default();
        let count = |name: &str, key: Key<i64>| -> Result<Option<NonZeroUsize>, String> {
            let value = within(name, parsed.get(key), 0, 1_000_000)?;
            Ok(NonZeroUsize::new(value))
        };
        let processes = count("max-concurrent-evaluations", self.max_concurrent)?;
        let native = count("max-concurrent-native", self.max_concurrent_native)?;
        let slow = count("max-slow-native", self.max_slow_native)?;
        let forwarded = count("max-concurrent-pod-calls", self.max_concurrent_pod_calls)?;
        Ok(AdmissionOptions {
            processes: processes.unwrap_or(default.processes),
            native: native.unwrap_or(default.native),
            slow: slow.unwrap_or(default.slow),
            forwarded: forwarded.unwrap_or(default.forwarded),
            queue: within(
                "max-queued-evaluations",
                parsed.get(self.max_queued),
                0,
                1_000_000_000,
            )?,
        })
    }
}

impl SecurityFlags {
    fn new(set: &mut FlagSet, flavour: Flavour) -> SecurityFlags {
        SecurityFlags {
            tls_cert: set.text("tls-cert", "", "The `file` with the server's certificate chain, PEM"),
            tls_key: set.text("tls-key", "", "The `file` with the server's private key, PEM"),
            tls_client_ca: set.text(
                "tls-client-ca",
                "",
                "The `file` with the CA certificates for client certificates, PEM; makes client certificates mandatory",
            ),
            require_tls: set.add("require-tls", false, "Refuse to start without TLS"),
            self_signed: (flavour == Flavour::Serve).then(|| {
                set.add(
                    "tls-self-signed",
                    false,
                    "Create a CA and a certificate for this machine at every start, to try out TLS",
                )
            }),
            auth_token_file: set.text(
                "auth-token-file",
                "",
                "The `file` with the bearer token that callers must send",
            ),
            policy: set.text(
                "policy",
                "",
                "The `file` with the policy of functions; if empty, KILN_POLICY, or kiln/policy.yaml in the user's configuration directory. /etc/kiln/policy.yaml applies as well",
            ),
            exec_sandbox: set.text(
                "exec-sandbox",
                "",
                "Sandbox for executables: strict or off; if empty, strict where the system supports it",
            ),
            exec_allow_network: set.add(
                "exec-allow-network",
                false,
                "Allow executables in the sandbox to use the network",
            ),
            exec_memory: set.add(
                "exec-memory-limit",
                0,
                "Memory limit of an executable in the sandbox, in `bytes`; 0 means 2 GiB",
            ),
        }
    }

    fn is_self_signed(&self, parsed: &Parsed) -> bool {
        self.self_signed.is_some_and(|key| parsed.get(key))
    }

    fn tls(&self, parsed: &Parsed) -> Result<Option<TlsFiles>, String> {
        let certificate = given(parsed.get(self.tls_cert));
        let key = given(parsed.get(self.tls_key));
        let client_ca = given(parsed.get(self.tls_client_ca));
        let is_self_signed = self.is_self_signed(parsed);
        match (certificate, key) {
            (None, None) if is_self_signed && client_ca.is_none() => Ok(None),
            _ if is_self_signed => Err(
                "--tls-self-signed cannot be used with --tls-cert, --tls-key and --tls-client-ca"
                    .to_owned(),
            ),
            (Some(certificate), Some(key)) => Ok(Some(TlsFiles {
                certificate,
                key,
                client_ca,
            })),
            (None, None) if client_ca.is_some() => {
                Err("--tls-client-ca requires --tls-cert and --tls-key".to_owned())
            }
            (None, None) if parsed.get(self.require_tls) => {
                Err("--require-tls requires --tls-cert and --tls-key".to_owned())
            }
            (None, None) => Ok(None),
            _ => Err("--tls-cert and --tls-key must be used together".to_owned()),
        }
    }

    fn sandbox(&self, parsed: &Parsed) -> Result<Option<SandboxMode>, String> {
        match parsed.get(self.exec_sandbox).as_str() {
            "" => Ok(None),
            text => text
                .parse()
                .map(Some)
                .map_err(|reason| format!("--exec-sandbox {text:?} {reason}")),
        }
    }
}

fn cache_mode(text: &str) -> Result<CacheMode, String> {
    text.parse()
        .map_err(|reason| format!("--cache {text:?} {reason}"))
}

fn pull_policy(text: &str) -> Result<PullPolicy, String> {
    let names = PullPolicy::NAMES.map(|(name, _)| name);
    PullPolicy::parse(text).ok_or_else(|| {
        format!(
            "--image-pull-policy {text:?} must be one of: {}",
            names.join(", ")
        )
    })
}

impl WasmFlags {
    fn new(set: &mut FlagSet) -> WasmFlags {
        WasmFlags {
            engine: set.text(
                "wasm-engine",
                "auto",
                "Engine for functions in WebAssembly: auto, interpreter or compiler",
            ),
            clock: set.text(
                "wasm-clock",
                "fixed",
                "Clock of functions in WebAssembly: fixed or real",
            ),
            random: set.text(
                "wasm-random",
                "fixed",
                "Random bytes of functions in WebAssembly: fixed or real",
            ),
            cache: set.text(
                "wasm-cache",
                "",
                "The `directory` for modules and compiled code, which belongs to this user alone; nothing is stored if empty",
            ),
            memory: set.add(
                "wasm-memory-limit",
                0,
                "Memory limit of a function in WebAssembly, in `bytes`; 0 means 1 GiB",
            ),
        }
    }

    fn config(&self, parsed: &Parsed) -> Result<WasmConfig, String> {
        fn value<T: FromStr<Err = WasmFlagError>>(name: &str, text: &str) -> Result<T, String> {
            text.parse()
                .map_err(|reason: WasmFlagError| format!("--{name} {text:?} {reason}"))
        }
        let engine = value("wasm-engine", &parsed.get(self.engine))?;
        if engine == WasmEngine::Compiler && !HAS_COMPILER {
            return Err(
                "--wasm-engine \"compiler\": this program has no compiler; build it with --features wasm-jit"
                    .to_owned(),
            );
        }
        Ok(WasmConfig {
            engine,
            clock: value("wasm-clock", &parsed.get(self.clock))?,
            random: value("wasm-random", &parsed.get(self.random))?,
            cache: given(parsed.get(self.cache)),
            memory: match within::<u64>("wasm-memory-limit", parsed.get(self.memory), 0, i64::MAX)?
            {
                0 => DEFAULT_MEMORY,
                memory => memory,
            },
        })
    }
}

fn given(path: String) -> Option<PathBuf> {
    Some(path)
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
}

fn not_negative(name: &str, duration: GoDuration) -> Result<Duration, String> {
    duration
        .to_std()
        .ok_or_else(|| format!("--{name} {duration} must not be negative"))
}

fn positive(name: &str, duration: GoDuration) -> Result<Duration, String> {
    let positive = duration.to_std().filter(|duration| !duration.is_zero());
    positive.ok_or_else(|| format!("--{name} {duration} must be more than 0"))
}

fn within<T: TryFrom<i64>>(name: &str, value: i64, least: i64, most: i64) -> Result<T, String> {
    let wrong = || format!("--{name} {value} must be from {least} to {most}");
    if !(least..=most).contains(&value) {
        return Err(wrong());
    }
    T::try_from(value).map_err(|_| wrong())
}

#[cfg(test)]
mod tests;
