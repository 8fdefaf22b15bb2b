//! The order of calls, and which of them a full queue gives up.

use std::net::{IpAddr, Ipv4Addr};

use super::{Caller, FairQueue};

fn caller(peer: u8, connection: u64) -> Caller {
    Caller {
        address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, peer)),
        connection,
    }
}

/// A queue of calls that are named after their connection.
fn queue(callers: &[(u8, u64)]) -> FairQueue<u64> {
    let mut queue = FairQueue::new();
    for (peer, connection) in callers {
        queue.push(caller(*peer, *connection), *connection);
    }
    queue
}

fn drain(mut queue: FairQueue<u64>) -> Vec<u64> {
    std::iter::from_fn(|| queue.pop()).collect()
}

#[test]
fn connections_take_turns() {
    let queue = queue(&[(1, 10), (1, 10), (1, 10), (1, 11), (1, 11)]);
    assert_eq!(drain(queue), [10, 11, 10, 11, 10]);
}

#[test]
fn peers_take_turns_whatever_connections_they_have() {
    let queue = queue(&[(1, 10), (1, 11), (1, 12), (2, 20), (2, 20)]);
    assert_eq!(drain(queue), [10, 20, 11, 20, 12]);
}

#[test]
fn calls_of_a_connection_keep_their_order() {
    let mut queue = FairQueue::new();
    for call in 0..5 {
        queue.push(caller(1, 10), call);
    }
    assert_eq!(drain(queue), [0, 1, 2, 3, 4]);
}

#[test]
fn a_call_that_leaves_is_gone_and_leaves_once() {
    let mut queue = queue(&[(1, 10), (1, 11)]);
    let ticket = queue.push(caller(2, 20), 20);
    assert_eq!(queue.len(), 3);
    assert_eq!(queue.remove(caller(2, 20), ticket), Some(20));
    assert_eq!(queue.remove(caller(2, 20), ticket), None);
    assert_eq!(queue.len(), 2);
    assert_eq!(drain(queue), [10, 11]);
}

#[test]
fn the_busiest_peer_makes_room_with_its_newest_call() {
    let mut queue = FairQueue::new();
    for call in 0..4 {
        queue.push(caller(1, 10), call);
    }
    queue.push(caller(1, 11), 100);
    assert_eq!(queue.make_room_for(caller(2, 20)), Some(3));
    queue.push(caller(2, 20), 200);
    assert_eq!(drain(queue), [0, 200, 100, 1, 2]);
}

#[test]
fn the_busiest_connection_of_a_peer_makes_room_for_its_others() {
    let mut queue = queue(&[(1, 10), (1, 10), (1, 10)]);
    assert_eq!(queue.make_room_for(caller(1, 11)), Some(10));
    assert_eq!(queue.len(), 2);
}

#[test]
fn nothing_is_given_up_where_it_would_not_be_fairer() {
    let mut queue = queue(&[(1, 10), (1, 10), (2, 20), (2, 20)]);
    assert_eq!(queue.make_room_for(caller(1, 10)), None);
    assert_eq!(queue.make_room_for(caller(2, 20)), None);
    assert_eq!(queue.len(), 4);
    let empty = &mut FairQueue::<u64>::new();
    assert_eq!(empty.make_room_for(caller(1, 10)), None);
}

/// With many clients, each keeps an equal part of the queue whatever the others send.
#[test]
fn no_client_is_shut_out() {
    const LIMIT: usize = 30;
    let mut queue = queue(&[(1, 10); LIMIT]);
    for peer in 2..=10 {
        for _ in 0..LIMIT {
            let caller = caller(peer, u64::from(peer) * 10);
            if queue.make_room_for(caller).is_some() {
                queue.push(caller, caller.connection);
            }
            assert_eq!(queue.len(), LIMIT);
        }
    }
    let order = drain(queue);
    for connection in (1..=10).map(|peer| peer * 10) {
        let count = order.iter().filter(|it| **it == connection).count();
        assert!((2..=4).contains(&count), "{connection}: {count} calls");
        let first = order.iter().position(|it| *it == connection);
        assert!(
            first.is_some_and(|first| first < 10),
            "{connection}: {first:?}"
        );
    }
}
