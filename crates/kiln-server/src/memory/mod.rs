//! How many bytes of requests and responses are in memory: being received, waiting, running and being sent.
//!
//! A call is charged for what has arrived, never for what it announces. Large and small requests have separate pools,
//! so that large ones cannot block small ones. In each pool a connection may use at most half of what the others leave, and
//! a peer three quarters: however much one of them uses, the next finds free memory. The only call of a connection or of a
//! peer is exempt, so that a request of the allowed size always fits an idle server.
//!
//! Streams take memory before their messages arrive, and some never have one. They are charged with their headers to
//! separate pools, by the same rules: one for health checks, which are short, and one for everything else.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::Request;

/// Requests up to this size are small.
pub(crate) const SMALL_REQUEST: usize = 256 * 1024;

/// How much a connection and a peer may have for each byte that they leave free.
const CONNECTION_FACTOR: usize = 1;
const PEER_FACTOR: usize = 3;

/// Limit of all streams and of all health checks, besides messages, in bytes.
const STREAMS: usize = 64 * 1024 * 1024;
const CHECKS: usize = 8 * 1024 * 1024;

/// Memory of a stream besides its headers: its task, and the state of HTTP/2 and gRPC.
const STREAM: usize = 8 * 1024;

/// The bytes that all calls of a server share.
#[derive(Debug)]
pub(crate) struct MemoryPools {
    pools: [Pool; 4],
}

