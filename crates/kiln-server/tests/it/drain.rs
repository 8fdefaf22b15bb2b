//! The end of a server.

use std::time::Duration;

use kiln_proto::SERVICE;
use kiln_server::{Options, Words};
use tonic::Code;
use tonic_health::ServingStatus;

use crate::harness::{LIST, World, request};
use crate::health::check;

const WAITS: &str = "here=$(dirname \"$0\"); echo $$ > \"$here/pid\"; \
     while ! [ -e \"$here/go\" ]; do sleep 0.01; done; cat";

#[tokio::test]
async fn running_calls_finish_and_new_ones_are_refused() {
    let world = World::new().await;
    world.script("waits", WAITS);
    let mut client = world.client().await;
    let call = tokio::spawn(async move { client.evaluate_function(request("waits", LIST)).await });
    world.appears("pid").await;
    world.stop.drain();
    let not_serving = Ok(ServingStatus::NotServing as i32);
    assert_eq!(check(world.channel().await, "").await, not_serving);
    assert_eq!(check(world.channel().await, SERVICE).await, not_serving);
    let status = world.call("waits", LIST).await.expect_err("no more");
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(status.message(), "the server is shutting down");
    std::fs::write(world.path("go"), "").expect("a file");
    let answer = call.await.expect("a call").expect("a list");
    assert_eq!(answer.into_inner().resource_list, LIST);
    world.server.await.expect("an end");
}

#[tokio::test]
async fn calls_that_take_too_long_are_cancelled() {
    let options = Options {
        drain_timeout: Duration::from_millis(100),
        ..Options::default()
    };
    let world = World::with(options, Words::Runner).await;
    world.script("waits", WAITS);
    let mut client = world.client().await;
    let call = tokio::spawn(async move { client.evaluate_function(request("waits", LIST)).await });
    world.appears("pid").await;
    world.stop.drain();
    let status = call.await.expect("a call").expect_err("no time");
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(
        status.message(),
        "function \"waits\" was interrupted because the server is shutting down"
    );
    world.is_gone("pid").await;
    world.server.await.expect("an end");
}

#[tokio::test]
async fn now_means_now() {
    let world = World::new().await;
    world.script("waits", WAITS);
    let mut client = world.client().await;
    let call = tokio::spawn(async move { client.evaluate_function(request("waits", LIST)).await });
    world.appears("pid").await;
    world.stop.drain();
    world.stop.now();
    let status = call.await.expect("a call").expect_err("no time");
    assert_eq!(status.code(), Code::Unavailable);
    world.is_gone("pid").await;
    world.server.await.expect("an end");
}

#[tokio::test]
async fn an_idle_server_ends_at_once_even_with_clients() {
    let world = World::new().await;
    let _channel = world.channel().await;
    world.call("tree", LIST).await.expect("a list");
    world.stop.drain();
    world.server.await.expect("an end");
}
