//! Archives: reproducible, and complete or refused.

use std::io::Read as _;

use bytes::Bytes;

use super::{ArchiveLimits, ImageLayout, LayoutError, REF_NAME, read_archive, write_archive};
use crate::{Digest, ImageSpec, LayerBuilder, Platform, RunConfig, add_image};

fn layout() -> ImageLayout {
    let layer = LayerBuilder::default()
        .directory("/tmp", 0o1777)
        .and_then(|layer| layer.file("/a/b/c", 0o755, b"content"))
        .and_then(|layer| layer.link("/a/b/d", "c"))
        .and_then(|layer| layer.file("a/e", 0o644, b""))
        .and_then(LayerBuilder::finish);
    let spec = ImageSpec {
        platform: Platform::linux("amd64"),
        run: RunConfig::default(),
        layers: vec![layer.unwrap()],
    };
    let mut layout = ImageLayout::default();
    let root = add_image(&mut layout, spec).unwrap();
    layout.add_root(root, "x:v1");
    layout
}

fn archive(layout: &ImageLayout) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_archive(layout, &mut bytes).unwrap();
    bytes
}

fn read(bytes: &[u8]) -> Result<ImageLayout, LayoutError> {
    read_archive(&mut &*bytes, &ArchiveLimits::default())
}

#[test]
fn an_archive_survives_a_round_trip() {
    let layout = layout();
    let bytes = archive(&layout);
    assert_eq!(
        bytes,
        archive(&self::layout()),
        "the same content, the same bytes"
    );
    let again = read(&bytes).unwrap();
    assert_eq!(again, layout);
    assert_eq!(again.roots()[0].annotations[REF_NAME], "x:v1");
}

#[test]
fn layers_contain_the_added_files() {
    let layout = layout();
    let manifests = layout.manifests_below(&layout.roots()[0]).unwrap();
    let crate::Manifest::Image(image) = &manifests[0].manifest else {
        panic!("an image")
    };
    let layer = layout.blob(&image.layers[0].digest).unwrap();
    let mut decompressed = Vec::new();
    let read = flate2::read::GzDecoder::new(&*layer).read_to_end(&mut decompressed);
    read.unwrap();
    // The config has the digest of the uncompressed layer.
    let config = layout.blob(&image.config.digest).unwrap();
    let config: crate::ImageConfig = serde_json::from_slice(&config).unwrap();
    assert_eq!(
        config.rootfs.diff_ids,
        [crate::Digest::of(&decompressed).to_string()]
    );
    let mut archive = tar::Archive::new(&*decompressed);
    let line = |entry: std::io::Result<tar::Entry<'_, _>>| {
        let entry = entry.unwrap();
        let header = entry.header();
        format!(
            "{} {:o} {} {} {}",
            entry.path().unwrap().display(),
            header.mode().unwrap(),
            header.uid().unwrap(),
            header.mtime().unwrap(),
            entry
                .link_name()
                .unwrap()
                .map_or(String::new(), |to| to.display().to_string()),
        )
    };
    let lines: Vec<String> = archive.entries().unwrap().map(line).collect();
    let expected = [
        "tmp/ 1777 0 0 ",
        "a/ 755 0 0 ",
        "a/b/ 755 0 0 ",
        "a/b/c 755 0 0 ",
        "a/b/d 777 0 0 c",
        "a/e 644 0 0 ",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn incomplete_layouts_are_refused() {
    let whole = layout();
    for digest in whole.blobs.keys() {
        let mut incomplete = whole.clone();
        incomplete.blobs.remove(digest);
        let error = read(&archive(&incomplete)).unwrap_err();
        assert!(
            matches!(&error, LayoutError::MissingBlob(missing) if missing == digest),
            "{error}"
        );
        let mut wrong = whole.clone();
        wrong
            .blobs
            .insert(digest.clone(), Bytes::from_static(b"other"));
        let error = read(&archive(&wrong)).unwrap_err();
        assert!(
            matches!(&error, LayoutError::Digest(wrong) if wrong == digest),
            "{error}"
        );
    }
    let bytes = archive(&whole);
    let error = read(&bytes[..700]).unwrap_err();
    assert!(
        matches!(error, LayoutError::Io(_) | LayoutError::MissingFile(_)),
        "{error}"
    );
    assert!(matches!(read(b""), Err(LayoutError::MissingFile(_))));
    let small = read_archive(&mut &*bytes, &ArchiveLimits { bytes: 100 });
    assert!(matches!(small, Err(LayoutError::TooLarge(100))));
}

#[test]
fn a_missing_manifest_is_an_error() {
    let mut layout = ImageLayout::default();
    let mut root = layout.add_blob(crate::media_type::OCI_INDEX, Bytes::from_static(b"{}"));
    root.digest = Digest::of(b"never");
    let error = layout.manifests_below(&root).unwrap_err();
    assert!(matches!(error, LayoutError::MissingBlob(_)), "{error}");
}
