//! Pulling: policies, resumed downloads, shared layers, and errors that leave nothing behind.

use std::fs;
use std::sync::Arc;

use kiln_oci::{Digest, ErrorClass, ImageLayout, Manifest, PullPolicy, add_image};
use kiln_store::{ExecutableFormat, ImageProgram, PullError, PullOrigin, PullRequest};

use crate::images::{TestStore, amd64, image, layer, pull, runtime, spec};
use crate::registry::{Behaviour, TestRegistry};

const ALWAYS: PullPolicy = PullPolicy::Always;
const IF_NOT_PRESENT: PullPolicy = PullPolicy::IfNotPresent;
const NEVER: PullPolicy = PullPolicy::Never;

/// A registry with the image `a/b:v1`.
fn registry() -> TestRegistry {
    let registry = TestRegistry::start();
    let (layout, root) = image(vec![
        layer("usr/bin/function", b"#!/bin/sh -e\ntrue\n"),
        layer("etc/config", b"text"),
    ]);
    registry.add("a/b:v1", &layout, &root);
    registry
}

#[test]
fn a_pulled_image_is_unpacked() {
    let registry = registry();
    let test = TestStore::new();
    let reference = registry.reference("a/b:v1");
    let pulled = pull(&test.store, &registry.client(), &reference, IF_NOT_PRESENT).unwrap();
    assert!(matches!(pulled.origin, PullOrigin::Registry));
    let root = pulled.image.root_path();
    assert_eq!(fs::read(root.join("etc/config")).unwrap(), b"text");
    for mount_point in ["proc", "dev", "sys", "tmp", "work", "data"] {
        assert!(root.join(mount_point).is_dir(), "{mount_point}");
    }
    for file in ["etc/resolv.conf", "etc/hosts"] {
        assert!(root.join(file).is_file(), "{file}");
    }
    let meta = pulled.image.meta();
    assert_eq!(meta.manifest_digest, pulled.digest);
    assert_eq!(meta.run.entrypoint, ["function"]);
    assert_eq!(meta.run.volumes, ["/data".to_owned()].into());
    let expected = ImageProgram {
        path: "/usr/bin/function".to_owned(),
        format: ExecutableFormat::Script {
            interpreter: "/bin/sh".to_owned(),
            argument: Some("-e".to_owned()),
        },
    };
    assert_eq!(meta.program, Some(expected));
    assert_eq!(test.entries("tmp"), [""; 0]);
    assert_eq!(test.entries("partial"), [""; 0]);
    assert_eq!(test.entries("locks"), [""; 0]);
}

#[test]
fn policies_decide_when_the_registry_is_asked() {
    let registry = registry();
    let test = TestStore::new();
    let client = registry.client();
    let reference = registry.reference("a/b:v1");
    let error = pull(&test.store, &client, &reference, NEVER).unwrap_err();
    assert!(matches!(*error, PullError::NotInStore(_)), "{error}");
    assert_eq!(registry.requests(), [""; 0]);

    let first = pull(&test.store, &client, &reference, IF_NOT_PRESENT).unwrap();
    assert_eq!(
        registry.requests().len(),
        4,
        "manifest, config and two layers"
    );
    let by_digest = reference.with_digest(first.digest.clone());
    for (reference, policy) in [
        (&reference, IF_NOT_PRESENT),
        (&reference, NEVER),
        (&by_digest, NEVER),
        (&by_digest, IF_NOT_PRESENT),
        (&by_digest, ALWAYS),
    ] {
        let found = pull(&test.store, &client, reference, policy).unwrap();
        assert!(matches!(found.origin, PullOrigin::Store), "{policy:?}");
        assert_eq!(found.digest, first.digest);
    }
    assert_eq!(registry.requests(), [""; 0]);

    let confirmed = pull(&test.store, &client, &reference, ALWAYS).unwrap();
    assert!(matches!(confirmed.origin, PullOrigin::Confirmed));
    assert_eq!(registry.requests().len(), 2, "manifest and config");

    let (layout, root) = image(vec![layer("other", b"x")]);
    registry.add("a/b:v1", &layout, &root);
    let old = pull(&test.store, &client, &reference, IF_NOT_PRESENT).unwrap();
    assert_eq!(old.digest, first.digest);
    let new = pull(&test.store, &client, &reference, ALWAYS).unwrap();
    assert_eq!(new.digest, root.digest);
}

