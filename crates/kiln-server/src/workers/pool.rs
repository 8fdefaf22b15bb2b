//! The pool of idle workers, and their replacement.

use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::process::Worker;
use super::starter::{Starter, WorkerCommand};
use super::suspension::Suspensions;

/// How long a worker may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// How long to wait between attempts to start a worker.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_secs(5);

/// Settings of workers.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    /// The program, which calls [`super::work`] when it is started under the name of a worker.
    pub program: PathBuf,
    /// Memory limit of a worker beyond what it starts with, in bytes.
    pub memory: u64,
    /// Whether a worker that cannot be confined is an error rather than a warning.
    pub is_strict: bool,
    /// Number of workers to start ahead of time.
    pub spare: NonZeroUsize,
}

/// Why a worker cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    #[error("cannot start a worker process")]
    Start(#[source] io::Error),
    /// It exited, or did not respond, before it was ready.
    #[error("a worker process did not become ready: {0}")]
    NotReady(String),
    #[error("a worker process could not be confined: {0}")]
    NotConfined(String),
}

/// The worker processes of a server. Dropping the pool ends them.
pub struct WorkerPool {
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    starter: Starter,
    options: WorkerOptions,
    idle: Mutex<Vec<Worker>>,
    /// The number of workers, with and without a call.
    alive: AtomicUsize,
    is_refilling: AtomicBool,
    has_warned: AtomicBool,
    usable: watch::Sender<bool>,
    pub(super) suspensions: Suspensions,
}

impl WorkerPool {
    /// Makes a pool, whose workers start in the background. It is usable when the first of them is ready; if one cannot
    /// be started, the pool keeps trying.
    pub fn start(options: WorkerOptions) -> Result<Arc<WorkerPool>, WorkerError> {
        let starter = Starter::new(WorkerCommand {
            program: options.program.clone(),
            memory: options.memory,
            is_strict: options.is_strict,
        });
        let shared = Arc::new(Shared {
            starter: starter.map_err(WorkerError::Start)?,
            suspensions: Suspensions::new(options.spare.get()),
            options,
            idle: Mutex::default(),
            alive: AtomicUsize::new(0),
            is_refilling: AtomicBool::new(false),
            has_warned: AtomicBool::new(false),
            usable: watch::Sender::new(false),
        });
        shared.refill();
        Ok(Arc::new(WorkerPool { shared }))
    }

    /// Whether there are workers.
    pub fn usable(&self) -> watch::Receiver<bool> {
        self.shared.usable.subscribe()
    }

    pub(super) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }
}

impl Shared {
    fn idle(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker for one call: an idle one, or else a new one.
    pub(super) async fn take(self: &Arc<Shared>) -> Result<Worker, WorkerError> {
        loop {
            let idle = self.idle().pop();
            match idle {
                Some(worker) if worker.is_alive() => return Ok(worker),
                // The system may kill a process at any time, for example for lack of memory.
                Some(worker) => self.lose(worker),
                None => return self.start().await,
            }
        }
    }

    pub(super) fn memory(&self) -> u64 {
        self.options.memory
    }

    /// Keeps a worker that has finished its call for the next one.
    pub(super) fn give_back(&self, worker: Worker) {
        let mut idle = self.idle();
        // As many small calls run at once as there are spare workers, and as many large ones.
        if idle.len() < 2 * self.options.spare.get() {
            idle.push(worker);
        } else {
            self.alive.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Kills a worker, and starts another one if too few are left.
    pub(super) fn lose(self: &Arc<Shared>, worker: Worker) {
        drop(worker);
        self.replace();
    }

    /// Replaces a worker that has exited, if too few are left.
    pub(super) fn replace(self: &Arc<Shared>) {
        self.alive.fetch_sub(1, Ordering::SeqCst);
        self.refill();
    }

    /// Starts workers until there are enough, in the background.
    fn refill(self: &Arc<Shared>) {
        let is_enough = self.alive.load(Ordering::SeqCst) >= self.options.spare.get();
        if is_enough && *self.usable.borrow() {
            return;
        }
        let is_refilling = self.is_refilling.swap(true, Ordering::SeqCst);
        let runtime = tokio::runtime::Handle::try_current();
        if let (false, Ok(runtime)) = (is_refilling, runtime) {
            runtime.spawn(refill(Arc::downgrade(self)));
        }
    }

    /// Starts a worker and waits until it is ready.
    async fn start(self: &Arc<Shared>) -> Result<Worker, WorkerError> {
        let started = timeout(START_TIMEOUT, self.start_one()).await;
        let late = || WorkerError::NotReady("it took too long to start".to_owned());
        let started = started.map_err(|_| late()).flatten();
        match &started {
            Ok(_) => {
                self.alive.fetch_add(1, Ordering::SeqCst);
                self.usable
                    .send_if_modified(|it| !std::mem::replace(it, true));
            }
            Err(error) => {
                let source = std::error::Error::source(error).map(ToString::to_string);
                tracing::error!(source, "native functions cannot run: {error}");
                self.usable
                    .send_if_modified(|it| std::mem::replace(it, false));
                self.refill();
            }
        }
        started
    }

    async fn start_one(&self) -> Result<Worker, WorkerError> {
        let started = self.starter.start().await.map_err(WorkerError::Start)?;
        let mut worker = Worker::new(started).map_err(WorkerError::Start)?;
        let ready = match worker.receive(0).await {
            Ok((ready, _)) => ready,
            Err(error) => {
                let death = worker.death(&error).await;
                return Err(WorkerError::NotReady(format!("{death:?}")));
            }
        };
        if ready.message.is_empty() {
            return Ok(worker);
        }
        if self.options.is_strict {
            return Err(WorkerError::NotConfined(ready.message));
        }
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "workers of native functions are not confined: {}",
                ready.message
            );
        }
        Ok(worker)
    }
}

/// Starts workers until there are enough, and retries when the system refuses. Ends with the pool.
async fn refill(pool: Weak<Shared>) {
    let mut retry = FIRST_RETRY;
    loop {
        let Some(shared) = pool.upgrade() else { return };
        let is_enough = shared.alive.load(Ordering::SeqCst) >= shared.options.spare.get();
        if is_enough && *shared.usable.borrow() {
            shared.is_refilling.store(false, Ordering::SeqCst);
            // A worker lost after the count was read found this task still running.
            if shared.alive.load(Ordering::SeqCst) < shared.options.spare.get() {
                shared.refill();
            }
            return;
        }
        match shared.start().await {
            Ok(worker) => {
                shared.give_back(worker);
                retry = FIRST_RETRY;
            }
            Err(_) => {
                drop(shared);
                sleep(retry).await;
                retry = (2 * retry).min(LAST_RETRY);
            }
        }
    }
}
