//! Slow clients, many clients, and clients that cancel their calls: others are served all the same.

use std::num::NonZeroUsize;
use std::time::Duration;

use kiln_server::{ConnectionOptions, Options, Words};
use tonic::Code;
use tonic_health::ServingStatus;

use crate::harness::{LIST, TestServer, request};
use crate::health::check;
use crate::raw::{
    CHECK, DATA, END_STREAM, EVALUATE, GO_AWAY, HEADERS, PREFACE, RESET, Raw, SETTINGS, WATCH,
    call, empty_call, frame, headers, large_headers, reset,
};

const MIB: usize = 1024 * 1024;
const SERVING: Result<i32, Code> = Ok(ServingStatus::Serving as i32);

/// A script that waits for a file.
const WAITS: &str = "here=$(dirname \"$0\"); echo $$ > \"$here/pid\"; \
     while ! [ -e \"$here/go\" ]; do sleep 0.01; done; cat";

/// Limits of connections, half of them for one peer.
fn connections(max: usize) -> Options {
    Options {
        connections: ConnectionOptions {
            max: NonZeroUsize::new(max).expect("a number"),
            ..ConnectionOptions::default()
        },
        ..Options::default()
    }
}

fn impatient() -> Options {
    Options {
        connections: ConnectionOptions {
            request_timeout: Duration::from_millis(300),
            ..ConnectionOptions::default()
        },
        ..Options::default()
    }
}

/// The streams of a client, the first `count` of them.
fn streams(count: u32) -> impl Iterator<Item = u32> {
    (0..count).map(|number| 2 * number + 1)
}

#[tokio::test]
async fn requests_that_announce_much_and_send_little_keep_out_no_others() {
    let options = Options {
        max_held_bytes: 32 * MIB,
        ..Options::default()
    };
    let test_server = TestServer::with(options, Words::Runner).await;
    let mut slow = Raw::connect(test_server.address).await;
    let announced = u32::try_from(6 * MIB).expect("a size").to_be_bytes();
    let first = [&[0][..], &announced, b"x"].concat();
    for stream in streams(400) {
        let begun = [headers(stream, EVALUATE, 0), frame(DATA, 0, stream, &first)].concat();
        slow.send(&begun).await;
    }
    slow.flush().await;
    let large = format!("{LIST}#{}\n", "x".repeat(3 * MIB));
    for _ in 0..3 {
        test_server
            .call("tree", large.clone())
            .await
            .expect("a list");
    }
    // The slow ones continue.
    slow.send(&frame(DATA, 0, 1, b"x")).await;
    slow.flush().await;
}

#[tokio::test]
async fn a_connection_that_holds_its_share_leaves_room_for_others() {
    let options = Options {
        max_held_bytes: 32 * MIB,
        ..Options::default()
    };
    let test_server = TestServer::with(options, Words::Runner).await;
    let mut greedy = Raw::connect(test_server.address).await;
    let size = 2 * MIB;
    let announced = u32::try_from(size).expect("a size").to_be_bytes();
    // All but the last byte of more requests than fit into memory.
    for stream in streams(40) {
        greedy.send(&headers(stream, EVALUATE, 0)).await;
        let first = [&[0][..], &announced].concat();
        greedy.send(&frame(DATA, 0, stream, &first)).await;
    }
    greedy.flush().await;
    let piece = vec![b'x'; 16 * 1024];
    for _ in 0..8 {
        for stream in streams(40) {
            greedy.send(&frame(DATA, 0, stream, &piece)).await;
        }
        greedy.flush().await;
    }
    let large = format!("{LIST}#{}\n", "x".repeat(4 * MIB));
    test_server.call("tree", large).await.expect("a list");
}

#[tokio::test]
async fn a_request_must_be_complete_in_time() {
    let test_server = TestServer::with(impatient(), Words::Runner).await;
    let mut slow = Raw::connect(test_server.address).await;
    for (stream, path) in [(1, EVALUATE), (3, CHECK)] {
        let begun = [
            headers(stream, path, 0),
            frame(DATA, 0, stream, b"\0\0\0\0\x09abc"),
        ];
        slow.send(&begun.concat()).await;
        // A status, and the end of the client's stream.
        let status = slow.wait_for(HEADERS, stream).await;
        assert_eq!(status.flags & END_STREAM, END_STREAM);
    }
    slow.send(&call(5, "tree", LIST)).await;
    slow.wait_for(DATA, 5).await;
}

