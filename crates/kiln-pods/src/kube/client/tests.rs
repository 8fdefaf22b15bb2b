//! How kubeconfig and environment select the proxy of the API server.

use std::net::SocketAddr;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::*;

/// The name does not resolve, so only a proxy leads there.
const SERVER: &str = "https://api.test.invalid:6443";

fn kubeconfig(cluster: &str, context: &str) -> Kubeconfig {
    let text = format!(
        "{{current-context: a, contexts: [{{name: a, context: {{cluster: b, user: c{context}}}}}], \
         clusters: [{{name: b, cluster: {{server: '{SERVER}'{cluster}}}}}], users: [{{name: c, user: {{}}}}]}}"
    );
    Kubeconfig::from_yaml(&text).unwrap()
}

fn proxies(variables: &[(&str, &str)]) -> Proxies {
    let variable = |name: &str| {
        let mut variables = variables.iter();
        let found = variables.find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Proxies::from_variables(variable).unwrap()
}

/// A proxy that refuses all requests, and a channel with the requests.
async fn proxy() -> (SocketAddr, UnboundedReceiver<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, requests) = unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut lines = BufReader::new(&mut stream).lines();
            let mut head = Vec::new();
            while let Ok(Some(line)) = lines.next_line().await
                && !line.is_empty()
            {
                head.push(line.to_ascii_lowercase());
            }
            let _ = sender.send(head);
            let _ = stream.write_all(b"HTTP/1.1 502 Bad Gateway\r\n\r\n").await;
        }
    });
    (address, requests)
}

async fn request_error(file: Kubeconfig, proxies: &Proxies) -> String {
    let (client, _) = from_kubeconfig(file, proxies).await.unwrap();
    let version = client.apiserver_version().await;
    error_chain(&version.expect_err("there is no such server"))
}

#[tokio::test]
async fn a_kubeconfig_may_set_the_own_namespace() {
    let named = kubeconfig("", ", namespace: here");
    let (_, namespace) = from_kubeconfig(named, &Proxies::default()).await.unwrap();
    assert_eq!(namespace.as_deref(), Some("here"));
    let (_, namespace) = from_kubeconfig(kubeconfig("", ""), &Proxies::default())
        .await
        .unwrap();
    assert_eq!(namespace, None);
}

#[tokio::test]
async fn a_proxy_of_the_environment_is_used() {
    let (address, mut requests) = proxy().await;
    let variable = format!("http://me:se%20cret@{address}");
    request_error(kubeconfig("", ""), &proxies(&[("HTTPS_PROXY", &variable)])).await;
    let head = requests.recv().await.unwrap();
    assert_eq!(head[0], "connect api.test.invalid:6443 http/1.1");
    // me:se cret
    let expected = "proxy-authorization: Basic bWU6c2UgY3JldA==".to_ascii_lowercase();
    assert!(head.contains(&expected), "{head:?}");
}

#[tokio::test]
async fn no_proxy_is_respected() {
    let (address, mut requests) = proxy().await;
    let variable = address.to_string();
    // A trailing comma must not matter.
    for listed in ["test.invalid,", ".invalid", "*", "api.test.invalid:6443"] {
        let proxies = proxies(&[("https_proxy", &variable), ("NO_PROXY", listed)]);
        let error = request_error(kubeconfig("", ""), &proxies).await;
        assert!(error.contains("dns error"), "{listed}: {error}");
    }
    requests.try_recv().expect_err("the proxy gets no request");
}

#[tokio::test]
async fn proxy_url_overrides_the_environment() {
    let (address, mut requests) = proxy().await;
    let proxies = proxies(&[("HTTPS_PROXY", "nowhere.invalid:1"), ("NO_PROXY", "*")]);
    let file = kubeconfig(&format!(", proxy-url: 'http://{address}'"), "");
    request_error(file, &proxies).await;
    let head = requests.recv().await.unwrap();
    assert_eq!(head[0], "connect api.test.invalid:6443 http/1.1");

    let unknown = kubeconfig(", proxy-url: 'socks5://localhost:1'", "");
    let refused = from_kubeconfig(unknown, &Proxies::default()).await;
    let refused = refused.map(drop).expect_err("not a proxy that is known");
    assert!(refused.to_string().contains("proxy-url"), "{refused}");
}
