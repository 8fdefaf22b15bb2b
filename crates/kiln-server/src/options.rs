//! The settings of a server.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use kiln_proto::DEFAULT_MAX_MESSAGE_SIZE;
use kiln_proto::peer::MessageLimits;
use tokio::sync::watch;

use crate::observer::{NoObserver, Observer};
use crate::tls::Tls;
use crate::token::BearerToken;
use crate::workers::WorkerPool;

/// Default number of waiting calls, for each kind of work.
pub const DEFAULT_MAX_QUEUE: usize = 1024;

/// Default number of calls that run elsewhere at once. They use only memory here.
pub const DEFAULT_MAX_FORWARDED: NonZeroUsize = NonZeroUsize::new(1024).unwrap();

/// Default time for running calls to finish at shutdown.
pub const DEFAULT_DRAIN_TIMEOUT: Duration = Duration::from_secs(25);

/// Default time limit of a function whose caller sets no deadline.
pub const DEFAULT_EVALUATION_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Default limit of bytes of requests in memory.
pub const DEFAULT_MAX_HELD_BYTES: usize = 512 * 1024 * 1024;

/// Default time for a request to arrive, besides a second for every 64 KiB.
pub const DEFAULT_REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Default time that a connection may be without a stream.
pub const DEFAULT_CONNECTION_IDLE_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// Default number of connections, if the process may have enough descriptors.
const DEFAULT_MAX_CONNECTIONS: usize = 4096;

/// How many slow native functions run for each core by default.
const SLOW_PER_CORE: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// The settings of a server.
#[derive(Clone)]
pub struct Options {
    /// Maximum size of requests and responses, in bytes. The default is larger for callers that announce their
    /// own limit, as kiln's do.
    pub max_message_size: usize,
    /// Maximum number of bytes of requests in memory: being received, waiting and running.
    pub max_held_bytes: usize,
    pub connections: ConnectionOptions,
    /// Limits of concurrent calls.
    pub admission: AdmissionOptions,
    /// Time limit of functions, whatever the caller's deadline; only the caller's deadline if not given.
    pub evaluation_timeout: Option<Duration>,
    /// Time for running calls to finish at shutdown.
    pub drain_timeout: Duration,
    /// Certificates; plain text if not given.
    pub tls: Option<Arc<Tls>>,
    /// The token that callers must send.
    pub token: Option<Arc<BearerToken>>,
    /// Is notified of calls.
    pub observer: Arc<dyn Observer>,
    /// Processes for functions that have a `worker_image`; without them these run in this process.
    pub workers: Option<Arc<WorkerPool>>,
    /// How to report failures of programs. Native functions replace images and are reported as by the wrapper.
    pub words: Words,
    /// Whether functions can be run, if there are no workers that report it; if not given, they can as soon as there is
    /// an evaluator.
    pub usable: Option<watch::Receiver<bool>>,
}

impl Options {
    /// The size limits of messages, for Porch's programs and for kiln's.
    pub(crate) fn message_limits(&self) -> MessageLimits {
        MessageLimits::new(self.max_message_size).within(self.max_held_bytes)
    }
}

/// How to report failures of functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Words {
    /// As the runner does: exit code and stderr.
    Runner,
    /// As the wrapper in a pod does: results.
    Wrapper,
}

/// Limits of connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnectionOptions {
    /// Number of connections with calls. Some more are reserved for probes.
    pub max: NonZeroUsize,
    pub idle_timeout: Duration,
    /// Time for a request to arrive and for a response to be read, besides a second for every 64 KiB.
    pub request_timeout: Duration,
}

/// How much runs at once, and how much may wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AdmissionOptions {
    /// How many functions run as processes.
    pub processes: NonZeroUsize,
    /// How many native functions work on small lists, and as many again on large ones.
    pub native: NonZeroUsize,
    /// How many native functions that take long run at once, besides those.
    pub slow: NonZeroUsize,
    /// How many calls are passed on to others.
    pub forwarded: NonZeroUsize,
    /// How many calls wait for each of these.
    pub queue: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            max_message_size: DEFAULT_MAX_MESSAGE_SIZE,
            max_held_bytes: DEFAULT_MAX_HELD_BYTES,
            connections: ConnectionOptions::default(),
            admission: AdmissionOptions::default(),
            evaluation_timeout: Some(DEFAULT_EVALUATION_TIMEOUT),
            drain_timeout: DEFAULT_DRAIN_TIMEOUT,
            tls: None,
            token: None,
            observer: Arc::new(NoObserver),
            workers: None,
            words: Words::Runner,
            usable: None,
        }
    }
}

impl Default for ConnectionOptions {
    /// Connections use at most half of the descriptors that the process may have; functions need the others.
    fn default() -> ConnectionOptions {
        let descriptors = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let descriptors = descriptors.and_then(|count| usize::try_from(count).ok());
        let half = descriptors.map_or(usize::MAX, |count| count / 2);
        let max = NonZeroUsize::new(half.min(DEFAULT_MAX_CONNECTIONS));
        ConnectionOptions {
            max: max.unwrap_or(NonZeroUsize::MIN),
            idle_timeout: DEFAULT_CONNECTION_IDLE_TIMEOUT,
            request_timeout: DEFAULT_REQUEST_TIMEOUT,
        }
    }
}

impl Default for AdmissionOptions {
    /// Four processes a core, and one native function of each size. Slow ones work with a lower priority, so there can be
    /// many: enough that functions which only wait keep no others waiting.
    fn default() -> AdmissionOptions {
        let cores = available_parallelism().unwrap_or(NonZeroUsize::MIN);
        AdmissionOptions {
            processes: cores.saturating_mul(NonZeroUsize::MIN.saturating_add(3)),
            native: cores,
            slow: cores.saturating_mul(SLOW_PER_CORE),
            forwarded: DEFAULT_MAX_FORWARDED,
            queue: DEFAULT_MAX_QUEUE,
        }
    }
}