#[tokio::test]
async fn an_answer_that_the_client_does_not_read_is_dropped() {
    let test_server = TestServer::with(impatient(), Words::Runner).await;
    let mut deaf = Raw::silent(test_server.address).await;
    // The server may not send any data.
    let no_window = frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
    deaf.send(&[PREFACE, &no_window].concat()).await;
    deaf.send(&call(1, "tree", LIST)).await;
    deaf.wait_for(HEADERS, 1).await;
    deaf.wait_for(RESET, 1).await;
    test_server.call("tree", LIST).await.expect("a list");
}

#[tokio::test]
async fn idle_connections_keep_out_neither_probes_nor_calls() {
    let test_server = TestServer::with(connections(20), Words::Runner).await;
    let mut idle = Vec::new();
    for number in 0..200_u8 {
        let mut raw = match number % 4 {
            0 => Raw::silent(test_server.address).await,
            _ => Raw::connect_from(2 + number % 3, test_server.address).await,
        };
        match number % 4 {
            // Half a preface, a watch, half a request's headers.
            0 => raw.send(&PREFACE[..10]).await,
            1 => raw.send(&empty_call(1, WATCH)).await,
            2 => raw.send(&headers(1, EVALUATE, 0)[..20]).await,
            _ => {}
        }
        idle.push(raw);
        if number % 50 == 49 {
            assert_eq!(check(test_server.channel().await, "").await, SERVING);
            test_server.call("tree", LIST).await.expect("a list");
        }
    }
    // The oldest was evicted.
    for raw in idle.iter_mut().take(100) {
        raw.end().await;
    }
}

#[tokio::test]
async fn a_connection_with_a_call_stays_and_probes_get_through() {
    // One connection for each peer.
    let test_server = TestServer::with(connections(2), Words::Runner).await;
    test_server.script("waits", WAITS);
    let mut busy = Raw::connect(test_server.address).await;
    busy.send(&call(1, "waits", LIST)).await;
    test_server.appears("pid").await;
    let mut others = Vec::new();
    for _ in 0..100 {
        others.push(Raw::connect(test_server.address).await);
        assert_eq!(check(test_server.channel().await, "").await, SERVING);
    }
    let status = test_server.call("tree", LIST).await.expect_err("no call");
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(
        status.message().ends_with("or raise --max-connections"),
        "{}",
        status.message()
    );
    // Other peers have their own share.
    let mut other = Raw::connect_from(2, test_server.address).await;
    other.send(&call(1, "tree", LIST)).await;
    other.wait_for(DATA, 1).await;
    std::fs::write(test_server.path("go"), "").expect("a file");
    busy.wait_for(DATA, 1).await;
    busy.end_of_answer(1).await;
    test_server.call("tree", LIST).await.expect("a list");
}

#[tokio::test]
async fn a_connection_without_requests_is_closed_after_a_while() {
    let options = Options {
        connections: ConnectionOptions {
            idle_timeout: Duration::from_millis(300),
            ..ConnectionOptions::default()
        },
        ..Options::default()
    };
    let test_server = TestServer::with(options, Words::Runner).await;
    test_server.script("waits", WAITS);
    let mut busy = Raw::connect(test_server.address).await;
    busy.send(&call(1, "waits", LIST)).await;
    let mut idle = Raw::connect(test_server.address).await;
    idle.end().await;
    // A client that still has a call is not idle.
    std::fs::write(test_server.path("go"), "").expect("a file");
    busy.wait_for(DATA, 1).await;
}

#[tokio::test]
async fn many_calls_may_be_cancelled_at_once() {
    let test_server = TestServer::new().await;
    test_server.script("waits", WAITS);
    let mut client = Raw::connect(test_server.address).await;
    client.send(&call(1, "waits", LIST)).await;
    test_server.appears("pid").await;
    for round in 0..3 {
        let mut burst = Vec::new();
        let first = 3 + 1000 * round;
        for stream in streams(500).map(|stream| stream + first - 1) {
            burst.extend(call(stream, "tree", LIST));
        }
        for stream in streams(500).map(|stream| stream + first - 1) {
            burst.extend(reset(stream));
        }
        client.send(&burst).await;
        client.flush().await;
    }
    std::fs::write(test_server.path("go"), "").expect("a file");
    client.wait_for(DATA, 1).await;
    client.send(&call(10_001, "tree", LIST)).await;
    client.wait_for(DATA, 10_001).await;
}

