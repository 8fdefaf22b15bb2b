//! Layers with all compressions, valid and damaged.

use std::io::{self, Read as _, Write as _};

use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::{LayerFormatError, LayerReader};
use crate::media_type::{OCI_LAYER, OCI_LAYER_GZIP, OCI_LAYER_ZSTD};
use crate::{Digest, ImageConfig, RootFs};

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Irregular enough for compression tables.
fn content() -> Vec<u8> {
    let numbers = (0..40_000_u64).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54);
    numbers
        .flat_map(|number| number.to_string().into_bytes())
        .collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// A skippable frame.
fn skipped(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap().to_le_bytes();
    [&[0x50, 0x2a, 0x4d, 0x18][..], &length, bytes].concat()
}

fn read(media_type: &str, bytes: &[u8], diff_id: Option<&Digest>) -> io::Result<Vec<u8>> {
    let mut content_read = Vec::new();
    let mut reader = LayerReader::new(media_type, bytes, diff_id).map_err(io::Error::other)?;
    reader.read_to_end(&mut content_read)?;
    assert_eq!(reader.read(&mut [0]).unwrap(), 0);
    Ok(content_read)
}

#[test]
fn layers_of_every_compression_are_read() {
    let content = content();
    let digest = Digest::of(&content);
    let (head, tail) = content.split_at(10_000);
    let forms = [
        content.clone(),
        gzip(&content),
        [gzip(head), gzip(tail)].concat(),
        zstd(&content),
        [zstd(head), zstd(tail)].concat(),
        [
            skipped(b"before"),
            zstd(head),
            skipped(b""),
            zstd(b""),
            zstd(tail),
            skipped(b"after"),
        ]
        .concat(),
    ];
    for (form, bytes) in forms.iter().enumerate() {
        // The media type may name another compression.
        for media_type in [OCI_LAYER, OCI_LAYER_GZIP, OCI_LAYER_ZSTD] {
            let content_read = read(media_type, bytes, Some(&digest)).unwrap();
            assert!(content_read == content, "{form} {media_type}");
        }
    }
    assert_eq!(read(OCI_LAYER_ZSTD, &[], None).unwrap(), b"");
}

#[test]
fn other_media_types_are_refused() {
    let no_layers = [
        "",
        "application/octet-stream",
        "application/vnd.in-toto+json",
        "application/vnd.oci.image.layer.v1.tar+xz",
        "application/vnd.oci.empty.v1+json",
    ];
    for media_type in no_layers {
        let refused = LayerReader::new(media_type, b"", None).err();
        let expected = LayerFormatError::MediaType(media_type.to_owned());
        assert_eq!(refused, Some(expected));
    }
    let layers = [
        "application/vnd.docker.image.rootfs.diff.tar",
        "application/vnd.docker.image.rootfs.diff.tar.gzip",
        "application/vnd.docker.image.rootfs.diff.tar.zstd",
        "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
        "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd",
    ];
    for media_type in layers {
        assert!(
            LayerReader::new(media_type, b"", None).is_ok(),
            "{media_type}"
        );
    }
}

#[test]
fn a_layer_must_match_its_diff_id() {
    let content = content();
    let other = Digest::of(b"other");
    for bytes in [content.clone(), gzip(&content), zstd(&content)] {
        let error = read(OCI_LAYER, &bytes, Some(&other)).unwrap_err();
        let expected = format!(
            "the decompressed layer should have digest {other} but has {}",
            Digest::of(&content)
        );
        assert_eq!(error.to_string(), expected);
        let mut reader = LayerReader::new(OCI_LAYER, &bytes, Some(&other)).unwrap();
        assert!(io::copy(&mut reader, &mut io::sink()).is_err());
        assert!(reader.read(&mut [0]).is_err(), "the error is repeated");
    }
    let config = |diff_ids: &[&str]| ImageConfig {
        rootfs: RootFs {
            kind: "layers".to_owned(),
            diff_ids: diff_ids.iter().map(|id| (*id).to_owned()).collect(),
        },
        ..ImageConfig::default()
    };
    assert_eq!(config(&[]).diff_ids(2), Ok(vec![None, None]));
    let known = config(&[other.as_str()]).diff_ids(1);
    assert_eq!(known, Ok(vec![Some(other.clone())]));
    let error = config(&[other.as_str()]).diff_ids(2).unwrap_err();
    let expected = "the manifest has 2 layers but the config has 1";
    assert_eq!(error.to_string(), expected);
    let error = config(&["sha256:x"]).diff_ids(1).unwrap_err();
    assert_eq!(error, LayerFormatError::DiffId("sha256:x".to_owned()));
}

#[test]
fn damage_at_any_position_is_an_error() {
    let content = content();
    for packed in [gzip(&content), zstd(&content), skipped(&content)] {
        for end in [5, packed.len() / 2, packed.len() - 1] {
            assert!(read(OCI_LAYER, &packed[..end], None).is_err(), "{end}");
        }
        let rubbish = [&packed[..], b"rubbish"].concat();
        assert!(read(OCI_LAYER, &rubbish, None).is_err());
    }
    // Reading a changed layer ends, and never returns other content.
    let (packed, digest) = (zstd(&content), Digest::of(&content));
    for at in (4..packed.len()).step_by(37) {
        let mut damaged = packed.clone();
        damaged[at] ^= 1 << (at % 8);
        let reader = LayerReader::new(OCI_LAYER, &damaged, Some(&digest)).unwrap();
        let mut content_read = Vec::new();
        let read = reader.take(10 << 20).read_to_end(&mut content_read);
        assert!(read.is_err() || content_read == content, "{at}");
    }
}

#[test]
fn errors_of_zstd_are_for_users() {
    let packed = zstd(&content());
    let text = |bytes: &[u8]| read(OCI_LAYER_ZSTD, bytes, None).unwrap_err().to_string();
    for end in [5, packed.len() / 2, packed.len() - 1] {
        assert_eq!(text(&packed[..end]), "its zstd data ends early", "{end}");
    }
    let wide = [&MAGIC[..], &[0x00, 21 << 3], &[0x02, 0x00, 0x10, 0x00]].concat();
    assert_eq!(
        text(&wide),
        "the window of its zstd data has 2147483648 bytes, at most 134217728 are supported"
    );
    let reserved_block = [&MAGIC[..], &[0x00, 0x50], &[0x07, 0x00, 0x00]].concat();
    assert_eq!(text(&reserved_block), "its zstd data is invalid");
}

#[test]
fn a_decompression_bomb_can_be_left_early() {
    // Blocks of 128 KiB in four bytes each, for 12 GiB.
    let block = [0x02, 0x00, 0x10, 0x00];
    let bomb = [&MAGIC[..], &[0x00, 0x50], &block.repeat(100_000)].concat();
    let reader = LayerReader::new(OCI_LAYER_ZSTD, &bomb, None).unwrap();
    let mut limited = reader.take(1 << 20);
    assert_eq!(io::copy(&mut limited, &mut io::sink()).unwrap(), 1 << 20);
    // A window of 2 GiB, which would have to be in memory.
    let wide = [&MAGIC[..], &[0x00, 21 << 3], &block].concat();
    assert!(read(OCI_LAYER_ZSTD, &wide, None).is_err());
    // A skippable frame of 4 GiB that is missing.
    let long = [0x50, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff];
    assert!(read(OCI_LAYER_ZSTD, &long, None).is_err());
}