#[test]
fn a_manifest_has_the_size_that_its_index_gives() {
    let registry = TestRegistry::start();
    let test = TestStore::new();
    let mut layout = ImageLayout::default();
    let mut manifest = add_image(&mut layout, spec(vec![layer("x", b"x")])).unwrap();
    manifest.size += 5;
    let index = kiln_oci::ImageIndex {
        schema_version: 2,
        media_type: Some(kiln_oci::media_type::OCI_INDEX.to_owned()),
        manifests: vec![manifest.clone()],
    };
    let index = serde_json::to_vec(&index).unwrap();
    let root = layout.add_blob(kiln_oci::media_type::OCI_INDEX, index.into());
    registry.add("a/b:v1", &layout, &root);
    let reference = registry.reference("a/b:v1");
    let error = pull(&test.store, &registry.client(), &reference, ALWAYS).unwrap_err();
    let expected = format!(
        "should have {} bytes but has {}",
        manifest.size,
        manifest.size - 5
    );
    assert!(error.to_string().contains(&expected), "{error}");
}

#[test]
fn an_unavailable_registry_leaves_the_image_in_use() {
    let registry = registry();
    let test = TestStore::new();
    let client = registry.client();
    let reference = registry.reference("a/b:v1");
    let first = pull(&test.store, &client, &reference, IF_NOT_PRESENT).unwrap();
    registry.go_away();
    let offline = pull(&test.store, &client, &reference, ALWAYS).unwrap();
    assert_eq!(offline.digest, first.digest);
    let PullOrigin::Offline(error) = &offline.origin else {
        panic!("{:?}", offline.origin);
    };
    assert_eq!(error.class(), ErrorClass::Unavailable, "{error}");
    let missing = registry.reference("a/b:v2");
    let error = pull(&test.store, &client, &missing, IF_NOT_PRESENT).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unavailable, "{error}");
}

#[test]
fn an_image_for_another_platform_is_named() {
    let registry = TestRegistry::start();
    let mut layout = ImageLayout::default();
    let mut spec = spec(vec![layer("x", b"x")]);
    spec.platform = kiln_oci::Platform::linux("arm64");
    let mut manifest = add_image(&mut layout, spec).unwrap();
    manifest.platform = Some(kiln_oci::Platform::linux("arm64"));
    let index = kiln_oci::ImageIndex {
        schema_version: 2,
        media_type: Some(kiln_oci::media_type::OCI_INDEX.to_owned()),
        manifests: vec![manifest],
    };
    let index = serde_json::to_vec(&index).unwrap();
    let root = layout.add_blob(kiln_oci::media_type::OCI_INDEX, index.into());
    registry.add("a/b:v1", &layout, &root);
    let test = TestStore::new();
    let reference = registry.reference("a/b:v1");
    let request = PullRequest {
        reference: reference.clone(),
        platform: kiln_oci::Platform::linux("arm64"),
        policy: ALWAYS,
    };
    let client = registry.client();
    let pulled = test.store.pull(&client, &request, Arc::new(()));
    runtime().block_on(pulled).unwrap();
    registry.go_away();
    for policy in [NEVER, IF_NOT_PRESENT, ALWAYS] {
        let error = pull(&test.store, &client, &reference, policy).unwrap_err();
        let expected = format!("the store has {reference} for linux/arm64, not for linux/amd64");
        assert_eq!(error.to_string(), expected, "{policy:?}");
    }
    let other = registry.reference("a/b:v2");
    let error = pull(&test.store, &client, &other, NEVER).unwrap_err();
    assert!(matches!(*error, PullError::NotInStore(_)), "{error}");
}

