//! Being let in: passwords, tokens, identities, and what happens when they are refused.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::store::{amd64, reference, sample};
use super::world::{Reply, Seen, World};
use crate::{DockerConfig, ErrorClass, Keychain, Registry, RegistryError, RegistryOptions};

const PASSWORD: &str = "Basic bWU6cGFzcw==";
const BEARER: &str =
    r#"Bearer realm="https://auth.test/token",service="s",scope="repository:a/b:pull""#;
const TOKEN_URL: &str = "auth.test:443/token?service=s&scope=repository%3Aa%2Fb%3Apull";
const MANIFEST: &str = "GET r.test:443/v2/a/b/manifests/v1";

/// A registry that lets in whoever shows this, and tells others how.
fn guarded(
    world: &World,
    challenge: &'static str,
    wanted: impl Fn() -> String + Send + Sync + 'static,
) {
    let (store, _, _) = sample();
    world.add("r.test:443", move |seen: &Seen| {
        match seen.authorization.as_ref() == Some(&wanted()) {
            true => store.answer(seen),
            false => Reply::new(401)
                .with("www-authenticate", challenge)
                .body(r#"{"errors":[{"code":"UNAUTHORIZED","message":"who are you"}]}"#),
        }
    });
}

fn keychain(auth: &str) -> Keychain {
    let text = format!(r#"{{"auths":{{"r.test":{auth}}}}}"#);
    Keychain::fixed(DockerConfig::parse(text.as_bytes()).unwrap())
}

fn client(world: &World, keychain: Keychain) -> Registry {
    world.registry(RegistryOptions {
        keychain,
        ..RegistryOptions::default()
    })
}

fn with_password(world: &World) -> Registry {
    client(world, keychain(r#"{"auth":"bWU6cGFzcw=="}"#))
}

async fn read(registry: &Registry) -> Result<(), RegistryError> {
    registry
        .manifest(&reference("r.test/a/b:v1"))
        .await
        .map(drop)
}

#[tokio::test(start_paused = true)]
async fn a_password_is_shown_when_it_is_asked_for() {
    let world = World::default();
    guarded(&world, "Basic realm=x", || PASSWORD.to_owned());
    let registry = with_password(&world);
    read(&registry).await.unwrap();
    let shown = format!("{MANIFEST} {PASSWORD}");
    assert_eq!(world.asked(), [MANIFEST, &shown]);
    read(&registry).await.unwrap();
    assert_eq!(world.asked(), [shown], "it is known now what to show");
}

#[tokio::test(start_paused = true)]
async fn a_wrong_password_is_tried_once() {
    let world = World::default();
    guarded(&world, "Basic realm=x", || "Basic other".to_owned());
    let registry = with_password(&world);
    let error = read(&registry).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Config);
    let said = "r.test does not let us read r.test/a/b:v1: who are you (UNAUTHORIZED)";
    assert_eq!(error.to_string(), said);
    assert_eq!(world.asked().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn without_credentials_nothing_is_shown() {
    let world = World::default();
    guarded(&world, "Basic realm=x", || PASSWORD.to_owned());
    let error = read(&client(&world, Keychain::anonymous()))
        .await
        .unwrap_err();
    assert!(matches!(error, RegistryError::Denied { .. }), "{error}");
    assert_eq!(world.asked(), [MANIFEST]);
    let elsewhere = keychain(r#"{"auth":"bWU6cGFzcw=="}"#);
    let elsewhere = Keychain::routed(
        vec![("r.test/other".to_owned(), elsewhere)],
        Keychain::anonymous(),
    );
    read(&client(&world, elsewhere)).await.unwrap_err();
    assert_eq!(world.asked(), [MANIFEST]);
}

/// A token server that gives a new token each time, and how many it gave.
fn token_server(world: &World, life: u64) -> Arc<AtomicUsize> {
    let given = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&given);
    world.add("auth.test:443", move |_| {
        let number = count.fetch_add(1, Ordering::SeqCst) + 1;
        Reply::new(200).body(format!(r#"{{"token":"t{number}","expires_in":{life}}}"#))
    });
    given
}

#[tokio::test(start_paused = true)]
async fn tokens_are_fetched_kept_and_renewed() {
    let world = World::default();
    let given = token_server(&world, 100);
    guarded(&world, BEARER, move || {
        format!("Bearer t{}", given.load(Ordering::SeqCst))
    });
    let registry = with_password(&world);
    read(&registry).await.unwrap();
    let asked_for = format!("GET {TOKEN_URL}&account=me {PASSWORD}");
    assert_eq!(
        world.asked(),
        [MANIFEST, &asked_for, &format!("{MANIFEST} Bearer t1")]
    );
    read(&registry).await.unwrap();
    assert_eq!(world.asked(), [format!("{MANIFEST} Bearer t1")]);
    tokio::time::advance(Duration::from_secs(95)).await;
    read(&registry).await.unwrap();
    assert_eq!(
        world.asked(),
        [MANIFEST, &asked_for, &format!("{MANIFEST} Bearer t2")]
    );
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_refused_is_renewed_once() {
    let world = World::default();
    let given = token_server(&world, 10_000);
    let valid = Arc::new(Mutex::new("Bearer t1".to_owned()));
    let wanted = Arc::clone(&valid);
    guarded(&world, BEARER, move || wanted.lock().unwrap().clone());
    let registry = with_password(&world);
    read(&registry).await.unwrap();
    "Bearer t2".clone_into(&mut valid.lock().unwrap());
    read(&registry).await.unwrap();
    assert_eq!(given.load(Ordering::SeqCst), 2);
    "nothing".clone_into(&mut valid.lock().unwrap());
    world.asked();
    read(&registry).await.unwrap_err();
    // The old one, a new one, and that was it.
    assert_eq!(world.asked().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn anybody_may_get_a_token_for_what_is_public() {
    let world = World::default();
    token_server(&world, 300);
    guarded(&world, BEARER, || "Bearer t1".to_owned());
    read(&client(&world, Keychain::anonymous())).await.unwrap();
    assert_eq!(world.asked()[1], format!("GET {TOKEN_URL}"));
}

#[tokio::test(start_paused = true)]
async fn an_identity_is_exchanged_for_a_token() {
    let world = World::default();
    world.add("auth.test:443", |seen| {
        let form = String::from_utf8(seen.body.to_vec()).unwrap();
        assert_eq!(seen.content_type, "application/x-www-form-urlencoded");
        match form.contains("grant_type=refresh_token") && form.ends_with("refresh_token=secret%2B")
        {
            true => Reply::new(200).body(r#"{"access_token":"t1"}"#),
            false => Reply::new(401),
        }
    });
    guarded(&world, BEARER, || "Bearer t1".to_owned());
    let registry = client(&world, keychain(r#"{"identitytoken":"secret+"}"#));
    read(&registry).await.unwrap();
    assert_eq!(world.asked()[1], "POST auth.test:443/token");
}

#[tokio::test(start_paused = true)]
async fn a_ready_token_is_shown_as_it_is() {
    let world = World::default();
    guarded(&world, BEARER, || "Bearer mine".to_owned());
    read(&client(&world, keychain(r#"{"registrytoken":"mine"}"#)))
        .await
        .unwrap();
    assert_eq!(world.asked().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_token_server_that_refuses_is_named() {
    let world = World::default();
    guarded(&world, BEARER, || "never".to_owned());
    world.add("auth.test:443", |_| {
        Reply::new(401).body(r#"{"details":"incorrect username or password"}"#)
    });
    let error = read(&with_password(&world)).await.unwrap_err();
    let said = "r.test does not let us read r.test/a/b:v1: its token server says incorrect username or password";
    assert_eq!(error.to_string(), said);
    assert_eq!(world.asked().len(), 2);

    world.add("auth.test:443", |_| Reply::new(200).body("{}"));
    let error = read(&with_password(&world)).await.unwrap_err();
    assert!(
        error.to_string().ends_with("its answer holds no token"),
        "{error}"
    );

    // A busy one is asked again.
    let count = AtomicUsize::new(0);
    world.add("auth.test:443", move |_| {
        match count.fetch_add(1, Ordering::SeqCst) {
            0 => Reply::new(503),
            _ => Reply::new(200).body(r#"{"token":"never"}"#),
        }
    });
    let error = read(&with_password(&world)).await.unwrap_err();
    assert!(matches!(error, RegistryError::Denied { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn token_servers_that_send_us_elsewhere_give_nothing_away() {
    let world = World::default();
    guarded(&world, BEARER, || "Bearer t".to_owned());
    world.add("auth.test:443", |_| {
        Reply::new(307).with("location", "https://else.test/token")
    });
    world.add("else.test:443", |_| {
        Reply::new(200).body(r#"{"token":"t"}"#)
    });
    read(&with_password(&world)).await.unwrap();
    let asked = world.asked();
    let elsewhere: Vec<_> = asked
        .iter()
        .filter(|line| line.contains("else.test"))
        .collect();
    assert_eq!(elsewhere, ["GET else.test:443/token"]);
    // An identity is part of what is sent, so that it is not sent on at all.
    let identity = client(&world, keychain(r#"{"identitytoken":"i"}"#));
    let error = read(&identity).await.unwrap_err();
    assert!(matches!(error, RegistryError::Redirect { .. }), "{error}");
    assert!(!world.asked().concat().contains("else.test"));
}

#[tokio::test(start_paused = true)]
async fn strange_challenges_are_errors() {
    let strange = [
        "Negotiate",
        r#"Bearer realm="no url""#,
        r#"Bearer realm="/token""#,
        r#"Bearer realm="https://""#,
    ];
    for challenge in strange {
        let world = World::default();
        guarded(&world, challenge, || "never".to_owned());
        let error = read(&with_password(&world)).await.unwrap_err();
        assert!(
            matches!(error, RegistryError::Protocol { .. }),
            "{challenge}: {error}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn credentials_are_read_when_they_are_needed() {
    let world = World::default();
    guarded(&world, "Basic realm=x", || PASSWORD.to_owned());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.json");
    let registry = client(&world, Keychain::file(path.clone()));
    let error = read(&registry).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot find credentials for r.test");
    std::fs::write(
        &path,
        r#"{"auths":{"https://r.test/v2/":{"username":"me","password":"old"}}}"#,
    )
    .unwrap();
    assert!(matches!(
        read(&registry).await,
        Err(RegistryError::Denied { .. })
    ));
    std::fs::write(
        &path,
        r#"{"auths":{"r.test":{"username":"me","password":"pass"}}}"#,
    )
    .unwrap();
    read(&registry).await.unwrap();
    registry
        .image(&reference("r.test/a/b:v1"), &amd64())
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn docker_hub_has_other_names_for_hosts_and_for_credentials() {
    let world = World::default();
    let (store, _, _) = sample();
    world.add("registry-1.docker.io:443", move |seen: &Seen| {
        match seen.authorization.as_deref() {
            Some(PASSWORD) => store.answer(seen),
            _ => Reply::new(401).with("www-authenticate", "Basic realm=x"),
        }
    });
    let config = br#"{"auths":{"https://index.docker.io/v1/":{"auth":"bWU6cGFzcw=="}}}"#;
    let registry = client(
        &world,
        Keychain::fixed(DockerConfig::parse(config).unwrap()),
    );
    registry.manifest(&reference("a/b:v1")).await.unwrap();
    let official = registry.manifest(&reference("nginx")).await.unwrap_err();
    assert_eq!(official.class(), ErrorClass::NotFound);
    let last = world.asked().pop().unwrap();
    assert!(
        last.starts_with("GET registry-1.docker.io:443/v2/library/nginx/manifests/latest"),
        "{last}"
    );
}
