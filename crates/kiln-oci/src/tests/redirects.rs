//! Redirects, and the credentials that do not follow them.

use super::fixtures::{one_image, reference, sample};
use super::network::{Reply, TestNetwork};
use crate::{DockerConfig, Keychain, RegistryClient, RegistryError, RegistryOptions};

const PASSWORD: &str = "Basic bWU6cGFzcw==";

fn client(network: &TestNetwork) -> RegistryClient {
    let config =
        br#"{"auths":{"r.test":{"auth":"bWU6cGFzcw=="},"cdn.test":{"auth":"bWU6cGFzcw=="}}}"#;
    network.registry(RegistryOptions {
        keychain: Keychain::fixed(DockerConfig::parse(config).unwrap()),
        ..RegistryOptions::default()
    })
}

/// A registry that requires a password and then redirects.
fn redirecting(network: &TestNetwork, location: &'static str) {
    network.add("r.test:443", move |request| {
        match request.authorization.as_deref() {
            Some(PASSWORD) => Reply::new(307).with("location", location),
            _ => Reply::new(401).with("www-authenticate", "Basic realm=x"),
        }
    });
}

async fn read(network: &TestNetwork) -> Result<(), RegistryError> {
    let read = client(network).manifest(&reference("r.test/a/b:v1")).await;
    read.map(drop)
}

#[tokio::test(start_paused = true)]
async fn credentials_are_not_sent_to_another_host() {
    let network = TestNetwork::default();
    redirecting(&network, "https://cdn.test/v2/a/b/manifests/v1?signature=s");
    let (store, _, _) = sample();
    network.add("cdn.test:443", move |request| store.respond(request));
    read(&network).await.unwrap();
    let requests = network.requests();
    assert_eq!(
        requests.last().unwrap(),
        "GET cdn.test:443/v2/a/b/manifests/v1?signature=s"
    );
    assert_eq!(requests.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn another_port_is_another_origin() {
    let network = TestNetwork::default();
    redirecting(&network, "https://r.test:8443/v2/a/b/manifests/v1");
    let (store, _, _) = sample();
    network.add("r.test:8443", move |request| store.respond(request));
    read(&network).await.unwrap();
    assert_eq!(
        network.requests().last().unwrap(),
        "GET r.test:8443/v2/a/b/manifests/v1"
    );
}

#[tokio::test(start_paused = true)]
async fn a_challenge_of_another_host_gets_no_credentials() {
    let network = TestNetwork::default();
    redirecting(&network, "https://cdn.test/x");
    network.add("cdn.test:443", |_| {
        Reply::new(401).with("www-authenticate", "Basic realm=x")
    });
    let error = read(&network).await.unwrap_err();
    assert!(matches!(error, RegistryError::Status { .. }), "{error}");
    assert!(
        !network
            .requests()
            .iter()
            .any(|line| line.contains("cdn.test") && line.contains(PASSWORD))
    );
}

#[tokio::test(start_paused = true)]
async fn credentials_follow_redirects_within_the_origin() {
    let network = TestNetwork::default();
    let (store, _, _) = one_image(&network);
    network.add("r.test:443", move |request| {
        match request.authorization.as_deref() {
            Some(PASSWORD) if request.target.ends_with("/v1") => {
                Reply::new(302).with("location", "moved")
            }
            Some(PASSWORD) => {
                let mut request = request.clone();
                request.target = request.target.replace("moved", "v1");
                store.respond(&request)
            }
            _ => Reply::new(401).with("www-authenticate", "Basic realm=x"),
        }
    });
    read(&network).await.unwrap();
    let last = format!("GET r.test:443/v2/a/b/manifests/moved {PASSWORD}");
    assert_eq!(network.requests().last(), Some(&last));
}

#[tokio::test(start_paused = true)]
async fn the_signature_of_a_redirect_is_not_in_messages() {
    let network = TestNetwork::default();
    redirecting(&network, "https://cdn.test/x?signature=hidden");
    let replies: [fn() -> Reply; 3] = [
        || Reply::new(302).with("location", "http://else.test/"),
        || Reply::new(302),
        || Reply::new(500).body("x"),
    ];
    for reply in replies {
        network.add("cdn.test:443", move |_| reply());
        let error = read(&network).await.unwrap_err();
        assert!(!format!("{error:?}").contains("hidden"), "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn invalid_redirects_are_refused() {
    let cases = [
        ("https://r.test/v2/a/b/manifests/v1", "too many times"),
        ("http://cdn.test/x", "to plain HTTP"),
        ("http://127.0.0.1:5000/x", "to plain HTTP"),
        ("ftp://cdn.test/x", "to an invalid URL"),
        ("https://u:p@cdn.test/x", "to an invalid URL"),
    ];
    for (location, expected) in cases {
        let network = TestNetwork::default();
        redirecting(&network, location);
        let error = read(&network).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{location}: {error}");
        assert!(network.requests().len() < 10);
    }
}
