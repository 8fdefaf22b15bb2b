//! Which connection is evicted when there are too many.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::advance;

use super::{ConnectionEnd, Connections, MAX_STREAMS, RESERVE, Registered, Unanswered};

const HOUR: Duration = Duration::from_secs(3600);

fn address(last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(127, 0, 0, last))
}

/// Whether a connection has to end.
async fn has_ended(registered: &Registered) -> Option<ConnectionEnd> {
    let ended = registered.connection().ended(HOUR);
    tokio::time::timeout(Duration::ZERO, ended).await.ok()
}

#[tokio::test(start_paused = true)]
async fn the_one_that_has_been_idle_for_longest_goes() {
    let connections = Connections::new(4);
    let mut open = Vec::new();
    for last in 1..=4 {
        open.push(connections.register(address(last)));
        advance(Duration::from_secs(1)).await;
    }
    // The first has a call, the second had one a moment ago.
    let _call = open[0].connection().begin_call();
    drop(open[1].connection().begin_call());
    let _watch = open[2].connection().open_stream();
    let fifth = connections.register(address(5));
    assert!(connections.takes_calls(fifth.connection()));
    assert_eq!(has_ended(&open[3]).await, Some(ConnectionEnd::Evicted));
    let _sixth = connections.register(address(6));
    assert_eq!(has_ended(&open[1]).await, Some(ConnectionEnd::Evicted));
    for stays in [&open[0], &open[2], &fifth] {
        assert_eq!(has_ended(stays).await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn streams_without_calls_occupy_no_slot() {
    let connections = Connections::new(2);
    let watching = connections.register(address(1));
    let _watch = watching.connection().open_stream();
    let busy = connections.register(address(2));
    let _call = busy.connection().begin_call();
    let new = connections.register(address(3));
    assert!(connections.takes_calls(new.connection()));
    assert_eq!(has_ended(&watching).await, Some(ConnectionEnd::Evicted));
    assert_eq!(has_ended(&busy).await, None);
}

#[tokio::test(start_paused = true)]
async fn when_all_have_calls_new_connections_are_for_probes() {
    let connections = Connections::new(2);
    let busy: Vec<Registered> = [1, 2]
        .map(|last| connections.register(address(last)))
        .into();
    let mut calls: Vec<_> = busy
        .iter()
        .map(|busy| busy.connection().begin_call())
        .collect();
    let mut probes = Vec::new();
    for _ in 0..10 * RESERVE {
        probes.push(connections.register(address(3)));
        advance(Duration::from_millis(1)).await;
    }
    let last = probes.last().expect("a connection");
    assert!(!connections.takes_calls(last.connection()));
    assert_eq!(has_ended(last).await, None);
    let mut ended = 0;
    for probe in &probes {
        ended += usize::from(has_ended(probe).await.is_some());
    }
    assert_eq!(ended, 9 * RESERVE);
    drop(calls.pop());
    drop(busy);
    assert!(connections.takes_calls(last.connection()));
}

#[tokio::test(start_paused = true)]
async fn a_peer_has_its_share_and_no_more() {
    let connections = Connections::new(8);
    let good = connections.register(address(1));
    advance(HOUR).await;
    let hostile: Vec<Registered> = (0..100).map(|_| connections.register(address(2))).collect();
    assert_eq!(
        has_ended(&good).await,
        Some(ConnectionEnd::Idle),
        "of age, not for others"
    );
    assert!(connections.takes_calls(good.connection()));
    let mut open = 0;
    for hostile in &hostile {
        open += usize::from(has_ended(hostile).await.is_none());
    }
    assert_eq!(open, 4);
}

#[tokio::test(start_paused = true)]
async fn addresses_of_one_host_are_one_peer() {
    let connections = Connections::new(4);
    let host = |last: u16| IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, last));
    let open: Vec<Registered> = (0..3)
        .map(|last| connections.register(host(last)))
        .collect();
    let mut ended = 0;
    for open in &open {
        ended += usize::from(has_ended(open).await.is_some());
    }
    assert_eq!(ended, 1);
    let mapped = IpAddr::V6(Ipv4Addr::LOCALHOST.to_ipv6_mapped());
    assert_eq!(super::network(mapped), address(1));
}

#[tokio::test(start_paused = true)]
async fn one_without_streams_ends_after_the_idle_timeout() {
    let connections = Connections::new(4);
    let registered = connections.register(address(1));
    let connection = Arc::clone(registered.connection());
    let timeout = Duration::from_secs(10);
    let stream = connection.open_stream();
    let ended = tokio::spawn(async move { connection.ended(timeout).await });
    advance(HOUR).await;
    assert!(!ended.is_finished());
    drop(stream);
    let since = tokio::time::Instant::now();
    assert_eq!(ended.await.expect("an end"), ConnectionEnd::Idle);
    assert!(since.elapsed() >= timeout);
}

#[tokio::test(start_paused = true)]
async fn all_calls_may_be_cancelled_but_not_in_a_loop() {
    let connections = Connections::new(4);
    let registered = connections.register(address(1));
    let cancel = |times: u32| {
        for _ in 0..times {
            drop(Unanswered::new(registered.connection()));
        }
    };
    for _ in 0..100 {
        cancel(MAX_STREAMS);
        advance(Duration::from_secs(1)).await;
    }
    assert_eq!(has_ended(&registered).await, None);
    for _ in 0..1_000_000 {
        Unanswered::new(registered.connection()).answered();
    }
    assert_eq!(has_ended(&registered).await, None);
    cancel(11 * MAX_STREAMS);
    assert_eq!(
        has_ended(&registered).await,
        Some(ConnectionEnd::TooManyResets)
    );
}
