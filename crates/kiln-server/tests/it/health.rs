//! Responses to health probes.

use std::time::Duration;

use kiln_proto::SERVICE;
use kiln_proto::idle::idle_time;
use kiln_runtime::EvaluatorChain;
use kiln_server::{Options, Server};
use tonic::Code;
use tonic::transport::Channel;
use tonic_health::ServingStatus;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::harness::TestServer;

pub(crate) async fn check(channel: Channel, service: &str) -> Result<i32, Code> {
    let request = HealthCheckRequest {
        service: service.to_owned(),
    };
    let answer = HealthClient::new(channel).check(request).await;
    answer
        .map(|answer| answer.into_inner().status)
        .map_err(|status| status.code())
}

#[tokio::test]
async fn a_server_with_functions_serves() {
    let test_server = TestServer::new().await;
    let channel = test_server.channel().await;
    let serving = Ok(ServingStatus::Serving as i32);
    assert_eq!(check(channel.clone(), "").await, serving);
    assert_eq!(check(channel.clone(), SERVICE).await, serving);
    assert_eq!(check(channel, "other").await, Err(Code::NotFound));
}

#[tokio::test]
async fn a_server_without_functions_is_alive_and_does_not_serve() {
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let server = Server::bind(address, EvaluatorChain::default(), Options::default()).await;
    let server = server.expect("a port");
    let address = server.address();
    tokio::spawn(server.run());
    let channel = tonic::transport::Endpoint::from_shared(format!("http://{address}"));
    let channel = channel.expect("an address").connect_lazy();
    assert_eq!(
        check(channel.clone(), "").await,
        Ok(ServingStatus::Serving as i32)
    );
    assert_eq!(
        check(channel.clone(), SERVICE).await,
        Ok(ServingStatus::NotServing as i32)
    );
    let mut client =
        kiln_proto::evaluator::function_evaluator_client::FunctionEvaluatorClient::new(channel);
    let answer = client
        .evaluate_function(crate::harness::request("x", ""))
        .await;
    let status = answer.expect_err("no function");
    assert_eq!(status.code(), Code::NotFound);
    assert_eq!(
        status.message(),
        "function \"x\" not found; no evaluator is enabled"
    );
}

#[tokio::test]
async fn watchers_are_notified_of_the_end() {
    let test_server = TestServer::new().await;
    test_server.script("slow", "touch \"$(dirname \"$0\")/started\"; while ! [ -e \"$(dirname \"$0\")/go\" ]; do sleep 0.01; done; cat");
    let mut watches = Vec::new();
    for service in ["", SERVICE, "other"] {
        let request = HealthCheckRequest {
            service: service.to_owned(),
        };
        let watch = HealthClient::new(test_server.channel().await)
            .watch(request)
            .await;
        watches.push(watch.expect("a watch").into_inner());
    }
    for (watch, wanted) in watches.iter_mut().zip([1, 1, 3]) {
        let first = watch.message().await.expect("a message").expect("a status");
        assert_eq!(first.status, wanted);
    }
    let client = test_server.client().await;
    let call = tokio::spawn(async move {
        let mut client = client;
        client
            .evaluate_function(crate::harness::request("slow", crate::harness::LIST))
            .await
    });
    test_server.appears("started").await;
    test_server.stop.drain();
    for watch in watches.iter_mut().take(2) {
        let next = watch.message().await.expect("a message").expect("a status");
        assert_eq!(next.status, ServingStatus::NotServing as i32);
    }
    std::fs::write(test_server.path("go"), "").expect("a file");
    call.await.expect("a call").expect("a list");
    test_server.server.await.expect("an end");
}

#[tokio::test]
async fn health_checks_report_the_idle_time() {
    let test_server = TestServer::new().await;
    let here = "here=$(dirname \"$0\")";
    test_server.script(
        "waits",
        &format!("{here}; touch $here/started; while ! [ -e $here/go ]; do sleep 0.01; done; cat"),
    );
    let channel = test_server.channel().await;
    let idle = async || {
        let request = HealthCheckRequest::default();
        let answer = HealthClient::new(channel.clone()).check(request).await;
        idle_time(answer.expect("an answer").metadata()).expect("an idle time")
    };
    let mut client = test_server.client().await;
    let call = tokio::spawn(async move {
        let request = crate::harness::request("waits", crate::harness::LIST);
        client.evaluate_function(request).await
    });
    test_server.appears("started").await;
    assert_eq!(idle().await, Duration::ZERO);
    std::fs::write(test_server.path("go"), "").expect("a file");
    call.await.expect("a call").expect("a list");
    // It only grows from now on.
    while idle().await < Duration::from_millis(20) {}
}
