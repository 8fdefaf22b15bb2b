//! Requests through a proxy.

use super::fixtures::{amd64, one_image, reference};
use super::network::TestNetwork;
use crate::{ErrorClass, Proxies, RegistryClient, RegistryOptions};

fn client(network: &TestNetwork, variables: &'static [(&str, &str)]) -> RegistryClient {
    let proxies = Proxies::from_variables(|name| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    });
    network.registry(RegistryOptions {
        proxies: proxies.unwrap(),
        ..RegistryOptions::default()
    })
}

#[tokio::test(start_paused = true)]
async fn requests_go_through_the_proxy() {
    let network = TestNetwork::default();
    let (_, _, root) = one_image(&network);
    network.add_proxy("p.test:3128", None);
    let registry = client(&network, &[("HTTPS_PROXY", "http://p.test:3128")]);
    let image = registry.image(&reference("r.test/a/b:v1"), &amd64()).await;
    assert_eq!(image.unwrap().digest, root.digest);
    let requests = network.requests();
    assert_eq!(requests.first().unwrap(), "CONNECT p.test:3128/r.test:443");
    // The tunnel carries TLS: the proxy sees only CONNECT.
    assert!(
        requests
            .iter()
            .skip(1)
            .all(|line| line.contains(" r.test:443/v2/")),
        "{requests:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn no_proxy_hosts_are_connected_directly() {
    let network = TestNetwork::default();
    one_image(&network);
    network.add_proxy("p.test:3128", None);
    let variables = &[
        ("HTTPS_PROXY", "http://p.test:3128"),
        ("NO_PROXY", "r.test"),
    ];
    let registry = client(&network, variables);
    let image = registry.image(&reference("r.test/a/b:v1"), &amd64()).await;
    image.unwrap();
    let requests = network.requests();
    assert!(
        !requests.iter().any(|line| line.contains("CONNECT")),
        "{requests:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn proxy_credentials_are_sent_only_to_the_proxy() {
    let network = TestNetwork::default();
    one_image(&network);
    network.add_proxy("p.test:3128", Some("Basic bWU6cGFzcw=="));
    let variables = &[("HTTPS_PROXY", "http://me:pass@p.test:3128")];
    let registry = client(&network, variables);
    let image = registry.image(&reference("r.test/a/b:v1"), &amd64()).await;
    image.unwrap();
    let (to_proxy, to_registry): (Vec<_>, Vec<_>) = network
        .requests()
        .into_iter()
        .partition(|line| line.starts_with("CONNECT"));
    assert!(
        to_proxy
            .iter()
            .all(|line| line.ends_with(" Basic bWU6cGFzcw==")),
        "{to_proxy:?}"
    );
    assert!(
        !to_registry.is_empty() && !to_registry.iter().any(|line| line.contains("Basic")),
        "{to_registry:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_proxy_that_refuses_is_named_and_not_bypassed() {
    let network = TestNetwork::default();
    one_image(&network);
    network.add_proxy("p.test:3128", Some("Basic bWU6cGFzcw=="));
    let registry = client(&network, &[("HTTPS_PROXY", "http://p.test:3128")]);
    let error = registry.image(&reference("r.test/a/b:v1"), &amd64()).await;
    let error = error.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unavailable);
    let source = std::error::Error::source(&error).map(ToString::to_string);
    let text = format!("{error}: {}", source.unwrap_or_default());
    assert!(
        text.contains("p.test:3128") && text.contains("407"),
        "{text}"
    );
    let requests = network.requests();
    assert!(
        requests.iter().all(|line| line.starts_with("CONNECT")),
        "{requests:?}"
    );
}