#[derive(Debug)]
struct Pool {
    limit: usize,
    used: Mutex<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PoolKind {
    SmallMessages,
    LargeMessages,
    Streams,
    Checks,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StreamKind {
    /// A health check, which is answered once.
    Check,
    Other,
}

/// The bytes of one connection, or of one peer, in each pool.
#[derive(Debug, Default)]
pub(crate) struct MemoryAccount {
    used: [AtomicUsize; 4],
}

/// The bytes of one call, until dropped.
#[derive(Debug)]
pub(crate) struct MemoryCharge {
    memory_pools: Arc<MemoryPools>,
    connection: Arc<MemoryAccount>,
    peer: Arc<MemoryAccount>,
    pool: PoolKind,
    bytes: usize,
}

/// No pool has enough free memory for a request now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PoolFull;

impl MemoryPools {
    /// An eighth is for small requests only, unless the rest would be too small for a request of `max_message_size`.
    pub(crate) fn new(limit: usize, max_message_size: usize) -> Arc<MemoryPools> {
        let reserve = (limit / 8).min(limit.saturating_sub(max_message_size));
        let pool = |limit| Pool {
            limit,
            used: Mutex::new(0),
        };
        Arc::new(MemoryPools {
            pools: [
                pool(reserve),
                pool(limit - reserve),
                pool(STREAMS),
                pool(CHECKS),
            ],
        })
    }

    fn pool(&self, kind: PoolKind) -> &Pool {
        kind.of(&self.pools)
    }

    /// The bytes of messages in memory.
    pub(crate) fn messages(&self) -> usize {
        let used = |kind| *self.pool(kind).lock();
        used(PoolKind::SmallMessages) + used(PoolKind::LargeMessages)
    }
}

impl MemoryAccount {
    fn used(&self, pool: PoolKind) -> &AtomicUsize {
        pool.of(&self.used)
    }
}

impl PoolKind {
    fn of<T>(self, all: &[T; 4]) -> &T {
        let [small, large, streams, checks] = all;
        match self {
            PoolKind::SmallMessages => small,
            PoolKind::LargeMessages => large,
            PoolKind::Streams => streams,
            PoolKind::Checks => checks,
        }
    }
}

impl MemoryCharge {
    pub(crate) fn new(
        memory_pools: Arc<MemoryPools>,
        connection: Arc<MemoryAccount>,
        peer: Arc<MemoryAccount>,
    ) -> MemoryCharge {
        MemoryCharge {
            memory_pools,
            connection,
            peer,
            pool: PoolKind::SmallMessages,
            bytes: 0,
        }
    }

    /// Charges the memory of a stream besides its messages, until dropped.
    pub(crate) fn for_stream<B>(
        mut self,
        kind: StreamKind,
        request: &Request<B>,
    ) -> Result<MemoryCharge, PoolFull> {
        // As HTTP/2 counts them.
        let headers = request.headers().iter();
        let headers = headers.map(|(name, value)| name.as_str().len() + value.len() + 32);
        let path = request.uri().path_and_query();
        let path = path.map_or(0, |path| path.as_str().len());
        let pool = match kind {
            StreamKind::Check => PoolKind::Checks,
            StreamKind::Other => PoolKind::Streams,
        };
        match self.take(pool, STREAM + path + headers.sum::<usize>()) {
            true => Ok(self),
            false => Err(PoolFull),
        }
    }

    /// Whether a request of `size` bytes would fit now; charges nothing.
    pub(crate) fn would_fit(&self, size: usize) -> bool {
        let pools: &[PoolKind] = match size {
            ..=SMALL_REQUEST => &[PoolKind::SmallMessages, PoolKind::LargeMessages],
            _ => &[PoolKind::LargeMessages],
        };
        pools.iter().any(|pool| {
            let used = *self.memory_pools.pool(*pool).lock();
            self.is_allowed(*pool, used, size)
        })
    }

    /// Increases the charge to `bytes`, for a request that announced `size` bytes.
    pub(crate) fn grow(&mut self, bytes: usize, size: usize) -> Result<(), PoolFull> {
        if bytes <= self.bytes {
            return Ok(());
        }
        let is_small = size <= SMALL_REQUEST;
        if is_small
            && self.pool == PoolKind::SmallMessages
            && self.take(PoolKind::SmallMessages, bytes)
        {
            return Ok(());
        }
        match self.take(PoolKind::LargeMessages, bytes) {
            true => Ok(()),
            false => Err(PoolFull),
        }
    }

    /// Sets the charge to `bytes`, whether or not there is room: they are in memory already.
    pub(crate) fn replace(&mut self, bytes: usize) {
        let memory_pools = Arc::clone(&self.memory_pools);
        let mut used = memory_pools.pool(self.pool).lock();
        self.charge(&mut used, bytes);
    }

    /// Charges all bytes of the call to a pool, if that is allowed, and releases them in another.
    fn take(&mut self, pool: PoolKind, bytes: usize) -> bool {
        let memory_pools = Arc::clone(&self.memory_pools);
        let mut used = memory_pools.pool(pool).lock();
        if !self.is_allowed(pool, *used, bytes) {
            return false;
        }
        if pool != self.pool {
            // One lock at a time. Two calls that move at once may exceed the limit by one small request.
            drop(used);
            self.replace(0);
            self.pool = pool;
            used = memory_pools.pool(pool).lock();
        }
        self.charge(&mut used, bytes);
        true
    }

    /// Changes all numbers of the call's pool, which is locked.
    fn charge(&mut self, used: &mut usize, bytes: usize) {
        let changed = |number: usize| number.saturating_sub(self.bytes).saturating_add(bytes);
        *used = changed(*used);
        for account in [&self.connection, &self.peer] {
            let number = account.used(self.pool);
            number.store(changed(number.load(Ordering::Relaxed)), Ordering::Relaxed);
        }
        self.bytes = bytes;
    }

    /// Whether the call may have `bytes` in a pool of which `used` are taken.
    fn is_allowed(&self, pool: PoolKind, used: usize, bytes: usize) -> bool {
        let own = match pool == self.pool {
            true => self.bytes,
            false => 0,
        };
        let after = used.saturating_sub(own).saturating_add(bytes);
        let Some(free) = self.memory_pools.pool(pool).limit.checked_sub(after) else {
            return false;
        };
        let rules = [
            (&self.connection, CONNECTION_FACTOR),
            (&self.peer, PEER_FACTOR),
        ];
        rules.into_iter().all(|(account, factor)| {
            let others = account.used(pool).load(Ordering::Relaxed);
            let others = others.saturating_sub(own);
            others == 0 || others.saturating_add(bytes) <= free.saturating_mul(factor)
        })
    }
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, usize> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for MemoryCharge {
    fn drop(&mut self) {
        self.replace(0);
    }
}

#[cfg(test)]
mod tests;
