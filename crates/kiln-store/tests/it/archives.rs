//! Archives of other tools: Docker's, compressed ones, and hostile ones.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use kiln_oci::{Digest, ImageReference, LayerBuilder, write_archive};
use kiln_store::{ArchiveError, CollectLimits, ImportedImage};
use serde_json::json;

use crate::images::{TestStore, amd64, image, layer};

const NAME: &str = "example.com/team/fn:v1";

fn import(test: &TestStore, archive: &[u8]) -> Result<Vec<ImportedImage>, ArchiveError> {
    test.store.import(&mut &*archive, &[amd64()], None)
}

/// An error with its causes, and what is left in the store is nothing.
#[track_caller]
fn check_refused(archive: &[u8], expected: &str) {
    let test = TestStore::new();
    let error = import(&test, archive).unwrap_err();
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    assert!(text.contains(expected), "{text}");
    for name in ["roots", "refs", "tmp"] {
        assert_eq!(test.entries(name), [""; 0], "{name}");
    }
}

/// An archive as `docker save` writes it, with the same layer twice.
struct DockerArchive {
    layer: Bytes,
    config: Vec<u8>,
    config_name: String,
    tags: &'static [&'static str],
    /// The target of the link in place of the second layer.
    link: &'static str,
}

impl DockerArchive {
    fn new(architecture: &str) -> DockerArchive {
        let layer = layer("fn", b"program");
        let diff_id = Digest::of(&layer);
        let config = json!({
            "architecture": architecture,
            "os": "linux",
            "config": { "Entrypoint": ["/fn"], "Env": null },
            "rootfs": { "type": "layers", "diff_ids": [diff_id, diff_id] },
        });
        let config = serde_json::to_vec(&config).unwrap();
        DockerArchive {
            config_name: format!("{}.json", Digest::of(&config).hex()),
            layer,
            config,
            tags: &[NAME, "example.com/team/fn:latest"],
            link: "../one/layer.tar",
        }
    }

    fn bytes(&self) -> Bytes {
        let manifest = json!([{
            "Config": self.config_name,
            "RepoTags": self.tags,
            "Layers": ["one/layer.tar", "two/layer.tar"],
        }]);
        LayerBuilder::default()
            .file("one/VERSION", 0o644, b"1.0")
            .and_then(|archive| archive.file("one/layer.tar", 0o644, &self.layer))
            .and_then(|archive| archive.link("two/layer.tar", self.link))
            .and_then(|archive| archive.file(&self.config_name, 0o644, &self.config))
            .and_then(|archive| {
                archive.file("manifest.json", 0o644, manifest.to_string().as_bytes())
            })
            .and_then(|archive| archive.file("repositories", 0o644, b"{}"))
            .and_then(LayerBuilder::finish)
            .unwrap()
    }
}

#[test]
fn an_archive_of_docker_is_imported_with_all_names() {
    let archive = DockerArchive::new("amd64").bytes();
    let test = TestStore::new();
    let imported = import(&test, &archive).unwrap();
    let names: Vec<String> = imported
        .iter()
        .filter_map(|image| Some(image.reference.as_ref()?.to_string()))
        .collect();
    assert_eq!(names, [NAME, "example.com/team/fn:latest"]);
    let reference: ImageReference = NAME.parse().unwrap();
    let found = test.store.find(&reference, &amd64()).unwrap().unwrap();
    assert_eq!(found.meta().run.entrypoint, ["/fn"]);
    let program = std::fs::read(found.root_path().join("fn")).unwrap();
    assert_eq!(program, b"program");
    assert!(test.store.verify().unwrap().damages.is_empty());
    assert_eq!(test.entries("tmp"), [""; 0]);

    // The same digest everywhere, and other tools can read what is exported.
    let other = TestStore::new();
    let again = import(&other, &archive).unwrap();
    let digest = &found.meta().manifest_digest;
    assert_eq!(again[0].image.meta().manifest_digest, *digest);
    let mut exported = Vec::new();
    other
        .store
        .export(&reference, &amd64(), &mut exported)
        .unwrap();
    let limits = kiln_oci::ArchiveLimits::default();
    kiln_oci::read_archive(&mut exported.as_slice(), &limits).unwrap();
    let third = TestStore::new();
    let imported = import(&third, &exported).unwrap();
    assert_eq!(imported[0].image.meta().manifest_digest, *digest);
}

