//! All connections of a server: their number, and which one is evicted when there are too many.
//!
//! A new connection is never refused. At the limit, the connection without calls that has been inactive longest is
//! evicted. If all have calls, the new connection goes to a reserve, which answers health probes and takes no calls,
//! and whose members evict each other.
//!
//! All connections of one address together have a share, so that one peer cannot evict the others. The share is half of
//! all, because many clients may be behind one address (NAT, proxies, Kubernetes services).

mod connection;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::memory::MemoryAccount;

pub(crate) use connection::{ClientReset, ConnectionEnd, MAX_STREAMS, OpenConnection, Unanswered};

/// Size of the reserve.
const RESERVE: usize = 64;

/// The connections of a server.
#[derive(Debug)]
pub(crate) struct Connections {
    limit: usize,
    limit_of_peer: usize,
    state: Mutex<ConnectionsState>,
}

#[derive(Debug, Default)]
struct ConnectionsState {
    next_id: u64,
    open: HashMap<u64, Arc<OpenConnection>>,
    peers: HashMap<IpAddr, Peer>,
    /// How many take calls; the others are the reserve.
    regular: usize,
}

#[derive(Debug, Default)]
struct Peer {
    connections: usize,
    regular: usize,
    account: Arc<MemoryAccount>,
}

/// A connection that counts until dropped.
#[derive(Debug)]
pub(crate) struct Registered {
    connections: Arc<Connections>,
    connection: Arc<OpenConnection>,
}

impl Connections {
    pub(crate) fn new(limit: usize) -> Arc<Connections> {
        Arc::new(Connections {
            limit: limit.max(2),
            limit_of_peer: (limit / 2).max(1),
            state: Mutex::default(),
        })
    }

    /// How many are open.
    pub(crate) fn count(&self) -> usize {
        self.lock().open.len()
    }

    /// Counts a new connection, and evicts another one if necessary.
    pub(crate) fn register(self: &Arc<Connections>, address: IpAddr) -> Registered {
        let address = network(address);
        let mut state = self.lock();
        let is_regular = self.has_room(&state, address) || {
            let is_over_share = state.of_peer(address) >= self.limit_of_peer;
            state
                .evict(|other| other.is_regular() && (!is_over_share || other.address() == address))
                && self.has_room(&state, address)
        };
        let in_reserve = state.open.len() - state.regular;
        if !is_regular && in_reserve >= RESERVE {
            state.evict(|other| !other.is_regular());
        }
        let id = state.next_id;
        state.next_id += 1;
        let peer = state.peers.entry(address).or_default();
        peer.connections += 1;
        let connection = Arc::new(OpenConnection::new(
            id,
            address,
            is_regular,
            Arc::clone(&peer.account),
        ));
        if is_regular {
            peer.regular += 1;
            state.regular += 1;
        }
        state.open.insert(id, Arc::clone(&connection));
        Registered {
            connections: Arc::clone(self),
            connection,
        }
    }

    /// Ends some connections without calls to free descriptors.
    pub(crate) fn make_room(&self) {
        let mut state = self.lock();
        for _ in 0..RESERVE {
            if !state.evict(|_| true) {
                return;
            }
        }
    }

    /// Whether a connection takes calls. One of the reserve becomes a regular one if there is room by now.
    pub(crate) fn takes_calls(&self, connection: &OpenConnection) -> bool {
        if connection.is_regular() {
            return true;
        }
        let mut state = self.lock();
        if !state.open.contains_key(&connection.id()) {
            return false;
        }
        let has_room = self.has_room(&state, connection.address());
        if has_room && connection.make_regular() {
            state.regular += 1;
            if let Some(peer) = state.peers.get_mut(&connection.address()) {
                peer.regular += 1;
            }
        }
        has_room
    }

    fn has_room(&self, state: &ConnectionsState, address: IpAddr) -> bool {
        state.regular < self.limit && state.of_peer(address) < self.limit_of_peer
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionsState {
    fn of_peer(&self, address: IpAddr) -> usize {
        self.peers.get(&address).map_or(0, |peer| peer.regular)
    }

    /// Ends the connection that has been inactive longest, of those that may be ended; false if there is none.
    fn evict(&mut self, may_end: impl Fn(&OpenConnection) -> bool) -> bool {
        let candidates = self.open.values().filter(|other| may_end(other));
        let ranked = candidates.filter_map(|other| Some((other.inactive_since()?, other.id())));
        let Some((_, id)) = ranked.min() else {
            return false;
        };
        if let Some(connection) = self.remove(id) {
            connection.end(ConnectionEnd::Evicted);
        }
        true
    }

    fn remove(&mut self, id: u64) -> Option<Arc<OpenConnection>> {
        let connection = self.open.remove(&id)?;
        let address = connection.address();
        if let Some(peer) = self.peers.get_mut(&address) {
            peer.connections -= 1;
            if connection.is_regular() {
                peer.regular -= 1;
                self.regular -= 1;
            }
            if peer.connections == 0 {
                self.peers.remove(&address);
            }
        }
        Some(connection)
    }
}

impl Registered {
    pub(crate) fn connection(&self) -> &Arc<OpenConnection> {
        &self.connection
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.connections.lock().remove(self.connection.id());
    }
}

/// The key of a peer: an IPv4 address, or the /64 network of an IPv6 host.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let mut octets = address.octets();
            octets.iter_mut().skip(8).for_each(|octet| *octet = 0);
            IpAddr::V6(octets.into())
        }
    }
}