#[test]
fn a_missing_tag_is_an_error_even_if_the_store_has_it() {
    let first = registry();
    let test = TestStore::new();
    let reference = first.reference("a/b:v1");
    pull(&test.store, &first.client(), &reference, ALWAYS).unwrap();
    let missing = first.reference("a/b:v2");
    let error = pull(&test.store, &first.client(), &missing, ALWAYS).unwrap_err();
    assert_eq!(error.class(), ErrorClass::NotFound, "{error}");
}

#[test]
fn the_image_of_an_index_is_found_by_both_digests() {
    let registry = TestRegistry::start();
    let mut layout = ImageLayout::default();
    let mut manifests = Vec::new();
    for architecture in ["arm64", "amd64"] {
        let mut spec = spec(vec![layer("name", architecture.as_bytes())]);
        spec.platform = kiln_oci::Platform::linux(architecture);
        manifests.push(add_image(&mut layout, spec).unwrap());
    }
    let index = kiln_oci::ImageIndex {
        schema_version: 2,
        media_type: Some(kiln_oci::media_type::OCI_INDEX.to_owned()),
        manifests: manifests.clone(),
    };
    let index = serde_json::to_vec(&index).unwrap();
    let root = layout.add_blob(kiln_oci::media_type::OCI_INDEX, index.into());
    registry.add("a/b:v1", &layout, &root);
    let test = TestStore::new();
    let reference = registry.reference("a/b:v1");
    let pulled = pull(&test.store, &registry.client(), &reference, ALWAYS).unwrap();
    assert_eq!(pulled.digest, root.digest);
    assert_eq!(pulled.image.meta().manifest_digest, manifests[1].digest);
    assert_eq!(
        fs::read(pulled.image.root_path().join("name")).unwrap(),
        b"amd64"
    );
    for digest in [&root.digest, &manifests[1].digest] {
        let other = "other.example/c/d"
            .parse::<kiln_oci::ImageReference>()
            .unwrap();
        let found = test
            .store
            .find(&other.with_digest(digest.clone()), &amd64());
        assert!(found.unwrap().is_some(), "{digest}");
    }
    let arm64 = kiln_oci::Platform::linux("arm64");
    let by_digest = reference.with_digest(root.digest);
    assert!(test.store.find(&by_digest, &arm64).unwrap().is_none());

    // In an archive of several images it keeps the digest of the index.
    let (layout, plain) = image(vec![layer("name", b"plain")]);
    registry.add("a/plain:v1", &layout, &plain);
    let reference = registry.reference("a/plain:v1");
    pull(&test.store, &registry.client(), &reference, ALWAYS).unwrap();
    let references = [by_digest, reference.with_digest(plain.digest)];
    let mut archive = Vec::new();
    let exported = test.store.export_all(&references, &amd64(), &mut archive);
    exported.unwrap();
    let other = TestStore::new();
    let imported = other
        .store
        .import(&mut archive.as_slice(), &[amd64()], None);
    assert_eq!(imported.unwrap().len(), 2);
    for reference in &references {
        let found = other.store.find(reference, &amd64()).unwrap();
        assert!(found.is_some(), "{reference}");
        let digest = other.store.digest(reference, &amd64()).unwrap();
        assert_eq!(digest.as_ref(), reference.digest());
    }
}

/// The digests of the layers of an image.
fn layer_digests(layout: &ImageLayout, root: &kiln_oci::Descriptor) -> Vec<Digest> {
    let manifests = layout.manifests_below(root).unwrap();
    let Manifest::Image(image) = &manifests[0].manifest else {
        panic!("an image");
    };
    image
        .layers
        .iter()
        .map(|layer| layer.digest.clone())
        .collect()
}

