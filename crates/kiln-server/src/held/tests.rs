//! Shares of connections and peers, and the reserve of small requests.

use std::sync::Arc;

use super::{Held, HeldBytes, Holder, NoRoom, SMALL_REQUEST};

const MIB: usize = 1024 * 1024;

struct Peer {
    held_bytes: Arc<HeldBytes>,
    holder: Arc<Holder>,
}

impl Peer {
    fn new(held_bytes: &Arc<HeldBytes>) -> Peer {
        Peer {
            held_bytes: Arc::clone(held_bytes),
            holder: Arc::default(),
        }
    }

    fn held(&self, connection: &Arc<Holder>) -> Held {
        let held_bytes = Arc::clone(&self.held_bytes);
        Held::new(held_bytes, Arc::clone(connection), Arc::clone(&self.holder))
    }

    /// Calls of `size` bytes until one is refused.
    fn fill(&self, connection: &Arc<Holder>, size: usize) -> Vec<Held> {
        let calls = std::iter::from_fn(|| {
            let mut held = self.held(connection);
            held.grow(size, size).ok().map(|()| held)
        });
        calls.collect()
    }
}

#[test]
fn one_connection_takes_half_and_one_peer_three_quarters() {
    // 64 MiB are for small requests only.
    let held_bytes = HeldBytes::new(512 * MIB, 6 * MIB);
    let hostile = Peer::new(&held_bytes);
    let first: Arc<Holder> = Arc::default();
    let mut calls = hostile.fill(&first, 4 * MIB);
    assert_eq!(calls.len(), 448 / 4 / 2);
    for _ in 0..100 {
        calls.extend(hostile.fill(&Arc::default(), 4 * MIB));
    }
    assert_eq!(calls.len(), 448 / 4 / 4 * 3);
    let good = Peer::new(&held_bytes);
    assert!(good.fill(&Arc::default(), 6 * MIB).len() >= 8);
    drop(calls);
    assert_eq!(hostile.fill(&first, 4 * MIB).len(), 448 / 4 / 2);
}

#[test]
fn small_requests_have_a_reserve() {
    let held_bytes = HeldBytes::new(64 * MIB, 6 * MIB);
    let calls: Vec<Vec<Held>> = (0..100)
        .map(|_| Peer::new(&held_bytes).fill(&Arc::default(), 6 * MIB))
        .collect();
    let good = Peer::new(&held_bytes);
    let connection = Arc::default();
    assert_eq!(good.held(&connection).grow(MIB * 3, MIB * 3), Err(NoRoom));
    assert_eq!(
        good.held(&connection).grow(SMALL_REQUEST, SMALL_REQUEST),
        Ok(())
    );
    // Large calls of a connection do not block its small ones.
    let busy = Peer::new(&held_bytes);
    drop(calls);
    let large = busy.fill(&connection, 6 * MIB);
    assert_eq!(
        busy.held(&connection).grow(SMALL_REQUEST, SMALL_REQUEST),
        Ok(())
    );
    drop(large);
}

#[test]
fn the_only_call_may_have_all_there_is() {
    let held_bytes = HeldBytes::new(6 * MIB, 6 * MIB);
    let peer = Peer::new(&held_bytes);
    let connection = Arc::default();
    let mut held = peer.held(&connection);
    assert!(held.would_fit(6 * MIB) && !held.would_fit(6 * MIB + 1));
    for bytes in [1, 1000, MIB, 6 * MIB] {
        assert_eq!(held.grow(bytes, 6 * MIB), Ok(()), "{bytes}");
    }
    assert_eq!(peer.held(&Arc::default()).grow(1, 1), Err(NoRoom));
    held.replace(10);
    assert_eq!(peer.held(&Arc::default()).grow(MIB, MIB), Ok(()));
}

#[test]
fn what_is_dropped_is_given_back() {
    let held_bytes = HeldBytes::new(MIB, 1000);
    let peer = Peer::new(&held_bytes);
    for size in [1000, SMALL_REQUEST, SMALL_REQUEST + 1] {
        for _ in 0..100 {
            let connection = Arc::default();
            let mut held = peer.held(&connection);
            for part in 1..=10 {
                assert_eq!(held.grow(size * part / 10, size), Ok(()), "{size}");
            }
        }
    }
}
