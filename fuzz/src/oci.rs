//! What registries send: manifests, indexes, configs and layers.

use std::io::{self, Read};

use kiln_oci::{
    ArchiveLimits, Digest, ImageConfig, LayerReader, Manifest, Platform, StoredManifest,
    media_type, read_archive, select_platform, write_archive,
};

use crate::bounded;

const CONTENT_TYPES: [Option<&str>; 5] = [
    None,
    Some(media_type::OCI_INDEX),
    Some(media_type::OCI_MANIFEST),
    Some("application/vnd.docker.distribution.manifest.list.v2+json; charset=utf-8"),
    Some("text/html"),
];

/// How much of a layer is unpacked.
const UNPACKED: u64 = 1 << 20;

/// What reading a layer may take: buffers, and what was unpacked, a few times over.
const LAYER_BYTES: usize = 16 << 20;

/// The largest window that a decoder of zstd sets aside. It is not touched before it is used.
const WINDOW: usize = 128 << 20;

/// No bytes make the readers of manifests and configs panic or take memory beyond a multiple of the bytes; what was read
/// survives being written.
pub fn oci_manifest(input: &[u8]) {
    bounded::run((1 << 20) + 256 * input.len(), || {
        for content_type in CONTENT_TYPES {
            let stored = StoredManifest::parse(input.to_vec().into(), content_type);
            match stored {
                Ok(stored) => check_manifest(&stored),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
        if let Ok(config) = ImageConfig::parse(input) {
            let layers = config.rootfs.diff_ids.len();
            let _ = config.diff_ids(layers);
            let _ = config.diff_ids(layers + 1);
            config.command_line();
            let written = serde_json::to_vec(&config).expect("a config can be written");
            assert_eq!(ImageConfig::parse(&written).ok(), Some(config));
        }
    });
}

fn check_manifest(stored: &StoredManifest) {
    assert!(stored.descriptor.digest.matches(&stored.bytes));
    let written = match &stored.manifest {
        Manifest::Index(index) => {
            if let Some(chosen) = select_platform(index, &Platform::linux("amd64")) {
                assert!(index.manifests.contains(chosen));
            }
            serde_json::to_vec(index)
        }
        Manifest::Image(image) => serde_json::to_vec(image),
    };
    let written = written.expect("a manifest can be written");
    let again = StoredManifest::parse(written.into(), Some(&stored.descriptor.media_type));
    let again = again.expect("what was written can be read");
    assert_eq!(again.manifest, stored.manifest);
}

/// No bytes make the readers of layers and archives panic or take more memory than a window and what may be unpacked; how
/// much is asked for at once changes nothing, and the digest is that of what was read.
pub fn oci_layer(input: &[u8]) {
    let window = match input {
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => WINDOW,
        _ => 0,
    };
    bounded::run(LAYER_BYTES + window + 16 * input.len(), || {
        let whole = unpack(input, None, 64 << 10);
        let pieces = unpack(input, None, 1000);
        match (&whole, &pieces) {
            (Ok(whole), Ok(pieces)) => assert_eq!(whole, pieces),
            (Err(_), Err(_)) => {}
            _ => panic!("unpacked and not unpacked"),
        }
        if let Ok(unpacked) = &whole
            && (unpacked.len() as u64) < UNPACKED
        {
            assert!(unpack(input, Some(&Digest::of(unpacked)), 64 << 10).is_ok());
            assert!(unpack(input, Some(&Digest::of(b"something else")), 64 << 10).is_err());
        }
        let limits = ArchiveLimits { bytes: UNPACKED };
        let mut archive = layer(input, None).take(UNPACKED);
        if let Ok(layout) = read_archive(&mut archive, &limits) {
            let mut written = Vec::new();
            write_archive(&layout, &mut written).expect("a layout can be written");
            let again = read_archive(&mut written.as_slice(), &ArchiveLimits::default());
            assert_eq!(again.ok(), Some(layout));
        }
    });
}

fn layer<'a>(bytes: &'a [u8], diff_id: Option<&Digest>) -> LayerReader<'a> {
    LayerReader::new(media_type::OCI_LAYER, bytes, diff_id).expect("the type of a layer")
}

fn unpack(bytes: &[u8], diff_id: Option<&Digest>, at_once: usize) -> io::Result<Vec<u8>> {
    let mut reader = layer(bytes, diff_id).take(UNPACKED);
    let (mut unpacked, mut buffer) = (Vec::new(), vec![0; at_once]);
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok(unpacked),
            read => unpacked.extend_from_slice(&buffer[..read]),
        }
    }
}
