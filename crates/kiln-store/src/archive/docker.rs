//! Archives of `docker save` and `podman save`: `manifest.json` names the config and the layers of each image by their paths.
//!
//! They have no manifests with digests. The manifest that is made here depends on config and layers only, so that equal
//! images have equal digests. Layers are checked when they are unpacked: the config has their digests.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kiln_oci::{Descriptor, Digest, ImageConfig, ImageIndex, ImageManifest, Platform, media_type};
use serde::Deserialize;

use super::files::{blob_path, read_blob};
use super::{ArchiveError, NAMES, invalid};
use crate::error::StoreError;
use crate::store::file_name;
use crate::work::WorkDirectory;

pub(super) const MANIFEST_FILE: &str = "manifest.json";

/// How many links lead to a file.
const MAX_LINKS: usize = 8;
/// How many files and links of an archive are remembered.
const MAX_PATHS: usize = 10_000;

/// An entry of `manifest.json`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SavedImage {
    config: String,
    #[serde(default)]
    repo_tags: Option<Vec<String>>,
    #[serde(default)]
    layers: Option<Vec<String>>,
}

/// The files of an archive by path, and its links between them: equal layers are links.
#[derive(Default)]
pub(super) struct ArchivePaths {
    files: BTreeMap<String, Digest>,
    links: BTreeMap<String, String>,
}

impl ArchivePaths {
    /// Whether `manifest.json`, which usually comes last, may refer to a file.
    pub(super) fn may_need(&self, path: &str) -> bool {
        let is_named = path.starts_with("sha256:")
            || [".json", ".tar", ".tar.gz"]
                .iter()
                .any(|suffix| path.ends_with(suffix));
        is_named && self.has_room()
    }

    pub(super) fn add_file(&mut self, path: String, digest: &Digest) {
        if self.has_room() {
            self.files.insert(path, digest.clone());
        }
    }

    pub(super) fn add_symlink(&mut self, path: String, target: &str) {
        let target = match (target.starts_with('/'), path.rsplit_once('/')) {
            (false, Some((directory, _))) => plain(&format!("{directory}/{target}")),
            _ => plain(target),
        };
        if self.has_room() {
            self.links.insert(path, target);
        }
    }

    pub(super) fn add_hard_link(&mut self, path: String, target: &str) {
        if self.has_room() {
            self.links.insert(path, plain(target));
        }
    }

    fn has_room(&self) -> bool {
        self.files.len() + self.links.len() < MAX_PATHS
    }

    /// The digest of the file at a path.
    fn digest(&self, path: &str) -> Result<&Digest, ArchiveError> {
        let mut at = plain(path);
        for _ in 0..=MAX_LINKS {
            if let Some(digest) = self.files.get(&at) {
                return Ok(digest);
            }
            match self.links.get(&at) {
                Some(target) => at.clone_from(target),
                None => break,
            }
        }
        Err(ArchiveError::MissingPath(path.to_owned()))
    }
}

/// A path without empty components, `.` and `..`: they are names in an archive and lead to no file.
pub(super) fn plain(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The images that `manifest.json` lists, as an index. Their manifests are written beside the other files.
pub(super) fn index(
    manifest: &[u8],
    paths: &ArchivePaths,
    work: &WorkDirectory,
    blobs: &mut BTreeMap<Digest, PathBuf>,
) -> Result<ImageIndex, ArchiveError> {
    let saved: Vec<SavedImage> =
        serde_json::from_slice(manifest).map_err(|error| invalid(MANIFEST_FILE, error))?;
    let mut manifests = Vec::new();
    for image in saved {
        let descriptor = add_manifest(&image, paths, work, blobs)?;
        let tags = image.repo_tags.unwrap_or_default();
        if tags.is_empty() {
            manifests.push(descriptor.clone());
        }
        for tag in tags {
            let mut named = descriptor.clone();
            let names = NAMES.map(|key| (key.to_owned(), tag.clone()));
            named.annotations.extend(names);
            manifests.push(named);
        }
    }
    Ok(ImageIndex {
        schema_version: 2,
        media_type: Some(media_type::OCI_INDEX.to_owned()),
        manifests,
    })
}

/// Makes the manifest of an image and writes it.
fn add_manifest(
    image: &SavedImage,
    paths: &ArchivePaths,
    work: &WorkDirectory,
    blobs: &mut BTreeMap<Digest, PathBuf>,
) -> Result<Descriptor, ArchiveError> {
    let config_digest = paths.digest(&image.config)?;
    if let Some(named) = named_digest(&image.config)
        && named != *config_digest
    {
        return Err(ArchiveError::Digest(named));
    }
    let bytes = read_blob(blobs, config_digest)?;
    let config = ImageConfig::parse(&bytes).map_err(|error| invalid(&image.config, error))?;
    let mut layers = Vec::new();
    for path in image.layers.iter().flatten() {
        let digest = paths.digest(path)?;
        layers.push(layer(digest, blobs)?);
    }
    let manifest = ImageManifest {
        schema_version: 2,
        media_type: Some(media_type::OCI_MANIFEST.to_owned()),
        config: Descriptor {
            digest: config_digest.clone(),
            ..Descriptor::of(media_type::OCI_CONFIG, &bytes)
        },
        layers,
    };
    let bytes = serde_json::to_vec(&manifest).map_err(|error| invalid(MANIFEST_FILE, error))?;
    let mut descriptor = Descriptor::of(media_type::OCI_MANIFEST, &bytes);
    let path = work.path().join(file_name(&descriptor.digest));
    std::fs::write(&path, &bytes).map_err(StoreError::io("write", &path))?;
    blobs.insert(descriptor.digest.clone(), path);
    if !config.architecture.is_empty() {
        descriptor.platform = Some(Platform {
            architecture: config.architecture,
            os: config.os,
            variant: None,
        });
    }
    Ok(descriptor)
}

/// The digest that the name of a config contains, if it is one.
fn named_digest(path: &str) -> Option<Digest> {
    let name = path.rsplit('/').next()?;
    let hex = name.strip_suffix(".json").unwrap_or(name);
    let hex = hex.strip_prefix("sha256:").unwrap_or(hex);
    format!("sha256:{hex}").parse().ok()
}

/// Describes a layer. Its first bytes show how it is compressed.
fn layer(digest: &Digest, blobs: &BTreeMap<Digest, PathBuf>) -> Result<Descriptor, ArchiveError> {
    use std::io::Read as _;
    let mut start = Vec::new();
    let file = std::fs::File::open(blob_path(blobs, digest)?).map_err(ArchiveError::Read)?;
    let size = file.metadata().map_err(ArchiveError::Read)?.len();
    let read = file.take(4).read_to_end(&mut start);
    read.map_err(ArchiveError::Read)?;
    let media_type = match start.as_slice() {
        [0x1f, 0x8b, ..] => media_type::OCI_LAYER_GZIP,
        [0x28, 0xb5, 0x2f, 0xfd] => media_type::OCI_LAYER_ZSTD,
        _ => media_type::OCI_LAYER,
    };
    Ok(Descriptor {
        digest: digest.clone(),
        size,
        ..Descriptor::of(media_type, b"")
    })
}
