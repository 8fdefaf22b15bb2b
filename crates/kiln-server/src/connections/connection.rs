//! The state of one open connection: its streams, its calls, and why it has to end.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};

use crate::admission::Caller;
use crate::memory::MemoryAccount;

/// Maximum number of open streams of a connection.
pub(crate) const MAX_STREAMS: u32 = 1000;

/// How many calls a client may cancel at once, and per second. A client may cancel all its calls, several times over;
/// one that opens and resets streams in a loop (CVE-2023-44487) is far above that.
const MAX_CANCELLED: f64 = 10.0 * MAX_STREAMS as f64;
const CANCELLED_PER_SECOND: f64 = MAX_STREAMS as f64;

/// A connection that is open.
#[derive(Debug)]
pub(crate) struct OpenConnection {
    id: u64,
    address: IpAddr,
    is_regular: AtomicBool,
    activity: Mutex<Activity>,
    has_no_stream: Notify,
    end: watch::Sender<Option<ConnectionEnd>>,
    account: Arc<MemoryAccount>,
    peer_account: Arc<MemoryAccount>,
}

/// Why a connection has to end before its peer ends it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConnectionEnd {
    /// Another connection needs its slot.
    Evicted,
    /// It had no stream for too long.
    Idle,
    /// Its client opens and resets streams in a loop.
    TooManyResets,
}

#[derive(Debug)]
struct Activity {
    streams: usize,
    calls: usize,
    /// When a stream was last opened or closed, or a call ended.
    since: Instant,
    /// How many calls may be cancelled now.
    cancellable: f64,
    counted_at: Instant,
}

impl OpenConnection {
    pub(super) fn new(
        id: u64,
        address: IpAddr,
        is_regular: bool,
        peer_account: Arc<MemoryAccount>,
    ) -> OpenConnection {
        let now = Instant::now();
        OpenConnection {
            id,
            address,
            is_regular: AtomicBool::new(is_regular),
            activity: Mutex::new(Activity {
                streams: 0,
                calls: 0,
                since: now,
                cancellable: MAX_CANCELLED,
                counted_at: now,
            }),
            has_no_stream: Notify::new(),
            end: watch::Sender::new(None),
            account: Arc::default(),
            peer_account,
        }
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn address(&self) -> IpAddr {
        self.address
    }

    pub(super) fn is_regular(&self) -> bool {
        self.is_regular.load(Ordering::Relaxed)
    }

    /// Lets it take calls; returns whether it did not before.
    pub(super) fn make_regular(&self) -> bool {
        !self.is_regular.swap(true, Ordering::Relaxed)
    }

    /// Since when it has been inactive and may be evicted; `None` while it has calls.
    pub(super) fn inactive_since(&self) -> Option<Instant> {
        let activity = self.activity();
        (activity.calls == 0).then_some(activity.since)
    }

    pub(crate) fn caller(&self) -> Caller {
        Caller {
            address: self.address,
            connection: self.id,
        }
    }

    /// The accounts of the connection and of its peer.
    pub(crate) fn accounts(&self) -> (Arc<MemoryAccount>, Arc<MemoryAccount>) {
        (Arc::clone(&self.account), Arc::clone(&self.peer_account))
    }

    pub(crate) fn end(&self, end: ConnectionEnd) {
        self.end.send_if_modified(|known| {
            let is_first = known.is_none();
            known.get_or_insert(end);
            is_first
        });
    }

    /// Waits until it has to end: because it was evicted, or because it had no stream for `idle_timeout`.
    pub(crate) async fn ended(&self, idle_timeout: Duration) -> ConnectionEnd {
        let mut end = self.end.subscribe();
        let ended = async {
            // The sender lives as long as `self`.
            match end.wait_for(Option::is_some).await {
                Ok(end) => (*end).unwrap_or(ConnectionEnd::Evicted),
                Err(_) => ConnectionEnd::Evicted,
            }
        };
        tokio::select! {
            end = ended => end,
            () = self.idle_for(idle_timeout) => ConnectionEnd::Idle,
        }
    }

    async fn idle_for(&self, timeout: Duration) {
        loop {
            let notified = self.has_no_stream.notified();
            let (streams, since) = {
                let activity = self.activity();
                (activity.streams, activity.since)
            };
            if streams > 0 {
                notified.await;
                continue;
            }
            match since.checked_add(timeout) {
                Some(at) if at <= Instant::now() => return,
                Some(at) => sleep_until(at).await,
                None => notified.await,
            }
        }
    }

    /// Counts a stream, until dropped.
    pub(crate) fn open_stream(self: &Arc<OpenConnection>) -> OpenStream {
        let mut activity = self.activity();
        activity.streams += 1;
        activity.since = Instant::now();
        drop(activity);
        OpenStream(Arc::clone(self))
    }

    /// Counts a call, until dropped.
    pub(crate) fn begin_call(self: &Arc<OpenConnection>) -> RunningCall {
        self.activity().calls += 1;
        RunningCall(Arc::clone(self))
    }

    /// Counts a stream that the client reset before it was answered.
    fn count_cancelled(&self) {
        let now = Instant::now();
        let mut activity = self.activity();
        let passed = now.saturating_duration_since(activity.counted_at);
        let regained = passed.as_secs_f64() * CANCELLED_PER_SECOND;
        activity.cancellable = (activity.cancellable + regained).min(MAX_CANCELLED) - 1.0;
        activity.counted_at = now;
        let is_flood = activity.cancellable < 0.0;
        drop(activity);
        if is_flood {
            self.end(ConnectionEnd::TooManyResets);
        }
    }

    fn activity(&self) -> MutexGuard<'_, Activity> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream that is open, until dropped.
#[derive(Debug)]
pub(crate) struct OpenStream(Arc<OpenConnection>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut activity = self.0.activity();
        activity.streams -= 1;
        activity.since = Instant::now();
        if activity.streams == 0 {
            self.0.has_no_stream.notify_one();
        }
    }
}

/// A call that waits or runs, until dropped.
#[derive(Debug)]
pub(crate) struct RunningCall(Arc<OpenConnection>);

impl Drop for RunningCall {
    fn drop(&mut self) {
        let mut activity = self.0.activity();
        activity.calls -= 1;
        activity.since = Instant::now();
    }
}

/// In the extensions of a response that the client does not wait for: it reset the stream before its request was
/// complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientReset;

/// Counts as cancelled if dropped before the response.
#[derive(Debug)]
pub(crate) struct Unanswered(Option<Arc<OpenConnection>>);

impl Unanswered {
    pub(crate) fn new(connection: &Arc<OpenConnection>) -> Unanswered {
        Unanswered(Some(Arc::clone(connection)))
    }

    pub(crate) fn answered(mut self) {
        self.0 = None;
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        if let Some(connection) = &self.0 {
            connection.count_cancelled();
        }
    }
}
