//! Storing images, and reading them back.

use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

use super::store::{Store, amd64, image, reference};
use super::world::{Reply, Seen, World};
use crate::media_type::OCI_INDEX;
use crate::{
    Descriptor, Digest, DockerConfig, Index, Keychain, Layout, LayoutError, PushError, Registry,
    RegistryError, RegistryOptions,
};

const PASSWORD: &str = "Basic bWU6cGFzcw==";

fn client(world: &World) -> Registry {
    let config = br#"{"auths":{"r.test":{"auth":"bWU6cGFzcw=="}}}"#;
    world.registry(RegistryOptions {
        keychain: Keychain::fixed(DockerConfig::parse(config).unwrap()),
        ..RegistryOptions::default()
    })
}

/// An empty registry.
fn empty(world: &World) {
    let store = Store::default();
    world.add("r.test:443", move |seen| store.answer(seen));
}

/// Two images, and an index of them.
fn two() -> (Layout, Descriptor) {
    let mut layout = Layout::default();
    let manifests = vec![
        image(&mut layout, "linux/amd64", "/amd"),
        image(&mut layout, "linux/arm64", "/arm"),
    ];
    let index = Index {
        schema_version: 2,
        media_type: Some(OCI_INDEX.to_owned()),
        manifests,
    };
    let index = serde_json::to_vec(&index).unwrap();
    let root = layout.add_blob(OCI_INDEX, index.into());
    (layout, root)
}

#[tokio::test(start_paused = true)]
async fn what_is_pushed_can_be_read() {
    let world = World::default();
    empty(&world);
    let (layout, root) = two();
    let registry = client(&world);
    let name = reference("r.test/x/y:v1");
    assert_eq!(
        registry.push(&name, &layout, &root).await.unwrap(),
        root.digest
    );
    let puts = world.asked();
    let puts: Vec<_> = puts.iter().filter(|line| line.contains("PUT")).collect();
    // Two configs, two layers, then two manifests, and the index last and by its tag.
    assert_eq!(puts.len(), 7);
    assert!(puts[6].ends_with("/manifests/v1"), "{}", puts[6]);
    let image = registry.image(&name, &amd64()).await.unwrap();
    assert_eq!(image.digest, root.digest);
    assert_eq!(image.config.config.entrypoint, ["/amd"]);

    world.asked();
    registry.push(&name, &layout, &root).await.unwrap();
    let again = world.asked();
    assert!(
        again.iter().all(|line| !line.contains("/blobs/uploads/")),
        "nothing is sent twice"
    );
}

#[tokio::test(start_paused = true)]
async fn uploads_elsewhere_carry_no_credentials() {
    let world = World::default();
    world.add("r.test:443", |seen: &Seen| {
        match seen.authorization.as_deref() {
            Some(PASSWORD) if seen.method == "HEAD" => Reply::new(404),
            Some(PASSWORD) => Reply::new(202).with("location", "https://up.test/u?state=s"),
            _ => Reply::new(401).with("www-authenticate", "Basic realm=x"),
        }
    });
    world.add("up.test:443", |_| Reply::new(201));
    let bytes = Bytes::from_static(b"blob");
    let digest = Digest::of(&bytes);
    client(&world)
        .push_blob(&reference("r.test/x:1"), &digest, bytes)
        .await
        .unwrap();
    let last = format!("PUT up.test:443/u?state=s&digest=sha256%3A{}", digest.hex());
    assert_eq!(world.asked().last(), Some(&last));
}

#[tokio::test(start_paused = true)]
async fn uploads_go_where_the_registry_says() {
    let bytes = Bytes::from_static(b"blob");
    let digest = Digest::of(&bytes);
    let hex = digest.hex();
    let places = [
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
    for (location, expected) in places {
        let world = World::default();
        world.add("r.test:443", move |seen: &Seen| {
            match seen.method.as_str() {
                "HEAD" => Reply::new(404),
                "POST" => Reply::new(202).with("location", location),
                _ => Reply::new(201),
            }
        });
        let name = reference("r.test/x:1");
        let pushed = client(&world)
            .push_blob(&name, &digest, bytes.clone())
            .await;
        pushed.unwrap();
        assert_eq!(world.asked().last(), Some(&expected));
    }
    let nowhere = [
        (Some("http://r.test/u"), "it wants an upload in clear"),
        (Some(""), "it does not say where an upload goes"),
        (
            Some("ftp://r.test/"),
            "it does not say where an upload goes",
        ),
        (None, "it does not say where an upload goes"),
    ];
    for (location, said) in nowhere {
        let world = World::default();
        world.add("r.test:443", move |seen: &Seen| {
            match (seen.method.as_str(), location) {
                ("HEAD", _) => Reply::new(404),
                ("POST", Some(location)) => Reply::new(202).with("location", location),
                _ => Reply::new(202),
            }
        });
        let name = reference("r.test/x:1");
        let pushed = client(&world)
            .push_blob(&name, &digest, bytes.clone())
            .await;
        let error = pushed.unwrap_err().to_string();
        assert!(error.ends_with(said), "{error}");
        assert!(!world.asked().concat().contains("PUT"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_upload_that_breaks_off_is_begun_anew() {
    let world = World::default();
    let store = Store::default();
    let count = AtomicUsize::new(0);
    world.add("r.test:443", move |seen: &Seen| {
        if seen.method == "PUT" && count.fetch_add(1, Ordering::SeqCst) == 0 {
            return Reply::new(502);
        }
        store.answer(seen)
    });
    let bytes = Bytes::from_static(b"blob");
    let digest = Digest::of(&bytes);
    client(&world)
        .push_blob(&reference("r.test/x:1"), &digest, bytes)
        .await
        .unwrap();
    let methods: Vec<_> = world
        .asked()
        .iter()
        .map(|line| line[..4].trim().to_owned())
        .collect();
    assert_eq!(methods, ["HEAD", "POST", "PUT", "POST", "PUT"]);
}

#[tokio::test(start_paused = true)]
async fn only_what_is_right_is_pushed() {
    let world = World::default();
    empty(&world);
    let registry = client(&world);
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
        .push(&name, &Layout::default(), &missing)
        .await
        .unwrap_err();
    let PushError::Layout {
        source: LayoutError::MissingBlob(_),
        ..
    } = error
    else {
        panic!("{error}")
    };
    assert!(world.asked().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_is_read_only_says_so() {
    let world = World::default();
    world.add("r.test:443", |seen: &Seen| match seen.method.as_str() {
        "HEAD" => Reply::new(404),
        _ => Reply::new(405).body(r#"{"errors":[{"code":"UNSUPPORTED","message":"read only"}]}"#),
    });
    let (layout, root) = two();
    let error = client(&world)
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
