//! What is kept, for how long, and how often registries are asked.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use super::store::{image, one_image, reference};
use super::world::{Reply, World};
use crate::{CacheOptions, ErrorClass, ImageCache, Platform, RegistryOptions};

const AGE: Duration = Duration::from_secs(300);

fn cache(world: &World, capacity: usize) -> ImageCache {
    let options = CacheOptions {
        platform: Platform::linux("amd64"),
        refresh_age: AGE,
        capacity,
    };
    ImageCache::new(world.registry(RegistryOptions::default()), options)
}

#[tokio::test(start_paused = true)]
async fn many_who_ask_at_once_ask_once() {
    let world = World::default();
    let (_, _, root) = one_image(&world);
    let cache = cache(&world, 10);
    let name = reference("r.test/a/b:v1");
    let answers = join_all((0..50).map(|_| cache.get(&name))).await;
    for answer in answers {
        assert_eq!(answer.unwrap().digest, root.digest);
    }
    assert_eq!(world.asked().len(), 2, "manifest and config");
    cache.get(&name).await.unwrap();
    assert!(world.asked().is_empty());
    cache.forget(&name);
    cache.get(&name).await.unwrap();
    assert_eq!(world.asked().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_failure_reaches_all_who_wait_and_is_not_kept() {
    let world = World::default();
    let (store, layout, root) = one_image(&world);
    let cache = cache(&world, 10);
    let name = reference("r.test/a/b:v2");
    let answers = join_all((0..5).map(|_| cache.get(&name))).await;
    for answer in answers {
        assert_eq!(answer.unwrap_err().class(), ErrorClass::NotFound);
    }
    assert_eq!(world.asked().len(), 1);
    assert!(cache.is_empty());
    store.put("a/b:v2", &layout, &root);
    cache.get(&name).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_tag_is_asked_for_again_and_a_digest_is_not() {
    let world = World::default();
    let (store, mut layout, root) = one_image(&world);
    let cache = cache(&world, 10);
    let name = reference("r.test/a/b:v1");
    let by_digest = name.with_digest(root.digest.clone());
    cache.get(&name).await.unwrap();
    cache.get(&by_digest).await.unwrap();
    let other = image(&mut layout, "linux/amd64", "/other");
    store.put("a/b:v1", &layout, &other);
    world.asked();

    tokio::time::advance(AGE / 2).await;
    assert_eq!(cache.get(&name).await.unwrap().digest, root.digest);
    assert!(world.asked().is_empty());

    // Old: the answer is given at once, and the new one is there when somebody asks later.
    tokio::time::advance(AGE).await;
    assert_eq!(cache.get(&name).await.unwrap().digest, root.digest);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(cache.get(&name).await.unwrap().digest, other.digest);
    assert_eq!(world.asked().len(), 2);

    // Very old: the new one is waited for.
    store.put("a/b:v1", &layout, &root);
    tokio::time::advance(AGE * 2).await;
    assert_eq!(cache.get(&name).await.unwrap().digest, root.digest);
    world.asked();
    tokio::time::advance(AGE * 100).await;
    cache.get(&by_digest).await.unwrap();
    assert!(world.asked().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_is_used_while_the_registry_is_away() {
    let world = World::default();
    let (store, _, root) = one_image(&world);
    let cache = cache(&world, 10);
    let name = reference("r.test/a/b:v1");
    cache.get(&name).await.unwrap();
    world.add("r.test:443", |_| Reply::new(503));
    tokio::time::advance(AGE * 3).await;
    assert_eq!(cache.get(&name).await.unwrap().digest, root.digest);
    // A tag that is gone is gone.
    drop(store);
    world.add("r.test:443", |_| Reply::new(404));
    tokio::time::advance(AGE * 3).await;
    assert_eq!(
        cache.get(&name).await.unwrap_err().class(),
        ErrorClass::NotFound
    );
}

#[tokio::test(start_paused = true)]
async fn a_question_ends_with_the_last_who_waits() {
    let world = World::default();
    world.add_silent("r.test:443");
    let cache = Arc::new(cache(&world, 10));
    let name = reference("r.test/a/b:v1");
    let second = tokio::spawn({
        let (cache, name) = (Arc::clone(&cache), name.clone());
        async move { cache.get(&name).await.map(|image| image.digest.clone()) }
    });
    let first = tokio::time::timeout(Duration::from_secs(1), cache.get(&name)).await;
    first.unwrap_err();
    // The first has gone. The second goes on asking, and gets an answer as soon as there is one.
    let (_, _, root) = one_image(&world);
    assert_eq!(second.await.unwrap().unwrap(), root.digest);

    world.add_silent("s.test:443");
    let other = reference("s.test/a/b:v2");
    let gone = tokio::time::timeout(Duration::from_secs(1), cache.get(&other)).await;
    gone.unwrap_err();
    world.add("s.test:443", |_| Reply::new(404));
    world.asked();
    assert_eq!(
        cache.get(&other).await.unwrap_err().class(),
        ErrorClass::NotFound
    );
    assert_eq!(world.asked().len(), 1, "nobody went on asking");
}

#[tokio::test(start_paused = true)]
async fn there_is_room_for_so_many() {
    let world = World::default();
    let (store, layout, root) = one_image(&world);
    let cache = cache(&world, 3);
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
    world.asked();
    cache.get(&reference("r.test/a/b:n0")).await.unwrap();
    assert!(world.asked().is_empty(), "what is used stays");
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_is_used_while_the_registry_makes_no_sense() {
    let world = World::default();
    let (_, _, root) = one_image(&world);
    let cache = cache(&world, 10);
    let name = reference("r.test/a/b:v1");
    cache.get(&name).await.unwrap();
    let nonsense: [fn() -> Reply; 4] = [
        || Reply::new(200).body("<html>please log in</html>"),
        || Reply::new(302),
        || Reply::new(418),
        || Reply::new(401),
    ];
    for answer in nonsense {
        world.add("r.test:443", move |_| answer());
        tokio::time::advance(AGE * 3).await;
        assert_eq!(cache.get(&name).await.unwrap().digest, root.digest);
    }
    // Somebody else in its place.
    World::default().move_to(&world, "r.test:443", |_| Reply::new(404));
    tokio::time::advance(AGE * 3).await;
    assert_eq!(cache.get(&name).await.unwrap().digest, root.digest);
    // Who may not know is told so.
    world.add("r.test:443", |_| {
        Reply::new(401).with("www-authenticate", "Basic realm=x")
    });
    tokio::time::advance(AGE * 3).await;
    let error = cache.get(&name).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Config);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_long_for_what_is_kept() {
    let world = World::default();
    let (_, _, root) = one_image(&world);
    let cache = cache(&world, 10);
    let name = reference("r.test/a/b:v1");
    cache.get(&name).await.unwrap();
    world.add_silent("r.test:443");
    tokio::time::advance(AGE * 3).await;
    let timed = async || {
        let begin = tokio::time::Instant::now();
        let image = cache.get(&name).await.unwrap();
        assert_eq!(image.digest, root.digest);
        begin.elapsed()
    };
    // One that gives up earlier does not make the next wait longer.
    let given_up = tokio::time::timeout(Duration::from_secs(1), cache.get(&name)).await;
    assert!(given_up.is_err());
    assert!(timed().await <= Duration::from_secs(6));
    assert_eq!(timed().await, Duration::ZERO);
    // It is asked all the while, and answers when it is back.
    let (_, mut layout, _) = one_image(&world);
    let other = image(&mut layout, "linux/amd64", "/other");
    let store = super::store::Store::default();
    store.put("a/b:v1", &layout, &other);
    world.add("r.test:443", move |seen| store.answer(seen));
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(cache.get(&name).await.unwrap().digest, other.digest);
}
