//! Limits of size, time and concurrency.

use std::num::NonZeroUsize;
use std::time::Duration;

use kiln_proto::tonic_types::StatusExt as _;
use kiln_server::{AdmissionOptions, Options, Words};
use tonic::Code;

use crate::harness::{LIST, TestServer, request};

fn small_messages() -> Options {
    Options {
        max_message_size: 2000,
        ..Options::default()
    }
}

fn one_slot(queue: usize) -> Options {
    Options {
        admission: AdmissionOptions {
            processes: NonZeroUsize::MIN,
            native: NonZeroUsize::MIN,
            slow: NonZeroUsize::MIN,
            forwarded: NonZeroUsize::MIN,
            queue,
        },
        ..Options::default()
    }
}

/// A function that reports that it runs and waits for a file.
const WAITS: &str = "here=$(dirname \"$0\"); echo $$ > \"$here/pid\"; \
     while ! [ -e \"$here/go\" ]; do sleep 0.01; done; cat";

#[tokio::test]
async fn a_large_request_is_refused_with_limit_size_and_flag() {
    let test_server = TestServer::with(small_messages(), Words::Runner).await;
    let list = format!("{LIST}#{}\n", "x".repeat(3000));
    let size = prost::Message::encoded_len(request("tree", list.clone()).get_ref());
    let status = test_server.call("tree", list).await.expect_err("too large");
    assert_eq!(status.code(), Code::ResourceExhausted);
    let wanted = format!(
        "the request has {size} bytes, more than the limit of 2000 bytes; raise it with \
         --max-request-body-size here and with --function-runner-grpc-max-message-size in Porch (porch-server: --max-request-body-size)"
    );
    assert_eq!(status.message(), wanted);
}

#[tokio::test]
async fn a_request_of_100_megabytes_is_refused_and_the_connection_lives_on() {
    let test_server = TestServer::new().await;
    let mut client = test_server.client().await;
    let list = vec![b'x'; 100 * 1024 * 1024];
    let answer = client.evaluate_function(request("tree", list)).await;
    let status = answer.expect_err("too large");
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    assert!(
        status.message().contains("--max-request-body-size"),
        "{}",
        status.message()
    );
    let answer = client.evaluate_function(request("tree", LIST)).await;
    answer.expect("a list");
}

#[tokio::test]
async fn a_large_answer_is_refused_and_a_large_log_cut() {
    let test_server = TestServer::with(small_messages(), Words::Runner).await;
    test_server.script("grows", "cat; head -c 2100 /dev/zero | tr '\\0' '#'");
    let status = test_server
        .call("grows", LIST)
        .await
        .expect_err("too large");
    assert_eq!(status.code(), Code::ResourceExhausted);
    let start = "the answer of function \"grows\" has ";
    assert!(status.message().starts_with(start), "{}", status.message());
    assert!(
        status
            .message()
            .contains("more than the limit of 2000 bytes")
    );

    test_server.script(
        "talks",
        "echo first >&2; head -c 2500 /dev/zero | tr '\\0' '-' >&2; echo last >&2; cat",
    );
    let answer = test_server.call("talks", LIST).await.expect("a list");
    assert_eq!(answer.resource_list, LIST);
    let log = String::from_utf8_lossy(&answer.log).into_owned();
    assert!(
        log.starts_with("first\n") && log.ends_with("last\n"),
        "{log}"
    );
    assert!(log.contains("bytes omitted"), "{log}");
}

#[tokio::test]
async fn a_timeout_kills_the_function() {
    let test_server = TestServer::new().await;
    test_server.script(
        "hangs",
        "echo $$ > \"$(dirname \"$0\")/pid\"; trap '' TERM; while :; do sleep 1; done",
    );
    let mut call = request("hangs", LIST);
    call.set_timeout(Duration::from_millis(700));
    let answer = test_server.client().await.evaluate_function(call).await;
    let status = answer.expect_err("no time");
    // The client may notice the timeout first.
    let codes = [Code::DeadlineExceeded, Code::Cancelled];
    assert!(codes.contains(&status.code()), "{status:?}");
    test_server.is_gone("pid").await;
}

#[tokio::test]
async fn the_server_reports_its_own_limit() {
    let options = Options {
        evaluation_timeout: Some(Duration::from_millis(300)),
        ..Options::default()
    };
    let test_server = TestServer::with(options, Words::Runner).await;
    test_server.script("hangs", "echo $$ > \"$(dirname \"$0\")/pid\"; sleep 1000");
    for image in ["hangs", "obeys"] {
        let status = test_server.call(image, LIST).await.expect_err("no time");
        assert_eq!(status.code(), Code::DeadlineExceeded);
        let wanted = format!("function \"{image}\" did not finish within 300ms");
        assert_eq!(status.message(), wanted);
    }
    test_server.is_gone("pid").await;
}

#[tokio::test]
async fn a_malformed_timeout_is_the_callers_error() {
    let test_server = TestServer::new().await;
    let mut call = request("tree", LIST);
    let value = "soon".parse().expect("a value");
    call.metadata_mut().insert("grpc-timeout", value);
    let status = test_server.client().await.evaluate_function(call).await;
    let status = status.expect_err("no time");
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(status.message(), "malformed grpc-timeout: \"soon\"");
}

