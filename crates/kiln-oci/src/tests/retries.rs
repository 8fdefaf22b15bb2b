//! Retries for registries that are busy, unreachable, or close connections. Time is paused, so delays take no time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::StatusCode;
use tokio::time::Instant;

use super::fixtures::{amd64, one_image, reference, sample};
use super::network::{ReceivedRequest, Reply, TestNetwork};
use crate::{ErrorClass, RegistryError, RegistryOptions};

/// A registry that fails `times` times before it responds.
fn failing(network: &TestNetwork, times: usize, fail: impl Fn() -> Reply + Send + Sync + 'static) {
    let (store, _, _) = sample();
    let count = AtomicUsize::new(0);
    network.add("r.test:443", move |request: &ReceivedRequest| {
        match count.fetch_add(1, Ordering::Relaxed) < times {
            true => fail(),
            false => store.respond(request),
        }
    });
}

async fn read(network: &TestNetwork) -> (Duration, Result<(), RegistryError>) {
    let registry = network.registry(RegistryOptions::default());
    let begin = Instant::now();
    let read = registry.manifest(&reference("r.test/a/b:v1")).await;
    (begin.elapsed(), read.map(drop))
}

#[tokio::test(start_paused = true)]
async fn the_delay_of_a_busy_registry_is_respected() {
    let network = TestNetwork::default();
    failing(&network, 2, || Reply::new(429).with("retry-after", "7"));
    let (waited, read) = read(&network).await;
    read.unwrap();
    assert!(
        waited >= Duration::from_secs(14) && waited < Duration::from_secs(15),
        "{waited:?}"
    );
    assert_eq!(network.requests().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_delay_that_is_too_long_is_an_error() {
    let network = TestNetwork::default();
    failing(&network, 1, || {
        Reply::new(429)
            .with("retry-after", "3600")
            .body(r#"{"errors":[{"code":"TOOMANYREQUESTS","message":"slow down"}]}"#)
    });
    let (waited, read) = read(&network).await;
    let error = read.unwrap_err();
    assert_eq!(waited, Duration::ZERO);
    assert_eq!(error.class(), ErrorClass::Unavailable);
    let expected = "https://r.test/v2/a/b/manifests/v1 returned 429 Too Many Requests: slow down (TOOMANYREQUESTS)";
    assert_eq!(error.to_string(), expected);
}

#[tokio::test(start_paused = true)]
async fn retries_end() {
    let network = TestNetwork::default();
    failing(&network, usize::MAX, || Reply::new(503));
    let (waited, read) = read(&network).await;
    let error = read.unwrap_err();
    assert!(matches!(
        error,
        RegistryError::Status {
            status: StatusCode::SERVICE_UNAVAILABLE,
            ..
        }
    ));
    assert_eq!(network.requests().len(), 5);
    assert!(
        waited >= Duration::from_millis(1500) && waited <= Duration::from_secs(3),
        "{waited:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn permanent_errors_are_not_retried() {
    for status in [400, 403, 404, 405, 501] {
        let network = TestNetwork::default();
        failing(&network, usize::MAX, move || Reply::new(status));
        let (_, read) = read(&network).await;
        read.unwrap_err();
        assert_eq!(network.requests().len(), 1, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_truncated_body_is_retried() {
    let network = TestNetwork::default();
    failing(&network, 1, || {
        Reply::new(200).with("content-length", "1000").body("{")
    });
    let (_, read) = read(&network).await;
    read.unwrap();
    assert_eq!(network.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_registry_is_unavailable() {
    let network = TestNetwork::default();
    let (_, read) = read(&network).await;
    let error = read.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unavailable);
    assert_eq!(
        error.to_string(),
        "cannot reach https://r.test/v2/a/b/manifests/v1"
    );
}

#[tokio::test(start_paused = true)]
async fn a_silent_registry_times_out() {
    let network = TestNetwork::default();
    one_image(&network);
    let registry = network.registry(RegistryOptions::default());
    let silent = TestNetwork::default();
    silent.add_silent("r.test:443");
    let silent = silent.registry(RegistryOptions::default());
    let name = reference("r.test/a/b:v1");
    let error = silent.manifest(&name).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unavailable);
    let dropped = tokio::time::timeout(Duration::from_millis(1), silent.manifest(&name));
    dropped.await.unwrap_err();
    registry.image(&name, &amd64()).await.unwrap();
}
