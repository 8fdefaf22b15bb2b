//! Push, and pull afterwards.

use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

use super::fixtures::{Store, amd64, image, reference};
use super::network::{ReceivedRequest, Reply, TestNetwork};
use crate::media_type::OCI_INDEX;
use crate::{
    Descriptor, Digest, DockerConfig, ImageIndex, ImageLayout, Keychain, LayoutError, PushError,
    RegistryClient, RegistryError, RegistryOptions,
};

const PASSWORD: &str = "Basic bWU6cGFzcw==";

fn client(network: &TestNetwork) -> RegistryClient {
    let config = br#"{"auths":{"r.test":{"auth":"bWU6cGFzcw=="}}}"#;
    network.registry(RegistryOptions {
        keychain: Keychain::fixed(DockerConfig::parse(config).unwrap()),
        ..RegistryOptions::default()
    })
}

fn empty(network: &TestNetwork) {
    let store = Store::default();
    network.add("r.test:443", move |request| store.respond(request));
}

/// An index with two images.
fn two() -> (ImageLayout, Descriptor) {
    let mut layout = ImageLayout::default();
    let manifests = vec![
        image(&mut layout, "linux/amd64", "/amd"),
        image(&mut layout, "linux/arm64", "/arm"),
    ];
    let index = ImageIndex {
        schema_version: 2,
        media_type: Some(OCI_INDEX.to_owned()),
        manifests,
    };
    let index = serde_json::to_vec(&index).unwrap();
    let root = layout.add_blob(OCI_INDEX, index.into());
    (layout, root)
}

#[tokio::test(start_paused = true)]
async fn a_pushed_image_can_be_pulled() {
    let network = TestNetwork::default();
    empty(&network);
    let (layout, root) = two();
    let registry = client(&network);
    let name = reference("r.test/x/y:v1");
    assert_eq!(
        registry.push(&name, &layout, &root).await.unwrap(),
        root.digest
    );
    let puts = network.requests();
    let puts: Vec<_> = puts.iter().filter(|line| line.contains("PUT")).collect();
    // Two configs, two layers, then two manifests, and the index last and by its tag.
    assert_eq!(puts.len(), 7);
    assert!(puts[6].ends_with("/manifests/v1"), "{}", puts[6]);
    let image = registry.image(&name, &amd64()).await.unwrap();
    assert_eq!(image.digest, root.digest);
    assert_eq!(image.config.config.entrypoint, ["/amd"]);

    network.requests();
    registry.push(&name, &layout, &root).await.unwrap();
    let again = network.requests();
    assert!(
        again.iter().all(|line| !line.contains("/blobs/uploads/")),
        "existing blobs are not sent again"
    );
}

#[tokio::test(start_paused = true)]
async fn uploads_to_another_host_carry_no_credentials() {
    let network = TestNetwork::default();
    network.add("r.test:443", |request: &ReceivedRequest| {
        match request.authorization.as_deref() {
            Some(PASSWORD) if request.method == "HEAD" => Reply::new(404),
            Some(PASSWORD) => Reply::new(202).with("location", "https://up.test/u?state=s"),
            _ => Reply::new(401).with("www-authenticate", "Basic realm=x"),
        }
    });
    network.add("up.test:443", |_| Reply::new(201));
    let bytes = Bytes::from_static(b"blob");
    let digest = Digest::of(&bytes);
    client(&network)
        .push_blob(&reference("r.test/x:1"), &digest, bytes)
        .await
        .unwrap();
    let last = format!("PUT up.test:443/u?state=s&digest=sha256%3A{}", digest.hex());
    assert_eq!(network.requests().last(), Some(&last));
}