#[tokio::test]
async fn a_call_without_room_gets_a_retry_delay() {
    let test_server = TestServer::with(one_slot(0), Words::Runner).await;
    test_server.script("waits", WAITS);
    let mut client = test_server.client().await;
    let call = tokio::spawn(async move { client.evaluate_function(request("waits", LIST)).await });
    test_server.appears("pid").await;
    let status = test_server.call("waits", LIST).await.expect_err("no room");
    assert_eq!(status.code(), Code::ResourceExhausted);
    let text = status.message();
    assert!(
        text.starts_with("too many evaluations: 0 are waiting already; try again in "),
        "{text}"
    );
    assert!(
        text.ends_with("or raise --max-queued-evaluations"),
        "{text}"
    );
    let details = status.get_error_details();
    let delay = details.retry_info().and_then(|info| info.retry_delay);
    assert!(delay.is_some_and(|delay| delay >= Duration::from_millis(100)));
    // Other work has other slots.
    test_server.call("tree", LIST).await.expect("a list");
    std::fs::write(test_server.path("go"), "").expect("a file");
    call.await.expect("a call").expect("a list");
    test_server.call("waits", LIST).await.expect("a list");
}

/// Two busy clients leave no room in the queue, and a third one is served all the same.
#[tokio::test]
async fn no_client_can_fill_the_queue_for_others() {
    let test_server = TestServer::with(one_slot(8), Words::Runner).await;
    test_server.script("waits", WAITS);
    test_server.script("cat", "exec cat");
    let mut client = test_server.client().await;
    let running =
        tokio::spawn(async move { client.evaluate_function(request("waits", LIST)).await });
    test_server.appears("pid").await;
    let mut busy = tokio::task::JoinSet::new();
    for _ in 0..2 {
        let client = test_server.client().await;
        for _ in 0..20 {
            let mut client = client.clone();
            busy.spawn(async move { client.evaluate_function(request("cat", LIST)).await });
        }
    }
    // As many as the queue has no room for are refused: it is full then.
    for _ in 0..32 {
        let ended = busy.join_next().await.expect("a call").expect("a task");
        let status = ended.expect_err("the queue is full");
        assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    }
    let mut client = test_server.client().await;
    let other = tokio::spawn(async move { client.evaluate_function(request("cat", LIST)).await });
    let ended = busy.join_next().await.expect("a call").expect("a task");
    let status = ended.expect_err("it makes room for the other client");
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    std::fs::write(test_server.path("go"), "").expect("a file");
    other.await.expect("a task").expect("a list");
    running.await.expect("a task").expect("a list");
    while let Some(ended) = busy.join_next().await {
        ended.expect("a task").expect("a list");
    }
}

#[tokio::test]
async fn a_call_without_memory_gets_a_retry_delay() {
    let options = Options {
        max_held_bytes: 100_000,
        ..Options::default()
    };
    let test_server = TestServer::with(options, Words::Runner).await;
    test_server.script("waits", WAITS);
    let large = format!("{LIST}#{}\n", "x".repeat(60_000));
    let mut client = test_server.client().await;
    let first = request("waits", large.clone());
    let call = tokio::spawn(async move { client.evaluate_function(first).await });
    test_server.appears("pid").await;
    let status = test_server.call("tree", large.clone()).await;
    let status = status.expect_err("no memory");
    assert_eq!(status.code(), Code::ResourceExhausted);
    let text = status.message();
    assert!(text.starts_with("no room for a request of 60"), "{text}");
    assert!(text.ends_with("or raise --max-held-bytes"), "{text}");
    assert!(status.get_error_details().retry_info().is_some());
    test_server.call("tree", LIST).await.expect("a list");
    std::fs::write(test_server.path("go"), "").expect("a file");
    call.await.expect("a call").expect("a list");
    for _ in 0..3 {
        test_server
            .call("tree", large.clone())
            .await
            .expect("a list");
    }
}

#[tokio::test]
async fn a_caller_that_disconnects_frees_its_slot_and_leaves_no_process() {
    let test_server = TestServer::with(one_slot(1), Words::Runner).await;
    test_server.script("waits", WAITS);
    test_server.script("cat", "exec cat");
    let mut client = test_server.client().await;
    let call = tokio::spawn(async move { client.evaluate_function(request("waits", LIST)).await });
    test_server.appears("pid").await;
    call.abort();
    // It has the only slot until the server notices.
    test_server.call("cat", LIST).await.expect("a list");
    test_server.is_gone("pid").await;
}

#[tokio::test]
async fn a_deadline_counts_in_the_queue_too() {
    let test_server = TestServer::with(one_slot(1), Words::Runner).await;
    test_server.script("waits", WAITS);
    let mut client = test_server.client().await;
    let call = tokio::spawn(async move { client.evaluate_function(request("waits", LIST)).await });
    test_server.appears("pid").await;
    let mut second = request("waits", LIST);
    second.set_timeout(Duration::from_millis(300));
    let answer = test_server.client().await.evaluate_function(second).await;
    answer.expect_err("no time");
    std::fs::write(test_server.path("go"), "").expect("a file");
    call.await.expect("a call").expect("a list");
}
