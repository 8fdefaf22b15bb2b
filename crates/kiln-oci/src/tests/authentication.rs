//! Authentication: passwords, tokens, identity tokens, and rejected credentials.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::fixtures::{amd64, reference, sample};
use super::network::{ReceivedRequest, Reply, TestNetwork};
use crate::{DockerConfig, ErrorClass, Keychain, RegistryClient, RegistryError, RegistryOptions};

const PASSWORD: &str = "Basic bWU6cGFzcw==";
const BEARER: &str =
    r#"Bearer realm="https://auth.test/token",service="s",scope="repository:a/b:pull""#;
const TOKEN_URL: &str = "auth.test:443/token?service=s&scope=repository%3Aa%2Fb%3Apull";
const MANIFEST: &str = "GET r.test:443/v2/a/b/manifests/v1";

/// A registry that requires the header `wanted`, and sends a challenge otherwise.
fn protected(
    network: &TestNetwork,
    challenge: &'static str,
    wanted: impl Fn() -> String + Send + Sync + 'static,
) {
    let (store, _, _) = sample();
    network.add("r.test:443", move |request: &ReceivedRequest| {
        match request.authorization.as_ref() == Some(&wanted()) {
            true => store.respond(request),
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

fn client(network: &TestNetwork, keychain: Keychain) -> RegistryClient {
    network.registry(RegistryOptions {
        keychain,
        ..RegistryOptions::default()
    })
}

fn with_password(network: &TestNetwork) -> RegistryClient {
    client(network, keychain(r#"{"auth":"bWU6cGFzcw=="}"#))
}

async fn read(registry: &RegistryClient) -> Result<(), RegistryError> {
    registry
        .manifest(&reference("r.test/a/b:v1"))
        .await
        .map(drop)
}

#[tokio::test(start_paused = true)]
async fn a_password_is_sent_after_a_challenge() {
    let network = TestNetwork::default();
    protected(&network, "Basic realm=x", || PASSWORD.to_owned());
    let registry = with_password(&network);
    read(&registry).await.unwrap();
    let authorized = format!("{MANIFEST} {PASSWORD}");
    assert_eq!(network.requests(), [MANIFEST, &authorized]);
    read(&registry).await.unwrap();
    assert_eq!(network.requests(), [authorized], "the header is cached");
}

#[tokio::test(start_paused = true)]
async fn a_wrong_password_is_tried_once() {
    let network = TestNetwork::default();
    protected(&network, "Basic realm=x", || "Basic other".to_owned());
    let registry = with_password(&network);
    let error = read(&registry).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Config);
    let expected = "r.test denied permission to read r.test/a/b:v1: who are you (UNAUTHORIZED)";
    assert_eq!(error.to_string(), expected);
    assert_eq!(network.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn without_credentials_no_header_is_sent() {
    let network = TestNetwork::default();
    protected(&network, "Basic realm=x", || PASSWORD.to_owned());
    let error = read(&client(&network, Keychain::anonymous()))
        .await
        .unwrap_err();
    assert!(matches!(error, RegistryError::Denied { .. }), "{error}");
    assert_eq!(network.requests(), [MANIFEST]);
    let elsewhere = keychain(r#"{"auth":"bWU6cGFzcw=="}"#);
    let elsewhere = Keychain::routed(
        vec![("r.test/other".to_owned(), elsewhere)],
        Keychain::anonymous(),
    );
    read(&client(&network, elsewhere)).await.unwrap_err();
    assert_eq!(network.requests(), [MANIFEST]);
}

/// A token server that returns a new token each time, and the number of tokens.
fn token_server(network: &TestNetwork, lifetime: u64) -> Arc<AtomicUsize> {
    let issued = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&issued);
    network.add("auth.test:443", move |_| {
        let number = count.fetch_add(1, Ordering::SeqCst) + 1;
        Reply::new(200).body(format!(
            r#"{{"token":"t{number}","expires_in":{lifetime}}}"#
        ))
    });
    issued
}

#[tokio::test(start_paused = true)]
async fn tokens_are_fetched_cached_and_renewed() {
    let network = TestNetwork::default();
    let issued = token_server(&network, 100);
    protected(&network, BEARER, move || {
        format!("Bearer t{}", issued.load(Ordering::SeqCst))
    });
    let registry = with_password(&network);
    read(&registry).await.unwrap();
    let token_request = format!("GET {TOKEN_URL}&account=me {PASSWORD}");
    assert_eq!(
        network.requests(),
        [MANIFEST, &token_request, &format!("{MANIFEST} Bearer t1")]
    );
    read(&registry).await.unwrap();
    assert_eq!(network.requests(), [format!("{MANIFEST} Bearer t1")]);
    tokio::time::advance(Duration::from_secs(95)).await;
    read(&registry).await.unwrap();
    assert_eq!(
        network.requests(),
        [MANIFEST, &token_request, &format!("{MANIFEST} Bearer t2")]
    );
}

#[tokio::test(start_paused = true)]
async fn a_rejected_token_is_renewed_once() {
    let network = TestNetwork::default();
    let issued = token_server(&network, 10_000);
    let valid = Arc::new(Mutex::new("Bearer t1".to_owned()));
    let wanted = Arc::clone(&valid);
    protected(&network, BEARER, move || wanted.lock().unwrap().clone());
    let registry = with_password(&network);
    read(&registry).await.unwrap();
    "Bearer t2".clone_into(&mut valid.lock().unwrap());
    read(&registry).await.unwrap();
    assert_eq!(issued.load(Ordering::SeqCst), 2);
    "nothing".clone_into(&mut valid.lock().unwrap());
    network.requests();
    read(&registry).await.unwrap_err();
    // With the old token, the token request, with the new token.
    assert_eq!(network.requests().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_public_image_needs_an_anonymous_token() {
    let network = TestNetwork::default();
    token_server(&network, 300);
    protected(&network, BEARER, || "Bearer t1".to_owned());
    read(&client(&network, Keychain::anonymous()))
        .await
        .unwrap();
    assert_eq!(network.requests()[1], format!("GET {TOKEN_URL}"));
}

#[tokio::test(start_paused = true)]
async fn an_identity_token_is_exchanged() {
    let network = TestNetwork::default();
    network.add("auth.test:443", |request| {
        let form = String::from_utf8(request.body.to_vec()).unwrap();
        assert_eq!(request.content_type, "application/x-www-form-urlencoded");
        match form.contains("grant_type=refresh_token") && form.ends_with("refresh_token=secret%2B")
        {
            true => Reply::new(200).body(r#"{"access_token":"t1"}"#),
            false => Reply::new(401),
        }
    });
    protected(&network, BEARER, || "Bearer t1".to_owned());
    let registry = client(&network, keychain(r#"{"identitytoken":"secret+"}"#));
    read(&registry).await.unwrap();
    assert_eq!(network.requests()[1], "POST auth.test:443/token");
}

#[tokio::test(start_paused = true)]
async fn a_registry_token_is_sent_as_it_is() {
    let network = TestNetwork::default();
    protected(&network, BEARER, || "Bearer mine".to_owned());
    read(&client(&network, keychain(r#"{"registrytoken":"mine"}"#)))
        .await
        .unwrap();
    assert_eq!(network.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_message_of_a_token_server_is_reported() {
    let network = TestNetwork::default();
    protected(&network, BEARER, || "never".to_owned());
    network.add("auth.test:443", |_| {
        Reply::new(401).body(r#"{"details":"incorrect username or password"}"#)
    });
    let error = read(&with_password(&network)).await.unwrap_err();
    let expected = "r.test denied permission to read r.test/a/b:v1: the token server returned: incorrect username or password";
    assert_eq!(error.to_string(), expected);
    assert_eq!(network.requests().len(), 2);

    network.add("auth.test:443", |_| Reply::new(200).body("{}"));
    let error = read(&with_password(&network)).await.unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("its response contains no token"),
        "{error}"
    );

    // A busy token server gets a retry.
    let count = AtomicUsize::new(0);
    network.add("auth.test:443", move |_| {
        match count.fetch_add(1, Ordering::SeqCst) {
            0 => Reply::new(503),
            _ => Reply::new(200).body(r#"{"token":"never"}"#),
        }
    });
    let error = read(&with_password(&network)).await.unwrap_err();
    assert!(matches!(error, RegistryError::Denied { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn redirects_of_token_servers_get_no_credentials() {
    let network = TestNetwork::default();
    protected(&network, BEARER, || "Bearer t".to_owned());
    network.add("auth.test:443", |_| {
        Reply::new(307).with("location", "https://else.test/token")
    });
    network.add("else.test:443", |_| {
        Reply::new(200).body(r#"{"token":"t"}"#)
    });
    read(&with_password(&network)).await.unwrap();
    let requests = network.requests();
    let elsewhere: Vec<_> = requests
        .iter()
        .filter(|line| line.contains("else.test"))
        .collect();
    assert_eq!(elsewhere, ["GET else.test:443/token"]);
    // An identity token is part of the request body, so the redirect is not followed.
    let identity = client(&network, keychain(r#"{"identitytoken":"i"}"#));
    let error = read(&identity).await.unwrap_err();
    assert!(matches!(error, RegistryError::Redirect { .. }), "{error}");
    assert!(!network.requests().concat().contains("else.test"));
}

#[tokio::test(start_paused = true)]
async fn unsupported_challenges_are_errors() {
    let strange = [
        "Negotiate",
        r#"Bearer realm="no url""#,
        r#"Bearer realm="/token""#,
        r#"Bearer realm="https://""#,
    ];
    for challenge in strange {
        let network = TestNetwork::default();
        protected(&network, challenge, || "never".to_owned());
        let error = read(&with_password(&network)).await.unwrap_err();
        assert!(
            matches!(error, RegistryError::Protocol { .. }),
            "{challenge}: {error}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn credentials_are_read_when_they_are_needed() {
    let network = TestNetwork::default();
    protected(&network, "Basic realm=x", || PASSWORD.to_owned());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.json");
    let registry = client(&network, Keychain::file(path.clone()));
    let error = read(&registry).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot get credentials for r.test");
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
async fn docker_hub_has_another_host_and_another_key() {
    let network = TestNetwork::default();
    let (store, _, _) = sample();
    network.add(
        "registry-1.docker.io:443",
        move |request: &ReceivedRequest| match request.authorization.as_deref() {
            Some(PASSWORD) => store.respond(request),
            _ => Reply::new(401).with("www-authenticate", "Basic realm=x"),
        },
    );
    let config = br#"{"auths":{"https://index.docker.io/v1/":{"auth":"bWU6cGFzcw=="}}}"#;
    let registry = client(
        &network,
        Keychain::fixed(DockerConfig::parse(config).unwrap()),
    );
    registry.manifest(&reference("a/b:v1")).await.unwrap();
    let official = registry.manifest(&reference("nginx")).await.unwrap_err();
    assert_eq!(official.class(), ErrorClass::NotFound);
    let last = network.requests().pop().unwrap();
    assert!(
        last.starts_with("GET registry-1.docker.io:443/v2/library/nginx/manifests/latest"),
        "{last}"
    );
}
