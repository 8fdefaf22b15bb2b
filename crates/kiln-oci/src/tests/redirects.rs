//! Redirects: to where they lead, and what is not taken there.

use super::store::{one_image, reference, sample};
use super::world::{Reply, World};
use crate::{DockerConfig, Keychain, Registry, RegistryError, RegistryOptions};

const PASSWORD: &str = "Basic bWU6cGFzcw==";

fn client(world: &World) -> Registry {
    let config =
        br#"{"auths":{"r.test":{"auth":"bWU6cGFzcw=="},"cdn.test":{"auth":"bWU6cGFzcw=="}}}"#;
    world.registry(RegistryOptions {
        keychain: Keychain::fixed(DockerConfig::parse(config).unwrap()),
        ..RegistryOptions::default()
    })
}

/// A registry that wants a password and sends those who have it elsewhere.
fn redirecting(world: &World, location: &'static str) {
    world.add("r.test:443", move |seen| {
        match seen.authorization.as_deref() {
            Some(PASSWORD) => Reply::new(307).with("location", location),
            _ => Reply::new(401).with("www-authenticate", "Basic realm=x"),
        }
    });
}

async fn read(world: &World) -> Result<(), RegistryError> {
    let read = client(world).manifest(&reference("r.test/a/b:v1")).await;
    read.map(drop)
}

#[tokio::test(start_paused = true)]
async fn credentials_do_not_travel_to_others() {
    let world = World::default();
    redirecting(&world, "https://cdn.test/v2/a/b/manifests/v1?signature=s");
    let (store, _, _) = sample();
    world.add("cdn.test:443", move |seen| store.answer(seen));
    read(&world).await.unwrap();
    let asked = world.asked();
    assert_eq!(
        asked.last().unwrap(),
        "GET cdn.test:443/v2/a/b/manifests/v1?signature=s"
    );
    assert_eq!(asked.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn another_port_is_somebody_else() {
    let world = World::default();
    redirecting(&world, "https://r.test:8443/v2/a/b/manifests/v1");
    let (store, _, _) = sample();
    world.add("r.test:8443", move |seen| store.answer(seen));
    read(&world).await.unwrap();
    assert_eq!(
        world.asked().last().unwrap(),
        "GET r.test:8443/v2/a/b/manifests/v1"
    );
}

#[tokio::test(start_paused = true)]
async fn somebody_else_gets_no_credentials_for_asking() {
    let world = World::default();
    redirecting(&world, "https://cdn.test/x");
    world.add("cdn.test:443", |_| {
        Reply::new(401).with("www-authenticate", "Basic realm=x")
    });
    let error = read(&world).await.unwrap_err();
    assert!(matches!(error, RegistryError::Status { .. }), "{error}");
    assert!(
        !world
            .asked()
            .iter()
            .any(|line| line.contains("cdn.test") && line.contains(PASSWORD))
    );
}

#[tokio::test(start_paused = true)]
async fn within_the_registry_credentials_stay() {
    let world = World::default();
    let (store, _, _) = one_image(&world);
    world.add("r.test:443", move |seen| {
        match seen.authorization.as_deref() {
            Some(PASSWORD) if seen.target.ends_with("/v1") => {
                Reply::new(302).with("location", "moved")
            }
            Some(PASSWORD) => {
                let mut seen = seen.clone();
                seen.target = seen.target.replace("moved", "v1");
                store.answer(&seen)
            }
            _ => Reply::new(401).with("www-authenticate", "Basic realm=x"),
        }
    });
    read(&world).await.unwrap();
    let last = format!("GET r.test:443/v2/a/b/manifests/moved {PASSWORD}");
    assert_eq!(world.asked().last(), Some(&last));
}

#[tokio::test(start_paused = true)]
async fn what_signs_a_redirect_is_not_shown() {
    let world = World::default();
    redirecting(&world, "https://cdn.test/x?signature=hidden");
    let answers: [fn() -> Reply; 3] = [
        || Reply::new(302).with("location", "http://else.test/"),
        || Reply::new(302),
        || Reply::new(500).body("x"),
    ];
    for answer in answers {
        world.add("cdn.test:443", move |_| answer());
        let error = read(&world).await.unwrap_err();
        assert!(!format!("{error:?}").contains("hidden"), "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn redirects_that_lead_nowhere_are_refused() {
    let cases = [
        ("https://r.test/v2/a/b/manifests/v1", "on and on"),
        ("http://cdn.test/x", "to plain http"),
        ("http://127.0.0.1:5000/x", "to plain http"),
        ("ftp://cdn.test/x", "no URL"),
        ("https://u:p@cdn.test/x", "no URL"),
    ];
    for (location, said) in cases {
        let world = World::default();
        redirecting(&world, location);
        let error = read(&world).await.unwrap_err().to_string();
        assert!(error.contains(said), "{location}: {error}");
        assert!(world.asked().len() < 10);
    }
}
