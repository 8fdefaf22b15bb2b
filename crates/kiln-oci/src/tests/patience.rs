//! Registries that are busy, away, or hang up. Time is paused: what is waited is counted, not endured.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::StatusCode;
use tokio::time::Instant;

use super::store::{amd64, one_image, reference, sample};
use super::world::{Reply, Seen, World};
use crate::{ErrorClass, RegistryError, RegistryOptions};

/// A registry that fails so often before it answers.
fn failing(world: &World, times: usize, fail: impl Fn() -> Reply + Send + Sync + 'static) {
    let (store, _, _) = sample();
    let count = AtomicUsize::new(0);
    world.add("r.test:443", move |seen: &Seen| {
        match count.fetch_add(1, Ordering::Relaxed) < times {
            true => fail(),
            false => store.answer(seen),
        }
    });
}

async fn read(world: &World) -> (Duration, Result<(), RegistryError>) {
    let registry = world.registry(RegistryOptions::default());
    let begin = Instant::now();
    let read = registry.manifest(&reference("r.test/a/b:v1")).await;
    (begin.elapsed(), read.map(drop))
}

#[tokio::test(start_paused = true)]
async fn a_busy_registry_is_left_alone_as_long_as_it_asks() {
    let world = World::default();
    failing(&world, 2, || Reply::new(429).with("retry-after", "7"));
    let (waited, read) = read(&world).await;
    read.unwrap();
    assert!(
        waited >= Duration::from_secs(14) && waited < Duration::from_secs(15),
        "{waited:?}"
    );
    assert_eq!(world.asked().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn one_that_asks_for_too_much_is_given_up() {
    let world = World::default();
    failing(&world, 1, || {
        Reply::new(429)
            .with("retry-after", "3600")
            .body(r#"{"errors":[{"code":"TOOMANYREQUESTS","message":"slow down"}]}"#)
    });
    let (waited, read) = read(&world).await;
    let error = read.unwrap_err();
    assert_eq!(waited, Duration::ZERO);
    assert_eq!(error.class(), ErrorClass::Unavailable);
    let said = "https://r.test/v2/a/b/manifests/v1 answered 429 Too Many Requests: slow down (TOOMANYREQUESTS)";
    assert_eq!(error.to_string(), said);
}

#[tokio::test(start_paused = true)]
async fn one_that_stays_broken_is_given_up_after_a_while() {
    let world = World::default();
    failing(&world, usize::MAX, || Reply::new(503));
    let (waited, read) = read(&world).await;
    let error = read.unwrap_err();
    assert!(matches!(
        error,
        RegistryError::Status {
            status: StatusCode::SERVICE_UNAVAILABLE,
            ..
        }
    ));
    assert_eq!(world.asked().len(), 5);
    assert!(
        waited >= Duration::from_millis(1500) && waited <= Duration::from_secs(3),
        "{waited:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_for_good_is_not_tried_again() {
    for status in [400, 403, 404, 405, 501] {
        let world = World::default();
        failing(&world, usize::MAX, move || Reply::new(status));
        let (_, read) = read(&world).await;
        read.unwrap_err();
        assert_eq!(world.asked().len(), 1, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_truncated_body_is_asked_for_again() {
    let world = World::default();
    failing(&world, 1, || {
        Reply::new(200).with("content-length", "1000").body("{")
    });
    let (_, read) = read(&world).await;
    read.unwrap();
    assert_eq!(world.asked().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_absent_registry_is_unavailable() {
    let world = World::default();
    let (_, read) = read(&world).await;
    let error = read.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unavailable);
    assert_eq!(
        error.to_string(),
        "cannot reach https://r.test/v2/a/b/manifests/v1"
    );
}

#[tokio::test(start_paused = true)]
async fn a_silent_registry_does_not_hold_us_for_ever() {
    let world = World::default();
    one_image(&world);
    let registry = world.registry(RegistryOptions::default());
    let silent = World::default();
    silent.add_silent("r.test:443");
    let silent = silent.registry(RegistryOptions::default());
    let name = reference("r.test/a/b:v1");
    let error = silent.manifest(&name).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unavailable);
    let dropped = tokio::time::timeout(Duration::from_millis(1), silent.manifest(&name));
    dropped.await.unwrap_err();
    registry.image(&name, &amd64()).await.unwrap();
}
