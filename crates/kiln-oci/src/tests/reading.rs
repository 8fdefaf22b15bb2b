//! Pull: manifests, images and blobs, right and wrong ones.

use super::fixtures::{Store, amd64, image, one_image, reference};
use super::network::{Reply, TestNetwork};
use crate::media_type::{OCI_INDEX, OCI_MANIFEST};
use crate::{
    Descriptor, Digest, ErrorClass, ImageIndex, ImageLayout, Platform, RegistryClient,
    RegistryError, RegistryLimits, RegistryOptions,
};

fn client(network: &TestNetwork) -> RegistryClient {
    network.registry(RegistryOptions::default())
}

fn index(layout: &mut ImageLayout, manifests: Vec<Descriptor>) -> Descriptor {
    let index = ImageIndex {
        schema_version: 2,
        media_type: Some(OCI_INDEX.to_owned()),
        manifests,
    };
    layout.add_blob(OCI_INDEX, serde_json::to_vec(&index).unwrap().into())
}

#[tokio::test(start_paused = true)]
async fn a_tag_resolves_to_digest_and_config() {
    let network = TestNetwork::default();
    let (_, layout, root) = one_image(&network);
    let registry = client(&network);
    let image = registry
        .image(&reference("r.test/a/b:v1"), &amd64())
        .await
        .unwrap();
    assert_eq!(image.digest, root.digest);
    assert_eq!(image.manifest_digest, root.digest);
    assert_eq!(image.config.command_line(), ["/bin/x", "--flag"]);
    assert_eq!(image.config.config.working_dir, "/w");
    assert_eq!(image.layers.len(), 1);
    let by_digest = reference("r.test/a/b:other").with_digest(root.digest.clone());
    assert_eq!(registry.image(&by_digest, &amd64()).await.unwrap(), image);

    let name = reference("r.test/a/b:v1");
    let layer = registry.blob(&name, &image.layers[0]).await.unwrap();
    assert_eq!(layer, layout.blob(&image.layers[0].digest).unwrap());
}

