//! Connections that do not get as far as a request.

use std::sync::Arc;

use tokio::io::{AsyncWriteExt as _, DuplexStream, duplex};

use super::{ConnectionError, MAX_GREETING, PREFACE, serve_stream};
use crate::evaluators::Evaluators;
use crate::health::HealthService;
use crate::held::Store;
use crate::lifecycle::{Lifecycle, Phase};
use crate::options::Options;
use crate::router::Router;
use crate::service::Service;

async fn serve(stream: DuplexStream, lifecycle: &Arc<Lifecycle>) -> Result<(), ConnectionError> {
    let options = Options::default();
    let service = Service::new(Evaluators::default(), &options, Arc::clone(lifecycle));
    let health = HealthService::new(Arc::clone(lifecycle), Evaluators::default().usable());
    let router = Router::new(Arc::new(service), health, None, Store::new(1 << 20));
    serve_stream(stream, Arc::new(router), Arc::clone(lifecycle)).await
}

#[tokio::test(start_paused = true)]
async fn one_that_says_half_of_a_greeting_is_closed() {
    let start = tokio::time::Instant::now();
    let (mut client, server) = duplex(1024);
    client
        .write_all(&PREFACE[..20])
        .await
        .expect("half a greeting");
    let served = serve(server, &Lifecycle::new()).await;
    assert!(matches!(served, Err(ConnectionError::Silent)), "{served:?}");
    assert!(start.elapsed() >= MAX_GREETING);
}

#[tokio::test]
async fn one_that_speaks_tls_to_a_server_without_is_told_apart() {
    let (mut client, server) = duplex(1024);
    client
        .write_all(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 and so on..........")
        .await
        .expect("a greeting");
    let served = serve(server, &Lifecycle::new()).await;
    let error = served.expect_err("no HTTP/2").to_string();
    assert_eq!(
        error,
        "what was said first is not HTTP/2, but TLS, and this server has no certificate"
    );
}

#[tokio::test]
async fn one_that_only_looks_whether_we_are_there_is_fine() {
    let (client, server) = duplex(1024);
    drop(client);
    serve(server, &Lifecycle::new()).await.expect("no error");
}

#[tokio::test]
async fn one_without_requests_ends_with_the_server() {
    let (mut client, server) = duplex(1024);
    client.write_all(PREFACE).await.expect("a greeting");
    client
        .write_all(b"\0\0\0\x04\0\0\0\0\0")
        .await
        .expect("settings");
    let lifecycle = Lifecycle::new();
    lifecycle.advance(Phase::Ended);
    serve(server, &lifecycle).await.expect("an end");
}