/// Bytes that do not compress.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[test]
fn interrupted_downloads_are_resumed() {
    let content = noise(3_000_000);
    for behaviour in [None, Some(Behaviour::Whole), Some(Behaviour::NoRange)] {
        let registry = TestRegistry::start();
        let (layout, root) = image(vec![layer("data", &content)]);
        registry.add("a/b:v1", &layout, &root);
        let digest = layer_digests(&layout, &root)[0].to_string();
        let (resumed, offset) = match behaviour {
            // The first request is cut; later ones behave like this.
            None => (TestStore::new(), 1_500_000),
            Some(_) => (TestStore::new(), 0),
        };
        registry.behave(&digest, Behaviour::CutAfter(1_500_000));
        if let Some(behaviour) = behaviour {
            // An earlier process left the beginning.
            let partial = resumed.store.directory().join("partial");
            let bytes = layout.blob(&digest.parse().unwrap()).unwrap();
            fs::write(partial.join(digest.replace(':', "-")), &bytes[..1000]).unwrap();
            registry.behave(&digest, behaviour);
        }
        let reference = registry.reference("a/b:v1");
        let pulled = pull(&resumed.store, &registry.client(), &reference, ALWAYS).unwrap();
        let data = fs::read(pulled.image.root_path().join("data")).unwrap();
        assert!(data == content);
        let requests = registry.requests();
        let of_layer = requests.iter().filter(|request| request.contains(&digest));
        let of_layer: Vec<&String> = of_layer.collect();
        match behaviour {
            None => {
                assert_eq!(of_layer.len(), 2, "{of_layer:?}");
                assert!(
                    of_layer[1].ends_with(&format!(" from {offset}")),
                    "{of_layer:?}"
                );
            }
            Some(_) => assert!(
                of_layer
                    .iter()
                    .any(|request| request.ends_with(" from 1000"))
            ),
        }
        assert_eq!(resumed.entries("partial"), [""; 0]);
    }
}

#[test]
fn a_damaged_partial_download_starts_again() {
    let registry = registry();
    let test = TestStore::new();
    let (layout, root) = image(vec![layer("data", &noise(100_000))]);
    registry.add("a/c:v1", &layout, &root);
    let digest = layer_digests(&layout, &root)[0].to_string();
    let partial = test.store.directory().join("partial");
    fs::write(partial.join(digest.replace(':', "-")), [b'x'; 1000]).unwrap();
    let reference = registry.reference("a/c:v1");
    pull(&test.store, &registry.client(), &reference, ALWAYS).unwrap();
    assert!(test.store.verify().unwrap().damages.is_empty());
}

#[test]
fn equal_layers_are_fetched_once() {
    let registry = TestRegistry::start();
    let test = TestStore::new();
    let base = layer("base", b"base");
    let (layout, root) = image(vec![base.clone(), layer("x", b"1"), base.clone()]);
    registry.add("a/b:v1", &layout, &root);
    let (layout, root) = image(vec![base, layer("x", b"2")]);
    registry.add("a/b:v2", &layout, &root);
    let digest = layer_digests(&layout, &root)[0].to_string();
    for tag in ["v1", "v2"] {
        let reference = registry.reference(&format!("a/b:{tag}"));
        pull(&test.store, &registry.client(), &reference, ALWAYS).unwrap();
    }
    let requests = registry.requests();
    let of_base = requests.iter().filter(|request| request.contains(&digest));
    assert_eq!(of_base.count(), 1, "{requests:?}");
}

#[test]
fn four_layers_are_downloaded_at_once() {
    let registry = TestRegistry::start();
    let layers = (0..8).map(|number| layer("x", format!("layer {number}").as_bytes()));
    let (layout, root) = image(layers.collect());
    registry.add("a/b:v1", &layout, &root);
    let test = TestStore::new();
    let reference = registry.reference("a/b:v1");
    registry.hold_until(4);
    let pulled = pull(&test.store, &registry.client(), &reference, ALWAYS).unwrap();
    assert_eq!(registry.most_at_once(), 4);
    let last = fs::read(pulled.image.root_path().join("x")).unwrap();
    assert_eq!(last, b"layer 7", "layers are unpacked in order");
}