#[test]
fn an_archive_of_docker_without_names_has_a_digest() {
    let archive = DockerArchive {
        tags: &[],
        ..DockerArchive::new("amd64")
    };
    let test = TestStore::new();
    let imported = import(&test, &archive.bytes()).unwrap();
    assert_eq!(imported.len(), 1);
    assert!(imported[0].reference.is_none());
}

#[test]
fn hostile_archives_of_docker_are_refused() {
    let whole = || DockerArchive::new("amd64");
    let arm = DockerArchive::new("arm64").bytes();
    check_refused(
        &arm,
        "the archive has no image for linux/amd64; it has linux/arm64",
    );
    for link in [
        "../../../../etc/passwd",
        "../two/layer.tar",
        "/proc/self/exe",
    ] {
        let archive = DockerArchive { link, ..whole() }.bytes();
        check_refused(
            &archive,
            "the archive has no file \"two/layer.tar\", which its manifest.json refers to",
        );
    }
    let other_layer = DockerArchive {
        layer: layer("fn", b"another program"),
        ..whole()
    };
    check_refused(&other_layer.bytes(), "should have digest");
    let other_config = DockerArchive {
        config_name: format!("{}.json", "0".repeat(64)),
        ..whole()
    };
    check_refused(&other_config.bytes(), "has another digest than its name");
    let not_json = LayerBuilder::default().file("manifest.json", 0o644, b"{}");
    let not_json = not_json.and_then(LayerBuilder::finish).unwrap();
    check_refused(&not_json, "manifest.json in the archive is invalid");
    let empty = LayerBuilder::default().file("manifest.json", 0o644, b"[]");
    let empty = empty.and_then(LayerBuilder::finish).unwrap();
    check_refused(
        &empty,
        "the archive has no image for linux/amd64; it has nothing",
    );
    check_refused(
        &layer("fn", b"program"),
        "it is neither an OCI archive (oci-layout is missing) nor one of Docker (manifest.json is missing)",
    );
}

/// An OCI archive with one image.
fn oci_archive() -> Vec<u8> {
    let (mut layout, root) = image(vec![layer("fn", b"program")]);
    layout.add_root(root, NAME);
    let mut archive = Vec::new();
    write_archive(&layout, &mut archive).unwrap();
    archive
}

#[test]
fn compressed_archives_are_imported() {
    let archive = oci_archive();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&archive).unwrap();
    let gzip = gzip.finish().unwrap();
    let test = TestStore::new();
    let plain = import(&test, &archive).unwrap();
    let compressed = import(&TestStore::new(), &gzip).unwrap();
    let digest = |imported: &[ImportedImage]| imported[0].image.meta().manifest_digest.clone();
    assert_eq!(digest(&compressed), digest(&plain));
    check_refused(&gzip[..gzip.len() / 2], "cannot read the archive");
}

#[test]
fn a_layer_of_another_size_than_its_manifest_says_is_refused() {
    let (mut layout, root) = image(vec![layer("fn", b"program")]);
    let manifest = layout.blob(&root.digest).unwrap();
    let mut manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    manifest["layers"][0]["size"] = json!(1_000_000_000_000_u64);
    let root = layout.add_blob(&root.media_type, manifest.to_string().into());
    layout.add_root(root, NAME);
    let mut archive = Vec::new();
    write_archive(&layout, &mut archive).unwrap();
    check_refused(&archive, "but a manifest says 1000000000000");
}

#[test]
fn an_image_that_was_just_added_is_not_collected() {
    let archive = oci_archive();
    let test = TestStore::new();
    let is_over = AtomicBool::new(false);
    let nothing = CollectLimits {
        size: 0,
        ..CollectLimits::default()
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                test.store.collect(&nothing).unwrap();
            }
        });
        let imported: Vec<_> = (0..100)
            .map(|_| import(&test, &archive).map(|images| images.len()))
            .collect();
        is_over.store(true, Ordering::Relaxed);
        for images in imported {
            assert_eq!(images.unwrap(), 1);
        }
    });
}
