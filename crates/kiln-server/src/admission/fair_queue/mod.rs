//! The calls that wait for a slot, in fair order.
//!
//! Peers take turns, and the connections of a peer take turns within its turn. However many calls one client queues, the
//! first call of another waits for one call of each. A full queue makes room for a client with few waiting calls by giving
//! up the newest call of the client with the most.

use std::collections::VecDeque;
use std::net::IpAddr;

/// Where a call came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Caller {
    pub(crate) address: IpAddr,
    pub(crate) connection: u64,
}

/// Identifies a waiting call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ticket(u64);

#[derive(Debug)]
pub(super) struct FairQueue<T> {
    /// The peer whose turn is next comes first.
    peers: VecDeque<PeerQueue<T>>,
    len: usize,
    next_ticket: u64,
}

#[derive(Debug)]
struct PeerQueue<T> {
    address: IpAddr,
    /// The connection whose turn is next comes first.
    connections: VecDeque<ConnectionQueue<T>>,
    len: usize,
}

#[derive(Debug)]
struct ConnectionQueue<T> {
    connection: u64,
    calls: VecDeque<(Ticket, T)>,
}

impl<T> FairQueue<T> {
    pub(super) fn new() -> FairQueue<T> {
        FairQueue {
            peers: VecDeque::new(),
            len: 0,
            next_ticket: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn push(&mut self, caller: Caller, call: T) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.len += 1;
        let peer = entry(
            &mut self.peers,
            |peer| peer.address == caller.address,
            || PeerQueue {
                address: caller.address,
                connections: VecDeque::new(),
                len: 0,
            },
        );
        peer.len += 1;
        let connection = entry(
            &mut peer.connections,
            |connection| connection.connection == caller.connection,
            || ConnectionQueue {
                connection: caller.connection,
                calls: VecDeque::new(),
            },
        );
        connection.calls.push_back((ticket, call));
        ticket
    }

    /// The call whose turn it is. Its peer and its connection go to the end of their lines.
    pub(super) fn pop(&mut self) -> Option<T> {
        let mut peer = self.peers.pop_front()?;
        let mut connection = peer.connections.pop_front()?;
        let (_, call) = connection.calls.pop_front()?;
        peer.len -= 1;
        self.len -= 1;
        if !connection.calls.is_empty() {
            peer.connections.push_back(connection);
        }
        if peer.len > 0 {
            self.peers.push_back(peer);
        }
        Some(call)
    }

    /// Takes a call out of the queue, unless its turn came before.
    pub(super) fn remove(&mut self, caller: Caller, ticket: Ticket) -> Option<T> {
        let peer = position(&self.peers, |peer| peer.address == caller.address)?;
        let connections = &self.peers.get(peer)?.connections;
        let connection = position(connections, |it| it.connection == caller.connection)?;
        let calls = &connections.get(connection)?.calls;
        let call = position(calls, |(of, _)| *of == ticket)?;
        self.take(peer, connection, call)
    }

    /// Takes out the newest call of the client that has the most, for a call of another client that has fewer: of the
    /// busiest peer, or else of the busiest connection of the same peer. None if that would not be fairer.
    pub(super) fn make_room_for(&mut self, caller: Caller) -> Option<T> {
        let own_peer = position(&self.peers, |peer| peer.address == caller.address);
        let own_len = own_peer
            .and_then(|peer| self.peers.get(peer))
            .map_or(0, |peer| peer.len);
        let busiest = longest(&self.peers, |peer| peer.len)?;
        if self.peers.get(busiest)?.len > own_len + 1 {
            let connections = &self.peers.get(busiest)?.connections;
            let connection = longest(connections, |it| it.calls.len())?;
            let newest = connections.get(connection)?.calls.len().checked_sub(1)?;
            return self.take(busiest, connection, newest);
        }
        let own_peer = own_peer?;
        let connections = &self.peers.get(own_peer)?.connections;
        let own_len = connections
            .iter()
            .find(|it| it.connection == caller.connection)
            .map_or(0, |it| it.calls.len());
        let busiest = longest(connections, |it| it.calls.len())?;
        let len = connections.get(busiest)?.calls.len();
        match len > own_len + 1 {
            true => self.take(own_peer, busiest, len - 1),
            false => None,
        }
    }

    /// Takes a call by its position. Queues without calls go away.
    fn take(&mut self, peer: usize, connection: usize, call: usize) -> Option<T> {
        let of_peer = self.peers.get_mut(peer)?;
        let of_connection = of_peer.connections.get_mut(connection)?;
        let (_, call) = of_connection.calls.remove(call)?;
        if of_connection.calls.is_empty() {
            of_peer.connections.remove(connection);
        }
        of_peer.len -= 1;
        if of_peer.len == 0 {
            self.peers.remove(peer);
        }
        self.len -= 1;
        Some(call)
    }
}

/// The queue that `is_it` accepts, or a new one at the end of the line.
fn entry<Q>(
    queues: &mut VecDeque<Q>,
    is_it: impl Fn(&Q) -> bool,
    make: impl FnOnce() -> Q,
) -> &mut Q {
    let at = position(queues, is_it).unwrap_or_else(|| {
        queues.push_back(make());
        queues.len() - 1
    });
    &mut queues[at]
}

fn position<Q>(queues: &VecDeque<Q>, is_it: impl Fn(&Q) -> bool) -> Option<usize> {
    queues.iter().position(is_it)
}

fn longest<Q>(queues: &VecDeque<Q>, len: impl Fn(&Q) -> usize) -> Option<usize> {
    let lengths = queues.iter().map(len).enumerate();
    lengths.max_by_key(|(_, len)| *len).map(|(at, _)| at)
}

#[cfg(test)]
mod tests;
