//! Trusted certificates, and the limits of plain HTTP.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rustls::RootCertStore;

use super::fixtures::{one_image, reference, sample};
use super::network::{ReceivedRequest, Reply, TestAuthority, TestNetwork};
use crate::{
    DockerConfig, ErrorClass, Keychain, PlainHttp, RegistryClient, RegistryError, RegistryOptions,
};

async fn read(registry: &RegistryClient, name: &str) -> Result<(), RegistryError> {
    registry.manifest(&reference(name)).await.map(drop)
}

fn with_ca(directory: &Path) -> RegistryOptions {
    RegistryOptions {
        ca_directory: Some(directory.to_owned()),
        ..RegistryOptions::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_ca_file_is_trusted_under_either_name() {
    for name in ["ca.crt", "ca.pem"] {
        let network = TestNetwork::default();
        one_image(&network);
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(name), network.ca_pem()).unwrap();
        let options = with_ca(directory.path());
        let registry = network.registry_with_roots(options, RootCertStore::empty());
        read(&registry, "r.test/a/b:v1").await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_replaced_ca_file_is_read_again() {
    let network = TestNetwork::default();
    one_image(&network);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ca.crt");
    fs::write(&path, TestAuthority::default().pem()).unwrap();
    let options = with_ca(directory.path());
    let registry = network.registry_with_roots(options, RootCertStore::empty());
    let error = read(&registry, "r.test/a/b:v1").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot establish a TLS connection to r.test"
    );
    assert_eq!(error.class(), ErrorClass::Config);
    fs::write(&path, network.ca_pem()).unwrap();
    read(&registry, "r.test/a/b:v1").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_system_cas_are_tried_after_the_ca_file() {
    let contents = [
        Some(TestAuthority::default().pem()),
        Some("no certificate".to_owned()),
        None,
    ];
    for content in contents {
        let network = TestNetwork::default();
        one_image(&network);
        let directory = tempfile::tempdir().unwrap();
        if let Some(content) = content {
            fs::write(directory.path().join("ca.crt"), content).unwrap();
        }
        let registry = network.registry(with_ca(directory.path()));
        read(&registry, "r.test/a/b:v1").await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn an_http_error_does_not_try_other_cas() {
    let network = TestNetwork::default();
    one_image(&network);
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("ca.crt"), network.ca_pem()).unwrap();
    let registry = network.registry(with_ca(directory.path()));
    let error = read(&registry, "r.test/a/b:missing").await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::NotFound);
    assert_eq!(network.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_certificate_for_another_host_is_refused() {
    let network = TestNetwork::default();
    let (store, _, _) = sample();
    network.add("other.test:443", move |request| store.respond(request));
    network.rename("other.test:443", "r.test:443");
    let error = read(
        &network.registry(RegistryOptions::default()),
        "r.test/a/b:v1",
    )
    .await
    .unwrap_err();
    assert!(matches!(error, RegistryError::Tls { .. }), "{error}");
    assert!(network.requests().is_empty());
}

/// A registry without TLS that requires a password.
fn plain(network: &TestNetwork, site: &str, challenge: &'static str) {
    let (store, _, _) = sample();
    network.add_plain(site, move |request: &ReceivedRequest| {
        match request.authorization {
            None if !challenge.is_empty() => Reply::new(401).with("www-authenticate", challenge),
            _ => store.respond(request),
        }
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
async fn plain_http_is_refused_by_default() {
    let network = TestNetwork::default();
    plain(&network, "r.test:443", "");
    plain(&network, "r.test:80", "");
    plain(&network, "r.test:5000", "");
    let registry = network.registry(options(&[("other.test", PlainHttp::WithCredentials)]));
    for name in ["r.test/a/b:v1", "r.test:5000/a/b:v1"] {
        let error = read(&registry, name).await.unwrap_err();
        assert!(matches!(error, RegistryError::Tls { .. }), "{error}");
    }
    let registry = network.registry(options(&[("localhost:5000", PlainHttp::Never)]));
    plain(&network, "localhost:5000", "");
    read(&registry, "localhost:5000/a/b:v1").await.unwrap_err();
    assert!(network.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn private_hosts_may_use_plain_http_without_credentials() {
    let network = TestNetwork::default();
    for host in [
        "localhost:5000",
        "127.0.0.1:5000",
        "::1:5000",
        "10.0.0.9:5000",
    ] {
        plain(&network, host, "");
    }
    let registry = network.registry(options(&[]));
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
async fn allowed_hosts_use_plain_http_on_their_port() {
    let network = TestNetwork::default();
    plain(&network, "r.test:80", "");
    let registry = network.registry(options(&[("r.test", PlainHttp::Anonymous)]));
    read(&registry, "r.test/a/b:v1").await.unwrap();
    // TLS is tried first.
    let network = TestNetwork::default();
    one_image(&network);
    plain(&network, "r.test:80", "");
    let registry = network.registry(options(&[("r.test", PlainHttp::Anonymous)]));
    read(&registry, "r.test/a/b:v1").await.unwrap();
    assert_eq!(network.requests(), ["GET r.test:443/v2/a/b/manifests/v1"]);
}

#[tokio::test(start_paused = true)]
async fn an_untrusted_certificate_does_not_lead_to_plain_http() {
    let network = TestNetwork::default();
    one_image(&network);
    plain(&network, "r.test:80", "");
    let options = options(&[("r.test", PlainHttp::WithCredentials)]);
    let registry = network.registry_with_roots(options, RootCertStore::empty());
    let error = read(&registry, "r.test/a/b:v1").await.unwrap_err();
    assert!(matches!(error, RegistryError::Tls { .. }), "{error}");
    assert!(network.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn credentials_over_plain_http_need_their_own_permission() {
    let network = TestNetwork::default();
    plain(&network, "localhost:5000", "Basic realm=x");
    let registry = network.registry(options(&[]));
    let error = read(&registry, "localhost:5000/a/b:v1").await.unwrap_err();
    let expected = "not sending credentials to localhost:5000 over plain HTTP: it is not allowed for this host";
    assert_eq!(error.to_string(), expected);
    assert!(!network.requests().concat().contains("Basic"));

    let allowed = options(&[("localhost:5000", PlainHttp::WithCredentials)]);
    read(&network.registry(allowed), "localhost:5000/a/b:v1")
        .await
        .unwrap();
    assert!(network.requests().concat().contains("Basic"));
}

#[tokio::test(start_paused = true)]
async fn token_servers_get_no_password_over_plain_http() {
    let network = TestNetwork::default();
    let challenge = r#"Bearer realm="http://auth.test/token""#;
    let (store, _, _) = sample();
    network.add(
        "r.test:443",
        move |request: &ReceivedRequest| match request.authorization {
            None => Reply::new(401).with("www-authenticate", challenge),
            _ => store.respond(request),
        },
    );
    network.add_plain("auth.test:80", |_| Reply::new(200).body(r#"{"token":"t"}"#));
    let error = read(&network.registry(options(&[])), "r.test/a/b:v1")
        .await
        .unwrap_err();
    assert!(
        matches!(error, RegistryError::PlainHttpRefused { .. }),
        "{error}"
    );
    let error = read(
        &network.registry(RegistryOptions::default()),
        "r.test/a/b:v1",
    )
    .await
    .unwrap_err();
    assert!(
        matches!(error, RegistryError::PlainHttpRefused { .. }),
        "{error}"
    );
    assert!(!network.requests().concat().contains("auth.test"));
}

#[tokio::test(start_paused = true)]
async fn cached_credentials_of_tls_are_not_sent_over_plain_http() {
    let network = TestNetwork::default();
    let (store, _, _) = sample();
    let protected = move |request: &ReceivedRequest| match request.authorization {
        None => Reply::new(401).with("www-authenticate", "Basic realm=x"),
        _ => store.respond(request).with("connection", "close"),
    };
    network.add("r.test:443", protected.clone());
    let registry = network.registry(options(&[("r.test", PlainHttp::Anonymous)]));
    read(&registry, "r.test/a/b:v1").await.unwrap();
    network.remove("r.test:443");
    network.add_plain("r.test:80", protected);
    network.requests();
    let error = read(&registry, "r.test/a/b:v1").await.unwrap_err();
    assert!(
        matches!(error, RegistryError::PlainHttpRefused { .. }),
        "{error}"
    );
    assert!(!network.requests().concat().contains("Basic"));
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_does_not_mark_the_host_as_plain_http() {
    let network = TestNetwork::default();
    network.add_closing("r.test:443");
    network.add_closing("localhost:5000");
    let registry = network.registry(options(&[]));
    for name in ["r.test/a/b:v1", "localhost:5000/a/b:v1"] {
        let error = read(&registry, name).await.unwrap_err();
        assert_eq!(error.class(), crate::ErrorClass::Unavailable, "{error}");
    }
    // The registry is back, with TLS.
    let (store, _, _) = one_image(&network);
    network.add("localhost:5000", move |request: &ReceivedRequest| {
        store.respond(request)
    });
    for name in ["r.test/a/b:v1", "localhost:5000/a/b:v1"] {
        read(&registry, name).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_gains_tls_is_used_with_tls() {
    let network = TestNetwork::default();
    plain(&network, "localhost:5000", "");
    let registry = network.registry(options(&[]));
    read(&registry, "localhost:5000/a/b:v1").await.unwrap();
    let (store, _, _) = sample();
    network.add("localhost:5000", move |request: &ReceivedRequest| {
        store.respond(request)
    });
    // The plain HTTP connection may still be open.
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    read(&registry, "localhost:5000/a/b:v1").await.unwrap();
    // Servers with TLS answer plain HTTP with 400.
    let network = TestNetwork::default();
    network.add_closing("localhost:443");
    network.add_plain("localhost:80", |_| Reply::new(400));
    let registry = network.registry(options(&[]));
    let error = read(&registry, "localhost/a/b:v1").await.unwrap_err();
    assert!(
        matches!(error, RegistryError::Unreachable { .. }),
        "{error}"
    );
}