#[test]
fn callers_of_the_same_image_share_one_pull() {
    let registry = registry();
    let test = TestStore::new();
    let client = registry.client();
    let request = PullRequest {
        reference: registry.reference("a/b:v1"),
        platform: amd64(),
        policy: ALWAYS,
    };
    let images = runtime().block_on(async {
        let pulls = (0..16).map(|_| test.store.pull(&client, &request, Arc::new(())));
        futures_util::future::join_all(pulls).await
    });
    assert!(images.iter().all(Result::is_ok));
    assert_eq!(registry.requests().len(), 4);
}

#[test]
fn invalid_content_leaves_nothing_behind() {
    let (layout, root) = image(vec![layer("data", b"content")]);
    let digest = layer_digests(&layout, &root)[0].clone();
    let blob = layout.blob(&digest).unwrap();
    let mut other = blob.to_vec();
    *other.last_mut().unwrap() ^= 1;
    let mut longer = blob.to_vec();
    longer.push(0);
    for body in [other.as_slice(), &longer, &blob[..10]] {
        let registry = TestRegistry::start();
        registry.add("a/b:v1", &layout, &root);
        registry.replace(&digest.to_string(), body);
        let test = TestStore::new();
        let reference = registry.reference("a/b:v1");
        let error = pull(&test.store, &registry.client(), &reference, ALWAYS).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Internal, "{error}");
        check_empty(&test);
    }
}

#[test]
fn an_image_without_diff_ids_is_refused() {
    let (mut layout, root) = image(vec![layer("data", b"one")]);
    let manifests = layout.manifests_below(&root).unwrap();
    let Manifest::Image(mut manifest) = manifests[0].manifest.clone() else {
        panic!("an image");
    };
    let config =
        br#"{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]}}"#;
    manifest.config = layout.add_blob(kiln_oci::media_type::OCI_CONFIG, config.to_vec().into());
    let bytes = serde_json::to_vec(&manifest).unwrap();
    let root = layout.add_blob(kiln_oci::media_type::OCI_MANIFEST, bytes.into());
    let registry = TestRegistry::start();
    registry.add("a/b:v1", &layout, &root);
    let test = TestStore::new();
    let reference = registry.reference("a/b:v1");
    let error = pull(&test.store, &registry.client(), &reference, ALWAYS).unwrap_err();
    assert!(matches!(*error, PullError::LayerFormat { .. }), "{error}");
    check_empty(&test);
}

#[test]
fn a_layer_with_another_diff_id_is_refused() {
    let mut layout = ImageLayout::default();
    let root = add_image(&mut layout, spec(vec![layer("data", b"one")])).unwrap();
    let manifests = layout.manifests_below(&root).unwrap();
    let Manifest::Image(mut manifest) = manifests[0].manifest.clone() else {
        panic!("an image");
    };
    let (other, other_root) = image(vec![layer("data", b"two")]);
    let bytes = other.blob(&layer_digests(&other, &other_root)[0]).unwrap();
    manifest.layers[0] = layout.add_blob(kiln_oci::media_type::OCI_LAYER_GZIP, bytes);
    let bytes = serde_json::to_vec(&manifest).unwrap();
    let root = layout.add_blob(kiln_oci::media_type::OCI_MANIFEST, bytes.into());
    let registry = TestRegistry::start();
    registry.add("a/b:v1", &layout, &root);
    let test = TestStore::new();
    let reference = registry.reference("a/b:v1");
    let error = pull(&test.store, &registry.client(), &reference, ALWAYS).unwrap_err();
    assert!(matches!(*error, PullError::Unpack { .. }), "{error}");
    check_empty(&test);
}