#[tokio::test(start_paused = true)]
async fn uploads_go_to_the_location_of_the_registry() {
    let bytes = Bytes::from_static(b"blob");
    let digest = Digest::of(&bytes);
    let hex = digest.hex();
    let locations = [
        ("/u/1", format!("PUT r.test:443/u/1?digest=sha256%3A{hex}")),
        ("/u/1?", format!("PUT r.test:443/u/1?digest=sha256%3A{hex}")),
        (
            "2?state=a%2Fb&x",
            format!("PUT r.test:443/v2/x/blobs/uploads/2?state=a%2Fb&x&digest=sha256%3A{hex}"),
        ),
        (
            "https://r.test/u#part",
            format!("PUT r.test:443/u?digest=sha256%3A{hex}"),
        ),
    ];
    for (location, expected) in locations {
        let network = TestNetwork::default();
        network.add(
            "r.test:443",
            move |request: &ReceivedRequest| match request.method.as_str() {
                "HEAD" => Reply::new(404),
                "POST" => Reply::new(202).with("location", location),
                _ => Reply::new(201),
            },
        );
        let name = reference("r.test/x:1");
        let pushed = client(&network)
            .push_blob(&name, &digest, bytes.clone())
            .await;
        pushed.unwrap();
        assert_eq!(network.requests().last(), Some(&expected));
    }
    let nowhere = [
        (Some("http://r.test/u"), "its upload location is plain HTTP"),
        (Some(""), "it returned no valid upload location"),
        (
            Some("ftp://r.test/"),
            "it returned no valid upload location",
        ),
        (None, "it returned no valid upload location"),
    ];
    for (location, expected) in nowhere {
        let network = TestNetwork::default();
        network.add("r.test:443", move |request: &ReceivedRequest| {
            match (request.method.as_str(), location) {
                ("HEAD", _) => Reply::new(404),
                ("POST", Some(location)) => Reply::new(202).with("location", location),
                _ => Reply::new(202),
            }
        });
        let name = reference("r.test/x:1");
        let pushed = client(&network)
            .push_blob(&name, &digest, bytes.clone())
            .await;
        let error = pushed.unwrap_err().to_string();
        assert!(error.ends_with(expected), "{error}");
        assert!(!network.requests().concat().contains("PUT"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_upload_is_started_again() {
    let network = TestNetwork::default();
    let store = Store::default();
    let count = AtomicUsize::new(0);
    network.add("r.test:443", move |request: &ReceivedRequest| {
        if request.method == "PUT" && count.fetch_add(1, Ordering::SeqCst) == 0 {
            return Reply::new(502);
        }
        store.respond(request)
    });
    let bytes = Bytes::from_static(b"blob");
    let digest = Digest::of(&bytes);
    client(&network)
        .push_blob(&reference("r.test/x:1"), &digest, bytes)
        .await
        .unwrap();
    let methods: Vec<_> = network
        .requests()
        .iter()
        .map(|line| line[..4].trim().to_owned())
        .collect();
    assert_eq!(methods, ["HEAD", "POST", "PUT", "POST", "PUT"]);
}

#[tokio::test(start_paused = true)]
async fn content_with_a_wrong_digest_is_not_pushed() {
    let network = TestNetwork::default();
    empty(&network);
    let registry = client(&network);
    let name = reference("r.test/x:1");
    let wrong = Digest::of(b"other");
    let error = registry
        .push_blob(&name, &wrong, Bytes::from_static(b"blob"))
        .await
        .unwrap_err();
    assert!(matches!(error, RegistryError::Digest { .. }), "{error}");
    let bound = name.with_digest(wrong.clone());
    let pushed = registry
        .push_manifest(&bound, OCI_INDEX, Bytes::from_static(b"{}"))
        .await;
    assert!(matches!(pushed, Err(RegistryError::Digest { .. })));
    let missing = Descriptor {
        digest: wrong,
        ..Descriptor::of(OCI_INDEX, b"")
    };
    let error = registry
        .push(&name, &ImageLayout::default(), &missing)
        .await
        .unwrap_err();
    let PushError::Layout {
        source: LayoutError::MissingBlob(_),
        ..
    } = error
    else {
        panic!("{error}")
    };
    assert!(network.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_message_of_a_read_only_registry_is_reported() {
    let network = TestNetwork::default();
    network.add("r.test:443", |request: &ReceivedRequest| {
        match request.method.as_str() {
            "HEAD" => Reply::new(404),
            _ => {
                Reply::new(405).body(r#"{"errors":[{"code":"UNSUPPORTED","message":"read only"}]}"#)
            }
        }
    });
    let (layout, root) = two();
    let error = client(&network)
        .push(&reference("r.test/x:1"), &layout, &root)
        .await
        .unwrap_err();
    let PushError::Registry { source, .. } = &error else {
        panic!("{error}")
    };
    assert!(
        source
            .to_string()
            .ends_with("405 Method Not Allowed: read only (UNSUPPORTED)"),
        "{source}"
    );
    assert_eq!(error.to_string(), "cannot push r.test/x:1");
}