#[tokio::test]
async fn a_client_that_opens_and_resets_streams_without_end_is_closed() {
    let test_server = TestServer::new().await;
    let mut flood = Raw::connect(test_server.address).await;
    let mut batches = (0_u32..).map(|batch| {
        let streams = streams(500).map(|stream| stream + 1000 * batch);
        let pairs = streams.map(|stream| [call(stream, "tree", LIST), reset(stream)].concat());
        pairs.collect::<Vec<_>>().concat()
    });
    let ended = async {
        loop {
            let Some(frame) = flood.next().await else {
                return;
            };
            if frame.kind == GO_AWAY {
                return;
            }
            if frame.kind == crate::raw::PING && frame.flags == 1 || frame.kind == SETTINGS {
                let batch = batches.next().expect("there is no end");
                flood.send(&batch).await;
                // The next batch is sent when this one has been read.
                let ping = self::frame(crate::raw::PING, 0, 0, b"received");
                flood.send(&ping).await;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(120), ended)
        .await
        .expect("the flood has an end");
    test_server.call("tree", LIST).await.expect("a list");
}

#[tokio::test]
async fn a_client_that_cancels_all_its_calls_keeps_its_channel() {
    let test_server = TestServer::new().await;
    test_server.script("waits", WAITS);
    let channel = test_server.channel().await;
    let call = |image: &'static str| {
        let channel = channel.clone();
        tokio::spawn(async move {
            let client =
                kiln_proto::evaluator::function_evaluator_client::FunctionEvaluatorClient::new(
                    channel,
                );
            let mut client = client;
            client.evaluate_function(request(image, LIST)).await
        })
    };
    let stays = call("waits");
    test_server.appears("pid").await;
    for _ in 0..5 {
        let cancelled: Vec<_> = (0..400).map(|_| call("tree")).collect();
        tokio::task::yield_now().await;
        cancelled.iter().for_each(tokio::task::JoinHandle::abort);
    }
    std::fs::write(test_server.path("go"), "").expect("a file");
    stays.await.expect("a call").expect("a list");
}

/// Starts requests on one connection after the other until one is refused; returns how many were not.
async fn streams_until_refused(
    test_server: &TestServer,
    request: impl Fn(u32) -> Vec<u8>,
) -> (usize, Vec<Raw>) {
    let mut connections = Vec::new();
    let mut open = 0;
    loop {
        assert!(connections.len() < 40, "{open} streams are open");
        let mut raw = Raw::connect_from(2, test_server.address).await;
        for stream in streams(1000) {
            raw.send(&request(stream)).await;
        }
        // The answer to this is the last one.
        raw.send(&frame(crate::raw::PING, 0, 0, b"received")).await;
        let mut refused = 0;
        loop {
            let frame = raw.next().await.expect("the connection ended");
            assert_ne!(frame.kind, GO_AWAY, "{frame:?}");
            match (frame.kind, frame.flags) {
                (HEADERS, flags) if flags & END_STREAM != 0 => refused += 1,
                (crate::raw::PING, 1) => break,
                _ => {}
            }
        }
        connections.push(raw);
        open += 1000 - refused;
        if refused > 0 {
            return (open, connections);
        }
    }
}

#[tokio::test]
async fn a_peer_with_very_many_streams_leaves_room_for_others() {
    for path in [WATCH, EVALUATE, CHECK] {
        let test_server = TestServer::new().await;
        let request = |stream| match path {
            WATCH => empty_call(stream, path),
            // Nothing follows.
            _ => headers(stream, path, 0),
        };
        let (open, _connections) = streams_until_refused(&test_server, request).await;
        assert!(open < 10_000, "{path}: {open}");
        assert_eq!(check(test_server.channel().await, "").await, SERVING);
        test_server.call("tree", LIST).await.expect("a list");
    }
}

#[tokio::test]
async fn large_headers_count_as_memory() {
    for path in [EVALUATE, CHECK] {
        let test_server = TestServer::new().await;
        let request = |stream| large_headers(stream, path, 50_000);
        let (open, _connections) = streams_until_refused(&test_server, request).await;
        assert!(open < 1000, "{path}: {open}");
        assert_eq!(check(test_server.channel().await, "").await, SERVING);
        test_server.call("tree", LIST).await.expect("a list");
    }
}
