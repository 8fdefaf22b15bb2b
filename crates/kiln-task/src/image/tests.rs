//! Layers that are packages, and layers that are not.

use std::io::Write;

use archive::{archive, file};
use kiln_oci::Digest;

use super::{Layer, LayerError, contents_of_layers};
use crate::contents::{Contents, FileMode};

#[path = "../../tests/it/archive.rs"]
mod archive;

const TAR: &str = "application/vnd.oci.image.layer.v1.tar";
const GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

fn read(layers: &[Vec<u8>]) -> Result<Contents, LayerError> {
    let layers: Vec<Layer<'_>> = layers
        .iter()
        .map(|bytes| Layer {
            media_type: TAR,
            bytes,
            diff_id: None,
        })
        .collect();
    contents_of_layers(&layers, 100_000)
}

fn files(contents: &Contents) -> Vec<String> {
    let line = |(path, file): (&crate::PackagePath, &crate::PackageFile)| {
        format!("{path} {}", String::from_utf8_lossy(&file.bytes))
    };
    contents.iter().map(line).collect()
}

#[test]
fn higher_layers_hide_lower_ones() {
    let lower = archive(&[
        ("./", tar::EntryType::Directory, 0o755, ""),
        file("./Kptfile", "one"),
        file("/dir/a", "a"),
        file("dir/b", "b"),
        file("opaque/c", "c"),
        file("file", "f"),
        file("was-dir/x", "x"),
    ]);
    let upper = archive(&[
        file("Kptfile", "two"),
        file("dir/.wh.a", ""),
        file("opaque/d", "d"),
        file("opaque/.wh..wh..opq", ""),
        file("file/inside", "i"),
        file("was-dir", "w"),
        ("run", tar::EntryType::Regular, 0o755, "r"),
        ("link", tar::EntryType::Symlink, 0o777, "../out"),
        ("hard", tar::EntryType::Link, 0o644, "run"),
    ]);
    let contents = read(&[lower, upper]).expect("it is a package");
    assert_eq!(
        files(&contents),
        [
            "Kptfile two",
            "dir/b b",
            "file/inside i",
            "hard r",
            "link ../out",
            "opaque/d d",
            "run r",
            "was-dir w"
        ]
    );
    let mode = |path: &str| contents.get(path).map(|file| file.mode);
    assert_eq!(mode("hard"), Some(FileMode::Executable));
    assert_eq!(mode("link"), Some(FileMode::Symlink));
}

#[test]
fn hostile_layers_are_refused() {
    for path in ["../x", "a/../../x", ".git/config", "a//b"] {
        assert!(
            matches!(
                read(&[archive(&[file(path, "")])]),
                Err(LayerError::Path(_))
            ),
            "{path}"
        );
    }
    let device = archive(&[("dev", tar::EntryType::Char, 0o644, "")]);
    assert!(matches!(read(&[device]), Err(LayerError::NotAFile(_))));
    let link = archive(&[("l", tar::EntryType::Link, 0o644, "/etc/passwd")]);
    assert!(matches!(read(&[link]), Err(LayerError::NoTarget(_))));
    let large = archive(&[file("large", &"x".repeat(200_000))]);
    assert!(read(&[large]).is_err());
    assert!(read(&[archive(&[file("a", "a")])[..700].to_vec()]).is_err());
}

#[test]
fn layers_are_unpacked_up_to_the_limit() {
    let pack = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).expect("memory takes everything");
        encoder.finish().expect("memory takes everything")
    };
    let read = |bytes: &[u8]| {
        let layer = Layer {
            media_type: GZIP,
            bytes,
            diff_id: None,
        };
        contents_of_layers(&[layer], 100_000)
    };
    let small = pack(&archive(&[file("a", "a")]));
    assert_eq!(files(&read(&small).expect("it is a package")), ["a a"]);
    let bomb = pack(&vec![0; 50_000_000]);
    assert!(bomb.len() < 100_000 * 10);
    assert!(matches!(read(&bomb), Err(LayerError::TooLarge(_))));
    let other = Layer {
        media_type: "application/vnd.in-toto+json",
        bytes: &small,
        diff_id: None,
    };
    assert!(matches!(
        contents_of_layers(&[other], 10),
        Err(LayerError::Layer(_))
    ));
}

/// An uncompressed zstd frame.
fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x50];
    for piece in bytes.chunks(100_000) {
        let header = u32::try_from(piece.len()).expect("it is short") << 3;
        frame.extend(&header.to_le_bytes()[..3]);
        frame.extend(piece);
    }
    frame.extend([1, 0, 0]);
    frame
}

#[test]
fn layers_of_zstd_are_read_and_checked() {
    let unpacked = archive(&[file("a", "a")]);
    let packed = zstd(&unpacked);
    let read = |bytes: &[u8], digest: &Digest, largest: u64| {
        let layer = Layer {
            media_type: "application/vnd.oci.image.layer.v1.tar+zstd",
            bytes,
            diff_id: Some(digest),
        };
        contents_of_layers(&[layer], largest)
    };
    let digest = Digest::of(&unpacked);
    let contents = read(&packed, &digest, 100_000).expect("it is a package");
    assert_eq!(files(&contents), ["a a"]);
    let other = read(&packed, &Digest::of(b"other"), 100_000);
    assert!(matches!(other, Err(LayerError::Archive(_))));
    let short = read(&packed[..packed.len() / 2], &digest, 100_000);
    assert!(matches!(short, Err(LayerError::Archive(_))));
    let length = unpacked.len() as u64;
    assert!(read(&packed, &digest, length).is_ok());
    let large = read(&packed, &digest, length - 1);
    assert!(matches!(large, Err(LayerError::TooLarge(_))));
    // A file that exceeds the limit is reported as too large, not as damaged.
    let large = archive(&[file("a", &"x".repeat(200_000))]);
    let large = read(&zstd(&large), &Digest::of(&large), 100_000);
    assert!(matches!(large, Err(LayerError::TooLarge(_))));
}