#[test]
fn a_hostile_layer_leaves_nothing_behind() {
    let hostile = crate::layers::hostile_layer();
    let registry = TestRegistry::start();
    let (layout, root) = image(vec![layer("a", b"x"), hostile.into()]);
    registry.add("a/b:v1", &layout, &root);
    let test = TestStore::new();
    let reference = registry.reference("a/b:v1");
    let error = pull(&test.store, &registry.client(), &reference, ALWAYS).unwrap_err();
    assert!(matches!(*error, PullError::Unpack { .. }), "{error}");
    check_empty(&test);
    assert_eq!(crate::images::entries(test.directory.path()), ["store"]);
}

/// Pulls an image whose config has a working directory and volumes.
fn pull_with(
    test: &TestStore,
    registry: &TestRegistry,
    working_dir: &str,
    volumes: Vec<String>,
) -> Result<kiln_store::PulledImage, Arc<PullError>> {
    let mut spec = spec(vec![layer("data", b"content")]);
    spec.run.working_dir = working_dir.to_owned();
    spec.run.volumes = volumes.into_iter().collect();
    let mut layout = ImageLayout::default();
    let root = add_image(&mut layout, spec).unwrap();
    registry.add("a/config:v1", &layout, &root);
    let reference = registry.reference("a/config:v1");
    pull(&test.store, &registry.client(), &reference, ALWAYS)
}

#[test]
fn the_paths_of_a_config_are_limited_like_entries() {
    let registry = TestRegistry::start();
    let test = TestStore::new();
    let check = |working_dir: &str, volumes: Vec<String>, expected: &str| {
        let error = pull_with(&test, &registry, working_dir, volumes).unwrap_err();
        let PullError::Unpack { source, .. } = &*error else {
            panic!("{error}");
        };
        let error = source.source.to_string();
        assert!(error.contains(expected), "{error}");
        check_empty(&test);
    };
    let deep = "/a".repeat(300);
    check(&deep, vec![], "the limit of 256 levels of directories");
    check(
        "/",
        vec![deep.clone()],
        "the limit of 256 levels of directories",
    );
    let long = "/a".repeat(18_000);
    check(&long, vec![], "WorkingDir has more than 4096 bytes");
    check(
        "/",
        vec![long],
        "Volumes has a path of more than 4096 bytes",
    );
    let many = (0..129).map(|number| format!("/v{number}")).collect();
    check("/", many, "Volumes has more than 128 paths");
    // What is in the way is no error of the pull.
    pull_with(&test, &registry, "/data/below", vec!["/data".to_owned()]).unwrap();
}

/// An earlier version left trees that could not be removed without ending the process.
#[test]
fn deep_work_of_a_killed_process_is_removed() {
    let registry = registry();
    let test = TestStore::new();
    let work = test.store.directory().join("tmp/1-1");
    fs::create_dir(&work).unwrap();
    let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::DIRECTORY;
    let mode = rustix::fs::Mode::RWXU;
    let mut directory = rustix::fs::open(&work, flags, mode).unwrap();
    for _ in 0..5_000 {
        rustix::fs::mkdirat(&directory, "a", mode).unwrap();
        directory = rustix::fs::openat(&directory, "a", flags, mode).unwrap();
    }
    drop(directory);
    let reference = registry.reference("a/b:v1");
    pull(&test.store, &registry.client(), &reference, ALWAYS).unwrap();
    assert_eq!(test.entries("tmp"), [""; 0]);
}

