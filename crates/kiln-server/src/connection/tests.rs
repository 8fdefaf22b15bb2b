//! Connections that fail before their first request.

use std::net::Ipv4Addr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::time::Instant;

use super::{Acceptor, ConnectionError, HANDSHAKE_TIMEOUT, IDLE_END, PREFACE, serve_stream};
use crate::connections::Connections;
use crate::health::HealthService;
use crate::lifecycle::{Lifecycle, Phase};
use crate::options::{DEFAULT_CONNECTION_IDLE_TIMEOUT, Options};
use crate::router::Router;
use crate::service::Service;
use kiln_runtime::EvaluatorChain;

async fn serve(stream: DuplexStream, lifecycle: &Arc<Lifecycle>) -> Result<(), ConnectionError> {
    let options = Options::default();
    let service = Service::new(EvaluatorChain::default(), &options, Arc::clone(lifecycle));
    let usable = tokio::sync::watch::Sender::new(false).subscribe();
    let health = HealthService::new(Arc::clone(lifecycle), usable);
    let connections = Connections::new(10);
    let router = Router::new(
        Arc::new(service),
        health,
        &options,
        Arc::clone(&connections),
    );
    let acceptor = Acceptor {
        tls: None,
        router: Arc::new(router),
        lifecycle: Arc::clone(lifecycle),
        idle_timeout: options.connections.idle_timeout,
    };
    let registered = connections.register(Ipv4Addr::LOCALHOST.into());
    let until = Instant::now() + HANDSHAKE_TIMEOUT;
    serve_stream(stream, &acceptor, &registered, until).await
}

#[tokio::test(start_paused = true)]
async fn a_connection_with_half_a_preface_is_closed() {
    let start = tokio::time::Instant::now();
    let (mut client, server) = duplex(1024);
    client
        .write_all(&PREFACE[..20])
        .await
        .expect("half a greeting");
    let served = serve(server, &Lifecycle::new()).await;
    assert!(matches!(served, Err(ConnectionError::Silent)), "{served:?}");
    assert!(start.elapsed() >= HANDSHAKE_TIMEOUT);
}

#[tokio::test]
async fn tls_to_a_server_without_tls_is_recognised() {
    let (mut client, server) = duplex(1024);
    client
        .write_all(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 and so on..........")
        .await
        .expect("a greeting");
    let served = serve(server, &Lifecycle::new()).await;
    let error = served.expect_err("no HTTP/2").to_string();
    assert_eq!(
        error,
        "the first bytes are not HTTP/2, but TLS, and this server has no certificate"
    );
}

#[tokio::test]
async fn a_connection_that_only_checks_the_port_is_fine() {
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

/// How long the server serves a connection that begins with `frames` and then only answers pings.
async fn served_for(frames: &'static [u8]) -> std::time::Duration {
    let start = Instant::now();
    let (client, server) = duplex(1024);
    let (mut reader, mut writer) = tokio::io::split(client);
    let answering = tokio::spawn(async move {
        let settings = b"\0\0\0\x04\0\0\0\0\0";
        let first = [PREFACE, &settings[..], frames].concat();
        writer.write_all(&first).await.expect("a greeting");
        let mut head = [0; 9];
        while reader.read_exact(&mut head).await.is_ok() {
            let [a, b, c, kind, flags, ..] = head;
            let size = u32::from_be_bytes([0, a, b, c]) as usize;
            let mut payload = vec![0; size];
            if reader.read_exact(&mut payload).await.is_err() {
                return;
            }
            if (kind, flags) == (6, 0) {
                let ping = [&b"\0\0\x08\x06\x01\0\0\0\0"[..], &payload].concat();
                let _ = writer.write_all(&ping).await;
            }
        }
    });
    let _ = serve(server, &Lifecycle::new()).await;
    let time = start.elapsed();
    answering.await.expect("a client");
    time
}

#[tokio::test(start_paused = true)]
async fn one_without_a_request_is_closed() {
    let most = DEFAULT_CONNECTION_IDLE_TIMEOUT + 2 * IDLE_END;
    let time = served_for(b"").await;
    assert!(
        (DEFAULT_CONNECTION_IDLE_TIMEOUT..most).contains(&time),
        "{time:?}"
    );
    // Half of a request's headers; endless headers, which have to be continued.
    for frames in [
        &b"\0\0\x20\x01\x04\0\0\0\x01\x83"[..],
        b"\0\0\x01\x01\0\0\0\0\x01\x83",
    ] {
        let time = served_for(frames).await;
        assert!(time < most, "{time:?}");
    }
}
