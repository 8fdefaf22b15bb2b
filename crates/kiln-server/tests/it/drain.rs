//! The end of a server.

use std::time::Duration;

use kiln_proto::SERVICE;
use kiln_server::{Options, Words};
use tonic::Code;
use tonic_health::ServingStatus;

use crate::harness::{LIST, TestServer, request};
use crate::health::check;

const WAITS: &str = "here=$(dirname \"$0\"); echo $$ > \"$here/pid\"; \
     while ! [ -e \"$here/go\" ]; do sleep 0.01; done; cat";

#[tokio::test]
async fn running_calls_finish_and_new_ones_are_refused() {
    let test_server = TestServer::new().await;
    test_server.script("waits", WAITS);
    let mut client = test_server.client().await;
    let call = tokio::spawn(async move { client.evaluate_function(request("waits", LIST)).await });
    test_server.appears("pid").await;
    test_server.stop.drain();
    let not_serving = Ok(ServingStatus::NotServing as i32);
    assert_eq!(check(test_server.channel().await, "").await, not_serving);
    assert_eq!(
        check(test_server.channel().await, SERVICE).await,
        not_serving
    );
    let status = test_server.call("waits", LIST).await.expect_err("no more");
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(status.message(), "the server is shutting down");
    std::fs::write(test_server.path("go"), "").expect("a file");
    let answer = call.await.expect("a call").expect("a list");
    assert_eq!(answer.into_inner().resource_list, LIST);
    test_server.server.await.expect("an end");
}

#[tokio::test]
async fn calls_that_take_too_long_are_cancelled() {
    let options = Options {
        drain_timeout: Duration::from_millis(100),
        ..Options::default()
    };
    let test_server = TestServer::with(options, Words::Runner).await;
    test_server.script("waits", WAITS);
    let mut client = test_server.client().await;
    let call = tokio::spawn(async move { client.evaluate_function(request("waits", LIST)).await });
    test_server.appears("pid").await;
    test_server.stop.drain();
    let status = call.await.expect("a call").expect_err("no time");
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(
        status.message(),
        "function \"waits\" was interrupted because the server is shutting down"
    );
    test_server.is_gone("pid").await;
    test_server.server.await.expect("an end");
}

#[tokio::test]
async fn now_means_now() {
    let test_server = TestServer::new().await;
    test_server.script("waits", WAITS);
    let mut client = test_server.client().await;
    let call = tokio::spawn(async move { client.evaluate_function(request("waits", LIST)).await });
    test_server.appears("pid").await;
    test_server.stop.drain();
    test_server.stop.now();
    let status = call.await.expect("a call").expect_err("no time");
    assert_eq!(status.code(), Code::Unavailable);
    test_server.is_gone("pid").await;
    test_server.server.await.expect("an end");
}

#[tokio::test]
async fn an_idle_server_ends_at_once_even_with_clients() {
    let test_server = TestServer::new().await;
    let _channel = test_server.channel().await;
    test_server.call("tree", LIST).await.expect("a list");
    test_server.stop.drain();
    test_server.server.await.expect("an end");
}
