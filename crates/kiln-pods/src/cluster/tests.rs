//! What a kubeconfig and the environment say of the way to the API server.

use std::net::SocketAddr;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::*;

/// Nobody knows this name, so whoever gets there does so by way of a proxy.
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

/// A proxy that leads nowhere, and what it is asked.
async fn proxy() -> (SocketAddr, UnboundedReceiver<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, asked) = unbounded_channel();
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
    (address, asked)
}

async fn ask(file: Kubeconfig, proxies: &Proxies) -> String {
    let (client, _) = by_file(file, proxies).await.unwrap();
    let version = client.apiserver_version().await;
    told(&version.expect_err("there is no such server"))
}

#[tokio::test]
async fn a_file_may_name_the_own_namespace() {
    let named = kubeconfig("", ", namespace: here");
    let (_, namespace) = by_file(named, &Proxies::default()).await.unwrap();
    assert_eq!(namespace.as_deref(), Some("here"));
    let (_, namespace) = by_file(kubeconfig("", ""), &Proxies::default())
        .await
        .unwrap();
    assert_eq!(namespace, None);
}

#[tokio::test]
async fn a_proxy_of_the_environment_is_asked_to_connect() {
    let (address, mut asked) = proxy().await;
    let variable = format!("http://me:se%20cret@{address}");
    ask(kubeconfig("", ""), &proxies(&[("HTTPS_PROXY", &variable)])).await;
    let head = asked.recv().await.unwrap();
    assert_eq!(head[0], "connect api.test.invalid:6443 http/1.1");
    // me:se cret
    let expected = "proxy-authorization: Basic bWU6c2UgY3JldA==".to_ascii_lowercase();
    assert!(head.contains(&expected), "{head:?}");
}

#[tokio::test]
async fn what_is_listed_is_asked_directly() {
    let (address, mut asked) = proxy().await;
    let variable = address.to_string();
    // The last comma is one too many for some.
    for listed in ["test.invalid,", ".invalid", "*", "api.test.invalid:6443"] {
        let proxies = proxies(&[("https_proxy", &variable), ("NO_PROXY", listed)]);
        let error = ask(kubeconfig("", ""), &proxies).await;
        assert!(error.contains("dns error"), "{listed}: {error}");
    }
    asked.try_recv().expect_err("nobody asks the proxy");
}

#[tokio::test]
async fn a_proxy_of_the_file_goes_before_the_environment() {
    let (address, mut asked) = proxy().await;
    let proxies = proxies(&[("HTTPS_PROXY", "nowhere.invalid:1"), ("NO_PROXY", "*")]);
    let file = kubeconfig(&format!(", proxy-url: 'http://{address}'"), "");
    ask(file, &proxies).await;
    let head = asked.recv().await.unwrap();
    assert_eq!(head[0], "connect api.test.invalid:6443 http/1.1");

    let unknown = kubeconfig(", proxy-url: 'socks5://localhost:1'", "");
    let refused = by_file(unknown, &Proxies::default()).await;
    let refused = refused.map(drop).expect_err("not a proxy that is known");
    assert!(refused.to_string().contains("proxy-url"), "{refused}");
}
