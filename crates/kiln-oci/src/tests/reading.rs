//! Manifests, images and blobs, and everything that can be wrong with them.

use super::store::{Store, amd64, image, one_image, reference};
use super::world::{Reply, World};
use crate::media_type::{OCI_INDEX, OCI_MANIFEST};
use crate::{
    Descriptor, Digest, ErrorClass, Index, Layout, Limits, Platform, Registry, RegistryError,
    RegistryOptions,
};

fn client(world: &World) -> Registry {
    world.registry(RegistryOptions::default())
}

fn index(layout: &mut Layout, manifests: Vec<Descriptor>) -> Descriptor {
    let index = Index {
        schema_version: 2,
        media_type: Some(OCI_INDEX.to_owned()),
        manifests,
    };
    layout.add_blob(OCI_INDEX, serde_json::to_vec(&index).unwrap().into())
}

#[tokio::test(start_paused = true)]
async fn a_tag_leads_to_digest_and_config() {
    let world = World::default();
    let (_, layout, root) = one_image(&world);
    let registry = client(&world);
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
    let mut copy = Vec::new();
    registry
        .copy_blob(&name, &image.layers[0], &mut copy)
        .await
        .unwrap();
    assert_eq!(copy, layer);
}

#[tokio::test(start_paused = true)]
async fn an_index_leads_to_the_platform() {
    let world = World::default();
    let (store, mut layout, amd) = one_image(&world);
    let arm = image(&mut layout, "linux/arm64", "/bin/arm");
    let inner = index(&mut layout, vec![amd, arm.clone()]);
    let mut entry = inner.clone();
    entry.platform = arm.platform.clone();
    let outer = index(&mut layout, vec![entry]);
    store.put("a/b:v2", &layout, &inner);
    store.put("a/b:nested", &layout, &outer);
    let registry = client(&world);
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
    let said = "r.test/a/b:v2 is not there for linux/riscv64, only for linux/amd64, linux/arm64";
    assert_eq!(error.to_string(), said);
}

#[tokio::test(start_paused = true)]
async fn what_is_missing_is_not_found() {
    let world = World::default();
    one_image(&world);
    let error = client(&world)
        .manifest(&reference("r.test/a/b:v9"))
        .await
        .unwrap_err();
    assert_eq!(error.class(), ErrorClass::NotFound);
    assert_eq!(
        error.to_string(),
        "r.test/a/b:v9 is not in the registry: not here (UNKNOWN)"
    );
    assert_eq!(world.asked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn other_bytes_than_asked_for_are_refused() {
    let world = World::default();
    let (store, _, root) = one_image(&world);
    let by_digest = reference("r.test/a/b").with_digest(root.digest.clone());
    let other = r#"{"schemaVersion":2,"manifests":[]}"#;
    store.put_manifest(&format!("a/b:{}", root.digest), OCI_INDEX, other);
    let error = client(&world).manifest(&by_digest).await.unwrap_err();
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
    assert_eq!(world.asked().len(), 1, "a lie is not asked for again");
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_contradicts_itself_is_refused() {
    let world = World::default();
    world.add("r.test:443", |_| {
        let digest = Digest::of(b"something else");
        Reply::new(200)
            .with("docker-content-digest", digest.as_str())
            .body(r#"{"schemaVersion":2,"manifests":[]}"#)
    });
    let error = client(&world)
        .manifest(&reference("r.test/a:1"))
        .await
        .unwrap_err();
    assert!(matches!(error, RegistryError::Digest { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn other_blobs_than_asked_for_are_refused() {
    let world = World::default();
    let (store, layout, root) = one_image(&world);
    let registry = client(&world);
    let name = reference("r.test/a/b:v1");
    let image = registry.image(&name, &amd64()).await.unwrap();
    let layer = &image.layers[0];
    let key = format!("a/b:{}", layer.digest);
    let mut bytes = layout.blob(&layer.digest).unwrap().to_vec();
    bytes[0] ^= 1;
    store.put_blob(&key, bytes.clone());
    let error = registry.blob(&name, layer).await.unwrap_err();
    assert!(matches!(error, RegistryError::Digest { .. }), "{error}");
    let error = registry
        .copy_blob(&name, layer, &mut Vec::new())
        .await
        .unwrap_err();
    assert!(matches!(error, RegistryError::Digest { .. }), "{error}");
    for other in [&bytes[1..], &[bytes.as_slice(), b"x"].concat()] {
        store.put_blob(&key, other.to_vec());
        let error = registry.blob(&name, layer).await.unwrap_err();
        assert!(matches!(error, RegistryError::Size { .. }), "{error}");
        let mut copy = Vec::new();
        let error = registry
            .copy_blob(&name, layer, &mut copy)
            .await
            .unwrap_err();
        assert!(matches!(error, RegistryError::Size { .. }), "{error}");
        assert!(copy.len() <= bytes.len());
    }
    drop(root);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_larger_than_it_may_be() {
    let world = World::default();
    let (store, _, _) = one_image(&world);
    store.put_manifest("a/b:huge", OCI_MANIFEST, vec![b' '; (4 << 20) + 1]);
    let registry = client(&world);
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
        limits: Limits {
            blob: 10,
            layer: 10,
            ..Limits::default()
        },
        ..RegistryOptions::default()
    };
    let strict = world.registry(strict);
    let error = strict.image(&name, &amd64()).await.unwrap_err();
    assert!(
        matches!(error, RegistryError::TooLarge { limit: 10, .. }),
        "{error}"
    );
    let layer = &registry.image(&name, &amd64()).await.unwrap().layers[0];
    let error = strict
        .copy_blob(&name, layer, &mut Vec::new())
        .await
        .unwrap_err();
    assert!(
        matches!(error, RegistryError::TooLarge { limit: 10, .. }),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_body_without_end_is_not_read_to_its_end() {
    let world = World::default();
    // No length is announced, so the limit has to hold while reading.
    world.add("r.test:443", |_| {
        Reply::new(200)
            .with("transfer-encoding", "chunked")
            .body(vec![b' '; 5 << 20])
    });
    let error = client(&world)
        .manifest(&reference("r.test/a:1"))
        .await
        .unwrap_err();
    assert!(matches!(error, RegistryError::TooLarge { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn indexes_do_not_go_on_for_ever() {
    let world = World::default();
    let (store, mut layout, amd) = one_image(&world);
    let mut root = amd.clone();
    for _ in 0..10 {
        root.platform = amd.platform.clone();
        root = index(&mut layout, vec![root]);
    }
    store.put("a/b:deep", &layout, &root);
    let error = client(&world)
        .image(&reference("r.test/a/b:deep"), &amd64())
        .await
        .unwrap_err();
    assert!(matches!(error, RegistryError::Protocol { .. }), "{error}");
    assert!(world.asked().len() < 10);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_manifest_and_no_config_is_said() {
    let world = World::default();
    let store = Store::default();
    store.put_manifest("a:html", "text/html", "<html>");
    let config = Descriptor::of("x", b"no config");
    store.put_blob(&format!("a:{}", config.digest), "no config");
    let config = serde_json::to_string(&config).unwrap();
    let manifest = format!(r#"{{"schemaVersion":2,"config":{config},"layers":[]}}"#);
    store.put_manifest("a:config", OCI_MANIFEST, manifest);
    world.add("r.test:443", move |seen| store.answer(seen));
    let registry = client(&world);
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
