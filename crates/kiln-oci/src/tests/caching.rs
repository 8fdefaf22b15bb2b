//! The cache: what it holds, for how long, and how often registries get requests.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use super::fixtures::{image, one_image, reference};
use super::network::{Reply, TestNetwork};
use crate::{CacheOptions, ErrorClass, ImageCache, Platform, RegistryOptions};

const AGE: Duration = Duration::from_secs(300);

fn cache(network: &TestNetwork, capacity: usize) -> ImageCache {
    let options = CacheOptions {
        platform: Platform::linux("amd64"),
        refresh_age: AGE,
        capacity,
    };
    ImageCache::new(network.registry(RegistryOptions::default()), options)
}

#[tokio::test(start_paused = true)]
async fn concurrent_callers_share_one_lookup() {
    let network = TestNetwork::default();
    let (_, _, root) = one_image(&network);
    let cache = cache(&network, 10);
    let name = reference("r.test/a/b:v1");
    let results = join_all((0..50).map(|_| cache.get(&name))).await;
    for result in results {
        assert_eq!(result.unwrap().digest, root.digest);
    }
    assert_eq!(network.requests().len(), 2, "manifest and config");
    cache.get(&name).await.unwrap();
    assert!(network.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_failure_reaches_all_waiting_callers_and_is_not_cached() {
    let network = TestNetwork::default();
    let (store, layout, root) = one_image(&network);
    let cache = cache(&network, 10);
    let name = reference("r.test/a/b:v2");
    let results = join_all((0..5).map(|_| cache.get(&name))).await;
    for result in results {
        assert_eq!(result.unwrap_err().class(), ErrorClass::NotFound);
    }
    assert_eq!(network.requests().len(), 1);
    assert_eq!(cache.len(), 0);
    store.put("a/b:v2", &layout, &root);
    cache.get(&name).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_tag_is_looked_up_again_and_a_digest_is_not() {
    let network = TestNetwork::default();
    let (store, mut layout, root) = one_image(&network);
    let cache = cache(&network, 10);
    let name = reference("r.test/a/b:v1");
    let by_digest = name.with_digest(root.digest.clone());
    cache.get(&name).await.unwrap();
    cache.get(&by_digest).await.unwrap();
    let other = image(&mut layout, "linux/amd64", "/other");
    store.put("a/b:v1", &layout, &other);
    network.requests();

    tokio::time::advance(AGE / 2).await;
    assert_eq!(cache.get(&name).await.unwrap().digest, root.digest);
    assert!(network.requests().is_empty());

    // Stale: the cached image is returned at once, and later callers get the new one.
    tokio::time::advance(AGE).await;
    assert_eq!(cache.get(&name).await.unwrap().digest, root.digest);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(cache.get(&name).await.unwrap().digest, other.digest);
    assert_eq!(network.requests().len(), 2);

    // Very old: callers wait for the new image.
    store.put("a/b:v1", &layout, &root);
    tokio::time::advance(AGE * 2).await;
    assert_eq!(cache.get(&name).await.unwrap().digest, root.digest);
    network.requests();
    tokio::time::advance(AGE * 100).await;
    cache.get(&by_digest).await.unwrap();
    assert!(network.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_cached_image_is_used_while_the_registry_is_unreachable() {
    let network = TestNetwork::default();
    let (store, _, root) = one_image(&network);
    let cache = cache(&network, 10);
    let name = reference("r.test/a/b:v1");
    cache.get(&name).await.unwrap();
    network.add("r.test:443", |_| Reply::new(503));
    tokio::time::advance(AGE * 3).await;
    assert_eq!(cache.get(&name).await.unwrap().digest, root.digest);
    // A deleted tag is removed from the cache.
    drop(store);
    network.add("r.test:443", |_| Reply::new(404));
    tokio::time::advance(AGE * 3).await;
    assert_eq!(
        cache.get(&name).await.unwrap_err().class(),
        ErrorClass::NotFound
    );
}

#[tokio::test(start_paused = true)]
async fn a_lookup_ends_with_its_last_caller() {
    let network = TestNetwork::default();
    network.add_silent("r.test:443");
    let cache = Arc::new(cache(&network, 10));
    let name = reference("r.test/a/b:v1");
    let second = tokio::spawn({
        let (cache, name) = (Arc::clone(&cache), name.clone());
        async move { cache.get(&name).await.map(|image| image.digest.clone()) }
    });
    let first = tokio::time::timeout(Duration::from_secs(1), cache.get(&name)).await;
    first.unwrap_err();
    // The first caller has gone. The second continues the lookup and gets its result.
    let (_, _, root) = one_image(&network);
    assert_eq!(second.await.unwrap().unwrap(), root.digest);

    network.add_silent("s.test:443");
    let other = reference("s.test/a/b:v2");
    let gone = tokio::time::timeout(Duration::from_secs(1), cache.get(&other)).await;
    gone.unwrap_err();
    network.add("s.test:443", |_| Reply::new(404));
    network.requests();
    assert_eq!(
        cache.get(&other).await.unwrap_err().class(),
        ErrorClass::NotFound
    );
    assert_eq!(network.requests().len(), 1, "the lookup was cancelled");
}

#[tokio::test(start_paused = true)]
async fn the_capacity_is_respected() {
    let network = TestNetwork::default();
    let (store, layout, root) = one_image(&network);
    let cache = cache(&network, 3);
    for number in 0..10 {
        store.put(&format!("a/b:n{number}"), &layout, &root);
        cache
            .get(&reference(&format!("r.test/a/b:n{number}")))
            .await
            .unwrap();
        cache.get(&reference("r.test/a/b:n0")).await.unwrap();
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(cache.len() <= 3);
    }
    network.requests();
    cache.get(&reference("r.test/a/b:n0")).await.unwrap();
    assert!(network.requests().is_empty(), "recently used images stay");
}

#[tokio::test(start_paused = true)]
async fn the_cached_image_is_used_while_the_registry_returns_nonsense() {
    let network = TestNetwork::default();
    let (_, _, root) = one_image(&network);
    let cache = cache(&network, 10);
    let name = reference("r.test/a/b:v1");
    cache.get(&name).await.unwrap();
    let nonsense: [fn() -> Reply; 4] = [
        || Reply::new(200).body("<html>please log in</html>"),
        || Reply::new(302),
        || Reply::new(418),
        || Reply::new(401),
    ];
    for reply in nonsense {
        network.add("r.test:443", move |_| reply());
        tokio::time::advance(AGE * 3).await;
        assert_eq!(cache.get(&name).await.unwrap().digest, root.digest);
    }
    // An untrusted server in its place.
    TestNetwork::default().add_untrusted_to(&network, "r.test:443", |_| Reply::new(404));
    tokio::time::advance(AGE * 3).await;
    assert_eq!(cache.get(&name).await.unwrap().digest, root.digest);
    // A denied request is an error.
    network.add("r.test:443", |_| {
        Reply::new(401).with("www-authenticate", "Basic realm=x")
    });
    tokio::time::advance(AGE * 3).await;
    let error = cache.get(&name).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Config);
}

#[tokio::test(start_paused = true)]
async fn callers_do_not_wait_long_when_an_image_is_cached() {
    let network = TestNetwork::default();
    let (_, _, root) = one_image(&network);
    let cache = cache(&network, 10);
    let name = reference("r.test/a/b:v1");
    cache.get(&name).await.unwrap();
    network.add_silent("r.test:443");
    tokio::time::advance(AGE * 3).await;
    let timed = async || {
        let begin = tokio::time::Instant::now();
        let image = cache.get(&name).await.unwrap();
        assert_eq!(image.digest, root.digest);
        begin.elapsed()
    };
    // A caller that gives up earlier does not make the next one wait longer.
    let given_up = tokio::time::timeout(Duration::from_secs(1), cache.get(&name)).await;
    assert!(given_up.is_err());
    assert!(timed().await <= Duration::from_secs(6));
    assert_eq!(timed().await, Duration::ZERO);
    // The lookup continues, and ends when the registry is back.
    let (_, mut layout, _) = one_image(&network);
    let other = image(&mut layout, "linux/amd64", "/other");
    let store = super::fixtures::Store::default();
    store.put("a/b:v1", &layout, &other);
    network.add("r.test:443", move |request| store.respond(request));
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(cache.get(&name).await.unwrap().digest, other.digest);
}