/// A caller that gives up while another process adds the image leaves no thread that waits.
#[test]
fn a_dropped_pull_waits_for_no_lock() {
    let registry = registry();
    let test = TestStore::new();
    let (layout, root) = image(vec![layer("data", b"locked")]);
    registry.add("a/locked:v1", &layout, &root);
    let reference = registry.reference("a/locked:v1");
    let digest = layer_digests(&layout, &root)[0]
        .to_string()
        .replace(':', "-");
    let manifest = root.digest.to_string().replace(':', "-");
    for path in [format!("locks/{manifest}"), format!("partial/{digest}")] {
        let locked = fs::File::create(test.store.directory().join(&path)).unwrap();
        locked.lock().unwrap();
        let request = PullRequest {
            reference: reference.clone(),
            platform: amd64(),
            policy: ALWAYS,
        };
        let (sender, ended) = std::sync::mpsc::channel();
        let (store, client) = (test.store.clone(), registry.client());
        std::thread::spawn(move || {
            let runtime = runtime();
            let pulled = store.pull(&client, &request, Arc::new(()));
            let timeout = std::time::Duration::from_millis(300);
            let late = runtime.block_on(async { tokio::time::timeout(timeout, pulled).await });
            // Waits for its threads.
            drop(runtime);
            sender.send(late.is_err()).unwrap();
        });
        let is_late = ended.recv_timeout(std::time::Duration::from_secs(30));
        assert_eq!(is_late, Ok(true), "{path}");
        drop(locked);
        fs::remove_file(test.store.directory().join(&path)).unwrap();
    }
}

/// No image and no work is left.
fn check_empty(test: &TestStore) {
    for name in ["roots", "refs", "tmp"] {
        assert_eq!(test.entries(name), [""; 0], "{name}");
    }
}

#[test]
fn layers_that_are_not_archives_make_an_artifact() {
    let mut layout = ImageLayout::default();
    let module = layout.add_blob("application/wasm", b"\0asm\x01\0\0\0".to_vec().into());
    let config = layout.add_blob("application/vnd.wasm.config.v0+json", b"{}".to_vec().into());
    let manifest = kiln_oci::ImageManifest {
        schema_version: 2,
        media_type: Some(kiln_oci::media_type::OCI_MANIFEST.to_owned()),
        config,
        layers: vec![module.clone()],
    };
    let bytes = serde_json::to_vec(&manifest).unwrap();
    let root = layout.add_blob(kiln_oci::media_type::OCI_MANIFEST, bytes.into());
    let registry = TestRegistry::start();
    registry.add("a/wasm:v1", &layout, &root);
    let test = TestStore::new();
    let reference = registry.reference("a/wasm:v1");
    let pulled = pull(&test.store, &registry.client(), &reference, ALWAYS).unwrap();
    let meta = pulled.image.meta();
    assert_eq!(meta.kind, kiln_store::ImageKind::Artifact);
    assert_eq!(meta.artifact_layers[0].media_type, "application/wasm");
    let mut blob = pulled.image.open_layer(&module.digest).unwrap();
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut blob, &mut bytes).unwrap();
    assert_eq!(bytes, b"\0asm\x01\0\0\0");
}

#[test]
fn a_real_registry() {
    let directory = tempfile::tempdir().unwrap();
    let Some(daemon) = crate::daemon::Daemon::start(directory.path(), "") else {
        return;
    };
    let reference: kiln_oci::ImageReference = format!("{}/a/b:v1", daemon.host).parse().unwrap();
    let (layout, root) = image(vec![
        layer("usr/bin/function", b"#!/bin/sh\n"),
        layer("data", &noise(3_000_000)),
    ]);
    let client = kiln_oci::RegistryClient::new(kiln_oci::RegistryOptions::default());
    runtime()
        .block_on(client.push(&reference, &layout, &root))
        .unwrap();
    let test = TestStore::new();
    // An earlier process left the beginning of the larger layer.
    let digest = layer_digests(&layout, &root)[1].clone();
    let partial = test.store.directory().join("partial");
    let bytes = layout.blob(&digest).unwrap();
    let name = digest.to_string().replace(':', "-");
    fs::write(partial.join(name), &bytes[..1_000_000]).unwrap();
    let pulled = pull(&test.store, &client, &reference, ALWAYS).unwrap();
    assert_eq!(pulled.digest, root.digest);
    let data = fs::read(pulled.image.root_path().join("data")).unwrap();
    assert!(data == noise(3_000_000));
    let again = pull(&test.store, &client, &reference, ALWAYS).unwrap();
    assert!(matches!(again.origin, PullOrigin::Confirmed));
    assert!(test.store.verify().unwrap().damages.is_empty());
}
