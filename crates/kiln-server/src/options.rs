//! What a server is told before it begins.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use kiln_proto::DEFAULT_MAX_MESSAGE_SIZE;
use tokio::sync::watch;

use crate::observer::{NoObserver, Observer};
use crate::tls::Tls;
use crate::token::Token;
use crate::workers::WorkerPool;

/// How many calls may wait, for each kind of work, by default.
pub const DEFAULT_MAX_QUEUE: usize = 1024;

/// How many calls may be passed on to others at once by default. They take memory and nothing else here.
pub const DEFAULT_MAX_FORWARDED: NonZeroUsize = NonZeroUsize::new(1024).unwrap();

/// How long running calls have when the server is to end, by default.
pub const DEFAULT_DRAIN_TIMEOUT: Duration = Duration::from_secs(25);

/// How long a function has whose caller sets no deadline, by default.
pub const DEFAULT_EVALUATION_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// How many bytes of requests are in memory at once by default.
pub const DEFAULT_MAX_HELD_BYTES: usize = 512 * 1024 * 1024;

/// How long a request may take to arrive, besides a second for every 64 KiB, by default.
pub const DEFAULT_REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a connection may be without a stream by default.
pub const DEFAULT_CONNECTION_IDLE_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// How many connections there may be by default, if the process may have enough descriptors.
const DEFAULT_MAX_CONNECTIONS: usize = 4096;

/// How many slow native functions run for each core by default.
const SLOW_PER_CORE: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// How a server behaves.
#[derive(Clone)]
pub struct Options {
    /// How large a request or an answer may be, in bytes.
    pub max_message_size: usize,
    /// How many bytes of requests may be in memory at once: coming in, waiting and running.
    pub max_held_bytes: usize,
    /// How many connections there may be, and how slow they may be.
    pub connections: ConnectionOptions,
    /// How much runs at once.
    pub admission: AdmissionOptions,
    /// How long a function has at most, whatever its caller says; as long as its caller says if not given.
    pub evaluation_timeout: Option<Duration>,
    /// How long running calls have when the server is to end.
    pub drain_timeout: Duration,
    /// The certificate and whom to trust; plaintext if not given.
    pub tls: Option<Arc<Tls>>,
    /// What callers have to show.
    pub token: Option<Arc<Token>>,
    /// Is notified of calls.
    pub observer: Arc<dyn Observer>,
    /// Processes that run functions which have a `worker_image`; without them these run in this process.
    pub workers: Option<Arc<WorkerPool>>,
    /// How failures of programs are reported. Native functions stand for images and are reported as the wrapper does.
    pub words: Words,
    /// Whether functions can be run, now and from now on, where there are no workers that say so; if not given they can
    /// as soon as there is an evaluator.
    pub usable: Option<watch::Receiver<bool>>,
}

/// How failures of functions are reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Words {
    /// As the runner reports programs: by their exit and what they printed.
    Runner,
    /// As the wrapper in a pod does: by their results.
    Wrapper,
}

/// How many connections there may be, and how slow they may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnectionOptions {
    /// How many connections may have calls. Some more are kept for probes.
    pub max: NonZeroUsize,
    /// How long a connection may be without a stream.
    pub idle_timeout: Duration,
    /// How long a request may take to arrive and an answer to be taken, besides a second for every 64 KiB.
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
    /// Connections take at most half of the descriptors that the process may have; functions need the others.
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
