//! Image layouts as tar archives.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use bytes::Bytes;

use super::{ImageLayout, LayoutError};
use crate::digest::Digest;
use crate::manifest::{ImageIndex, Manifest};

const LAYOUT_FILE: &str = "oci-layout";
const LAYOUT_FILE_TEXT: &[u8] = br#"{"imageLayoutVersion":"1.0.0"}"#;

/// Limits for reading an archive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArchiveLimits {
    /// The largest size of all files together.
    pub bytes: u64,
}

impl Default for ArchiveLimits {
    fn default() -> ArchiveLimits {
        ArchiveLimits { bytes: 2 << 30 }
    }
}

/// Writes a layout as a tar archive. The same layout gives the same bytes.
pub fn write_archive(layout: &ImageLayout, to: &mut dyn Write) -> Result<(), LayoutError> {
    let index =
        serde_json::to_vec(&layout.index()).map_err(|error| LayoutError::Index(error.into()))?;
    let mut archive = tar::Builder::new(to);
    let mut add = |path: &str, bytes: &[u8]| -> io::Result<()> {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        archive.append_data(&mut header, path, bytes)
    };
    add(LAYOUT_FILE, LAYOUT_FILE_TEXT).map_err(LayoutError::Io)?;
    add("index.json", &index).map_err(LayoutError::Io)?;
    for (digest, bytes) in &layout.blobs {
        let path = format!("blobs/{}/{}", digest.algorithm(), digest.hex());
        add(&path, bytes).map_err(LayoutError::Io)?;
    }
    archive.finish().map_err(LayoutError::Io)
}

/// Reads a layout from a tar archive, and checks that it is complete and that every digest is right.
pub fn read_archive(
    from: &mut dyn Read,
    limits: &ArchiveLimits,
) -> Result<ImageLayout, LayoutError> {
    let mut archive = tar::Archive::new(from);
    let mut files: BTreeMap<String, Bytes> = BTreeMap::new();
    let mut remaining = limits.bytes;
    for entry in archive.entries().map_err(LayoutError::Io)? {
        let entry = entry.map_err(LayoutError::Io)?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = entry.path_bytes();
        let path = String::from_utf8_lossy(&path).into_owned();
        let path = path.strip_prefix("./").unwrap_or(&path).to_owned();
        let mut bytes = Vec::new();
        let read = entry.take(remaining + 1).read_to_end(&mut bytes);
        read.map_err(LayoutError::Io)?;
        // Names count too: an archive may contain any number of empty files.
        remaining = remaining
            .checked_sub(bytes.len() as u64 + path.len() as u64)
            .ok_or(LayoutError::TooLarge(limits.bytes))?;
        files.insert(path, bytes.into());
    }
    let missing = |name: &str| LayoutError::MissingFile(name.to_owned());
    files.get(LAYOUT_FILE).ok_or_else(|| missing(LAYOUT_FILE))?;
    let index = files
        .get("index.json")
        .ok_or_else(|| missing("index.json"))?;
    let index: ImageIndex =
        serde_json::from_slice(index).map_err(|error| LayoutError::Index(error.into()))?;
    let layout = ImageLayout {
        roots: index.manifests,
        blobs: blobs(files)?,
    };
    check_complete(&layout)?;
    Ok(layout)
}

/// The blobs by digest, checked. Files that are not named after a digest are left out.
fn blobs(files: BTreeMap<String, Bytes>) -> Result<BTreeMap<Digest, Bytes>, LayoutError> {
    let mut blobs = BTreeMap::new();
    for (path, bytes) in files {
        let name = path
            .strip_prefix("blobs/")
            .map(|name| name.replacen('/', ":", 1));
        let Some(Ok(digest)) = name.map(|name| name.parse::<Digest>()) else {
            continue;
        };
        if !digest.matches(&bytes) {
            return Err(LayoutError::Digest(digest));
        }
        blobs.insert(digest, bytes);
    }
    Ok(blobs)
}

fn check_complete(layout: &ImageLayout) -> Result<(), LayoutError> {
    for root in &layout.roots {
        for stored in layout.manifests_below(root)? {
            if let Manifest::Image(image) = stored.manifest {
                layout.blob(&image.config.digest)?;
                for layer in &image.layers {
                    layout.blob(&layer.digest)?;
                }
            }
        }
    }
    Ok(())
}