#[tokio::test(start_paused = true)]
async fn an_index_resolves_to_the_image_for_the_platform() {
    let network = TestNetwork::default();
    let (store, mut layout, amd) = one_image(&network);
    let arm = image(&mut layout, "linux/arm64", "/bin/arm");
    let inner = index(&mut layout, vec![amd, arm.clone()]);
    let mut entry = inner.clone();
    entry.platform = arm.platform.clone();
    let outer = index(&mut layout, vec![entry]);
    store.put("a/b:v2", &layout, &inner);
    store.put("a/b:nested", &layout, &outer);
    let registry = client(&network);
    let arm64 = Platform::linux("aarch64");
    for (tag, root) in [("v2", &inner), ("nested", &outer)] {
        let name = reference(&format!("r.test/a/b:{tag}"));
        let image = registry.image(&name, &arm64).await.unwrap();
        assert_eq!(
            (&image.digest, &image.manifest_digest),
            (&root.digest, &arm.digest)
        );
        assert_eq!(image.config.config.entrypoint, ["/bin/arm"]);
    }
    let riscv = Platform::linux("riscv64");
    let error = registry
        .image(&reference("r.test/a/b:v2"), &riscv)
        .await
        .unwrap_err();
    assert_eq!(error.class(), ErrorClass::NotFound);
    let expected =
        "r.test/a/b:v2 has no image for linux/riscv64, only for linux/amd64, linux/arm64";
    assert_eq!(error.to_string(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_missing_tag_is_not_found() {
    let network = TestNetwork::default();
    one_image(&network);
    let error = client(&network)
        .manifest(&reference("r.test/a/b:v9"))
        .await
        .unwrap_err();
    assert_eq!(error.class(), ErrorClass::NotFound);
    assert_eq!(
        error.to_string(),
        "r.test/a/b:v9 is not in the registry: not here (UNKNOWN)"
    );
    assert_eq!(network.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_manifest_with_another_digest_is_refused() {
    let network = TestNetwork::default();
    let (store, _, root) = one_image(&network);
    let by_digest = reference("r.test/a/b").with_digest(root.digest.clone());
    let other = r#"{"schemaVersion":2,"manifests":[]}"#;
    store.put_manifest(&format!("a/b:{}", root.digest), OCI_INDEX, other);
    let error = client(&network).manifest(&by_digest).await.unwrap_err();
    let RegistryError::Digest {
        expected, actual, ..
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!(
        (expected, actual),
        (&root.digest, &Digest::of(other.as_bytes()))
    );
    assert_eq!(error.class(), ErrorClass::Internal);
    assert_eq!(network.requests().len(), 1, "no retry");
}

#[tokio::test(start_paused = true)]
async fn a_manifest_must_match_the_digest_header() {
    let network = TestNetwork::default();
    network.add("r.test:443", |_| {
        let digest = Digest::of(b"something else");
        Reply::new(200)
            .with("docker-content-digest", digest.as_str())
            .body(r#"{"schemaVersion":2,"manifests":[]}"#)
    });
    let error = client(&network)
        .manifest(&reference("r.test/a:1"))
        .await
        .unwrap_err();
    assert!(matches!(error, RegistryError::Digest { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_blob_with_another_digest_or_size_is_refused() {
    let network = TestNetwork::default();
    let (store, layout, root) = one_image(&network);
    let registry = client(&network);
    let name = reference("r.test/a/b:v1");
    let image = registry.image(&name, &amd64()).await.unwrap();
    let layer = &image.layers[0];
    let key = format!("a/b:{}", layer.digest);
    let mut bytes = layout.blob(&layer.digest).unwrap().to_vec();
    bytes[0] ^= 1;
    store.put_blob(&key, bytes.clone());
    let error = registry.blob(&name, layer).await.unwrap_err();
    assert!(matches!(error, RegistryError::Digest { .. }), "{error}");
    for other in [&bytes[1..], &[bytes.as_slice(), b"x"].concat()] {
        store.put_blob(&key, other.to_vec());
        let error = registry.blob(&name, layer).await.unwrap_err();
        assert!(matches!(error, RegistryError::Size { .. }), "{error}");
    }
    drop(root);
}

#[tokio::test(start_paused = true)]
async fn limits_are_enforced() {
    let network = TestNetwork::default();
    let (store, _, _) = one_image(&network);
    store.put_manifest("a/b:huge", OCI_MANIFEST, vec![b' '; (4 << 20) + 1]);
    let registry = client(&network);
    let error = registry
        .manifest(&reference("r.test/a/b:huge"))
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            RegistryError::TooLarge {
                limit: 0x40_0000,
                ..
            }
        ),
        "{error}"
    );

    let name = reference("r.test/a/b:v1");
    let strict = RegistryOptions {
        limits: RegistryLimits {
            config: 10,
            blob: 10,
            ..RegistryLimits::default()
        },
        ..RegistryOptions::default()
    };
    let strict = network.registry(strict);
    let error = strict.image(&name, &amd64()).await.unwrap_err();
    assert!(
        matches!(error, RegistryError::TooLarge { limit: 10, .. }),
        "{error}"
    );
    let layer = &registry.image(&name, &amd64()).await.unwrap().layers[0];
    let error = strict.blob(&name, layer).await.unwrap_err();
    assert!(
        matches!(error, RegistryError::TooLarge { limit: 10, .. }),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_body_without_length_is_limited_too() {
    let network = TestNetwork::default();
    // Without a Content-Length the limit is enforced while reading.
    network.add("r.test:443", |_| {
        Reply::new(200)
            .with("transfer-encoding", "chunked")
            .body(vec![b' '; 5 << 20])
    });
    let error = client(&network)
        .manifest(&reference("r.test/a:1"))
        .await
        .unwrap_err();
    assert!(matches!(error, RegistryError::TooLarge { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn nested_indexes_are_limited() {
    let network = TestNetwork::default();
    let (store, mut layout, amd) = one_image(&network);
    let mut root = amd.clone();
    for _ in 0..10 {
        root.platform = amd.platform.clone();
        root = index(&mut layout, vec![root]);
    }
    store.put("a/b:deep", &layout, &root);
    let error = client(&network)
        .image(&reference("r.test/a/b:deep"), &amd64())
        .await
        .unwrap_err();
    assert!(matches!(error, RegistryError::Protocol { .. }), "{error}");
    assert!(network.requests().len() < 10);
}

#[tokio::test(start_paused = true)]
async fn an_invalid_manifest_or_config_is_reported() {
    let network = TestNetwork::default();
    let store = Store::default();
    store.put_manifest("a:html", "text/html", "<html>");
    let config = Descriptor::of("x", b"no config");
    store.put_blob(&format!("a:{}", config.digest), "no config");
    let config = serde_json::to_string(&config).unwrap();
    let manifest = format!(r#"{{"schemaVersion":2,"config":{config},"layers":[]}}"#);
    store.put_manifest("a:config", OCI_MANIFEST, manifest);
    network.add("r.test:443", move |request| store.respond(request));
    let registry = client(&network);
    let error = registry
        .manifest(&reference("r.test/a:html"))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot read the manifest of r.test/a:html"
    );
    let error = registry
        .image(&reference("r.test/a:config"), &amd64())
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot read the config of r.test/a:config"
    );
}
