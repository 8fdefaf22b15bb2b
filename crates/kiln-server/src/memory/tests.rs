//! Shares of connections and peers, and the reserve of small requests.

use std::sync::Arc;

use super::{MemoryAccount, MemoryCharge, MemoryPools, PoolFull, SMALL_REQUEST};

const MIB: usize = 1024 * 1024;

struct Peer {
    memory_pools: Arc<MemoryPools>,
    account: Arc<MemoryAccount>,
}

impl Peer {
    fn new(memory_pools: &Arc<MemoryPools>) -> Peer {
        Peer {
            memory_pools: Arc::clone(memory_pools),
            account: Arc::default(),
        }
    }

    fn charge(&self, connection: &Arc<MemoryAccount>) -> MemoryCharge {
        let memory_pools = Arc::clone(&self.memory_pools);
        MemoryCharge::new(
            memory_pools,
            Arc::clone(connection),
            Arc::clone(&self.account),
        )
    }

    /// Calls of `size` bytes until one is refused.
    fn fill(&self, connection: &Arc<MemoryAccount>, size: usize) -> Vec<MemoryCharge> {
        let calls = std::iter::from_fn(|| {
            let mut charge = self.charge(connection);
            charge.grow(size, size).ok().map(|()| charge)
        });
        calls.collect()
    }
}

#[test]
fn one_connection_takes_half_and_one_peer_three_quarters() {
    // 64 MiB are for small requests only.
    let memory_pools = MemoryPools::new(512 * MIB, 6 * MIB);
    let hostile = Peer::new(&memory_pools);
    let first: Arc<MemoryAccount> = Arc::default();
    let mut calls = hostile.fill(&first, 4 * MIB);
    assert_eq!(calls.len(), 448 / 4 / 2);
    for _ in 0..100 {
        calls.extend(hostile.fill(&Arc::default(), 4 * MIB));
    }
    assert_eq!(calls.len(), 448 / 4 / 4 * 3);
    let good = Peer::new(&memory_pools);
    assert!(good.fill(&Arc::default(), 6 * MIB).len() >= 8);
    drop(calls);
    assert_eq!(hostile.fill(&first, 4 * MIB).len(), 448 / 4 / 2);
}

#[test]
fn small_requests_have_a_reserve() {
    let memory_pools = MemoryPools::new(64 * MIB, 6 * MIB);
    let calls: Vec<Vec<MemoryCharge>> = (0..100)
        .map(|_| Peer::new(&memory_pools).fill(&Arc::default(), 6 * MIB))
        .collect();
    let good = Peer::new(&memory_pools);
    let connection = Arc::default();
    assert_eq!(
        good.charge(&connection).grow(MIB * 3, MIB * 3),
        Err(PoolFull)
    );
    assert_eq!(
        good.charge(&connection).grow(SMALL_REQUEST, SMALL_REQUEST),
        Ok(())
    );
    // Large calls of a connection do not block its small ones.
    let busy = Peer::new(&memory_pools);
    drop(calls);
    let large = busy.fill(&connection, 6 * MIB);
    assert_eq!(
        busy.charge(&connection).grow(SMALL_REQUEST, SMALL_REQUEST),
        Ok(())
    );
    drop(large);
}

#[test]
fn the_only_call_may_have_all_there_is() {
    let memory_pools = MemoryPools::new(6 * MIB, 6 * MIB);
    let peer = Peer::new(&memory_pools);
    let connection = Arc::default();
    let mut charge = peer.charge(&connection);
    assert!(charge.would_fit(6 * MIB) && !charge.would_fit(6 * MIB + 1));
    for bytes in [1, 1000, MIB, 6 * MIB] {
        assert_eq!(charge.grow(bytes, 6 * MIB), Ok(()), "{bytes}");
    }
    assert_eq!(peer.charge(&Arc::default()).grow(1, 1), Err(PoolFull));
    charge.replace(10);
    assert_eq!(peer.charge(&Arc::default()).grow(MIB, MIB), Ok(()));
}

#[test]
fn what_is_dropped_is_given_back() {
    let memory_pools = MemoryPools::new(MIB, 1000);
    let peer = Peer::new(&memory_pools);
    for size in [1000, SMALL_REQUEST, SMALL_REQUEST + 1] {
        for _ in 0..100 {
            let connection = Arc::default();
            let mut charge = peer.charge(&connection);
            for part in 1..=10 {
                assert_eq!(charge.grow(size * part / 10, size), Ok(()), "{size}");
            }
        }
    }
}
