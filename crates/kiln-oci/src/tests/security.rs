//! Whom we trust, and what never travels in clear.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rustls::RootCertStore;

use super::store::{one_image, reference, sample};
use super::world::{Authority, Reply, Seen, World};
use crate::{
    DockerConfig, ErrorClass, Keychain, PlainHttp, Registry, RegistryError, RegistryOptions,
};

async fn read(registry: &Registry, name: &str) -> Result<(), RegistryError> {
    registry.manifest(&reference(name)).await.map(drop)
}

fn with_authority(directory: &Path) -> RegistryOptions {
    RegistryOptions {
        authority: Some(directory.to_owned()),
        ..RegistryOptions::default()
    }
}

#[tokio::test(start_paused = true)]
async fn an_authority_of_our_own_is_trusted_under_either_name() {
    for name in ["ca.crt", "ca.pem"] {
        let world = World::default();
        one_image(&world);
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(name), world.authority_pem()).unwrap();
        let options = with_authority(directory.path());
        let registry = world.registry_trusting(options, RootCertStore::empty());
        read(&registry, "r.test/a/b:v1").await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn the_authority_may_be_replaced_while_we_run() {
    let world = World::default();
    one_image(&world);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ca.crt");
    fs::write(&path, Authority::default().pem()).unwrap();
    let options = with_authority(directory.path());
    let registry = world.registry_trusting(options, RootCertStore::empty());
    let error = read(&registry, "r.test/a/b:v1").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot make a secure connection to r.test"
    );
    assert_eq!(error.class(), ErrorClass::Config);
    fs::write(&path, world.authority_pem()).unwrap();
    read(&registry, "r.test/a/b:v1").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_system_is_trusted_where_our_own_authority_is_no_help() {
    let contents = [
        Some(Authority::default().pem()),
        Some("no certificate".to_owned()),
        None,
    ];
    for content in contents {
        let world = World::default();
        one_image(&world);
        let directory = tempfile::tempdir().unwrap();
        if let Some(content) = content {
            fs::write(directory.path().join("ca.crt"), content).unwrap();
        }
        let registry = world.registry(with_authority(directory.path()));
        read(&registry, "r.test/a/b:v1").await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_registry_says_is_no_reason_to_trust_others() {
    let world = World::default();
    one_image(&world);
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("ca.crt"), world.authority_pem()).unwrap();
    let registry = world.registry(with_authority(directory.path()));
    let error = read(&registry, "r.test/a/b:missing").await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::NotFound);
    assert_eq!(world.asked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_certificate_for_another_host_is_refused() {
    let world = World::default();
    let (store, _, _) = sample();
    world.add("other.test:443", move |seen| store.answer(seen));
    world.rename("other.test:443", "r.test:443");
    let error = read(&world.registry(RegistryOptions::default()), "r.test/a/b:v1")
        .await
        .unwrap_err();
    assert!(matches!(error, RegistryError::Tls { .. }), "{error}");
    assert!(world.asked().is_empty());
}

/// A registry without TLS that wants a password.
fn plain(world: &World, site: &str, challenge: &'static str) {
    let (store, _, _) = sample();
    world.add_plain(site, move |seen: &Seen| match seen.authorization {
        None if !challenge.is_empty() => Reply::new(401).with("www-authenticate", challenge),
        _ => store.answer(seen),
    });
}

fn options(allowed: &[(&str, PlainHttp)]) -> RegistryOptions {
    let config =
        br#"{"auths":{"r.test":{"auth":"bWU6cGFzcw=="},"localhost:5000":{"auth":"bWU6cGFzcw=="}}}"#;
    let allowed = allowed
        .iter()
        .map(|(host, plain)| ((*host).to_owned(), *plain));
    RegistryOptions {
        keychain: Keychain::fixed(DockerConfig::parse(config).unwrap()),
        plain_http: allowed.collect::<BTreeMap<_, _>>(),
        ..RegistryOptions::default()
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_said_in_clear_to_those_who_are_not_allowed() {
    let world = World::default();
    plain(&world, "r.test:443", "");
    plain(&world, "r.test:80", "");
    plain(&world, "r.test:5000", "");
    let registry = world.registry(options(&[("other.test", PlainHttp::WithCredentials)]));
    for name in ["r.test/a/b:v1", "r.test:5000/a/b:v1"] {
        let error = read(&registry, name).await.unwrap_err();
        assert!(matches!(error, RegistryError::Tls { .. }), "{error}");
    }
    let registry = world.registry(options(&[("localhost:5000", PlainHttp::Never)]));
    plain(&world, "localhost:5000", "");
    read(&registry, "localhost:5000/a/b:v1").await.unwrap_err();
    assert!(world.asked().is_empty());
}

#[tokio::test(start_paused = true)]
async fn this_machine_and_private_networks_may_be_asked_in_clear_anonymously() {
    let world = World::default();
    for host in [
        "localhost:5000",
        "127.0.0.1:5000",
        "::1:5000",
        "10.0.0.9:5000",
    ] {
        plain(&world, host, "");
    }
    let registry = world.registry(options(&[]));
    for name in [
        "localhost:5000/a/b:v1",
        "127.0.0.1:5000/a/b:v1",
        "[::1]:5000/a/b:v1",
        "10.0.0.9:5000/a/b:v1",
    ] {
        read(&registry, name).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn those_who_are_allowed_are_asked_in_clear_where_they_are() {
    let world = World::default();
    plain(&world, "r.test:80", "");
    let registry = world.registry(options(&[("r.test", PlainHttp::Anonymous)]));
    read(&registry, "r.test/a/b:v1").await.unwrap();
    // TLS comes first where it is spoken.
    let world = World::default();
    one_image(&world);
    plain(&world, "r.test:80", "");
    let registry = world.registry(options(&[("r.test", PlainHttp::Anonymous)]));
    read(&registry, "r.test/a/b:v1").await.unwrap();
    assert_eq!(world.asked(), ["GET r.test:443/v2/a/b/manifests/v1"]);
}

#[tokio::test(start_paused = true)]
async fn a_certificate_that_is_refused_is_no_reason_to_speak_in_clear() {
    let world = World::default();
    one_image(&world);
    plain(&world, "r.test:80", "");
    let options = options(&[("r.test", PlainHttp::WithCredentials)]);
    let registry = world.registry_trusting(options, RootCertStore::empty());
    let error = read(&registry, "r.test/a/b:v1").await.unwrap_err();
    assert!(matches!(error, RegistryError::Tls { .. }), "{error}");
    assert!(world.asked().is_empty());
}

#[tokio::test(start_paused = true)]
async fn credentials_travel_in_clear_only_if_just_that_is_allowed() {
    let world = World::default();
    plain(&world, "localhost:5000", "Basic realm=x");
    let registry = world.registry(options(&[]));
    let error = read(&registry, "localhost:5000/a/b:v1").await.unwrap_err();
    let said =
        "credentials are not sent to localhost:5000 in clear: plain http is not allowed for it";
    assert_eq!(error.to_string(), said);
    assert!(!world.asked().concat().contains("Basic"));

    let allowed = options(&[("localhost:5000", PlainHttp::WithCredentials)]);
    read(&world.registry(allowed), "localhost:5000/a/b:v1")
        .await
        .unwrap();
    assert!(world.asked().concat().contains("Basic"));
}

#[tokio::test(start_paused = true)]
async fn token_servers_get_no_password_in_clear() {
    let world = World::default();
    let challenge = r#"Bearer realm="http://auth.test/token""#;
    let (store, _, _) = sample();
    world.add("r.test:443", move |seen: &Seen| match seen.authorization {
        None => Reply::new(401).with("www-authenticate", challenge),
        _ => store.answer(seen),
    });
    world.add_plain("auth.test:80", |_| Reply::new(200).body(r#"{"token":"t"}"#));
    let error = read(&world.registry(options(&[])), "r.test/a/b:v1")
        .await
        .unwrap_err();
    assert!(matches!(error, RegistryError::InClear { .. }), "{error}");
    let error = read(&world.registry(RegistryOptions::default()), "r.test/a/b:v1")
        .await
        .unwrap_err();
    assert!(matches!(error, RegistryError::InClear { .. }), "{error}");
    assert!(!world.asked().concat().contains("auth.test"));
}

#[tokio::test(start_paused = true)]
async fn what_was_shown_under_tls_is_not_shown_in_clear() {
    let world = World::default();
    let (store, _, _) = sample();
    let guarded = move |seen: &Seen| match seen.authorization {
        None => Reply::new(401).with("www-authenticate", "Basic realm=x"),
        _ => store.answer(seen).with("connection", "close"),
    };
    world.add("r.test:443", guarded.clone());
    let registry = world.registry(options(&[("r.test", PlainHttp::Anonymous)]));
    read(&registry, "r.test/a/b:v1").await.unwrap();
    world.remove("r.test:443");
    world.add_plain("r.test:80", guarded);
    world.asked();
    let error = read(&registry, "r.test/a/b:v1").await.unwrap_err();
    assert!(matches!(error, RegistryError::InClear { .. }), "{error}");
    assert!(!world.asked().concat().contains("Basic"));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_lost_says_nothing_about_tls() {
    let world = World::default();
    world.add_closing("r.test:443");
    world.add_closing("localhost:5000");
    let registry = world.registry(options(&[]));
    for name in ["r.test/a/b:v1", "localhost:5000/a/b:v1"] {
        let error = read(&registry, name).await.unwrap_err();
        assert_eq!(error.class(), crate::ErrorClass::Unavailable, "{error}");
    }
    // Back again, with TLS as ever.
    let (store, _, _) = one_image(&world);
    world.add("localhost:5000", move |seen: &Seen| store.answer(seen));
    for name in ["r.test/a/b:v1", "localhost:5000/a/b:v1"] {
        read(&registry, name).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn who_speaks_tls_after_all_is_spoken_to_so() {
    let world = World::default();
    plain(&world, "localhost:5000", "");
    let registry = world.registry(options(&[]));
    read(&registry, "localhost:5000/a/b:v1").await.unwrap();
    let (store, _, _) = sample();
    world.add("localhost:5000", move |seen: &Seen| store.answer(seen));
    // The connection in clear may still be open.
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    read(&registry, "localhost:5000/a/b:v1").await.unwrap();
    // A bad request is what servers with TLS call one in clear.
    let world = World::default();
    world.add_closing("localhost:443");
    world.add_plain("localhost:80", |_| Reply::new(400));
    let registry = world.registry(options(&[]));
    let error = read(&registry, "localhost/a/b:v1").await.unwrap_err();
    assert!(
        matches!(error, RegistryError::Unreachable { .. }),
        "{error}"
    );
}
