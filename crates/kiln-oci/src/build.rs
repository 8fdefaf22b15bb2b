//! Builds images: layers, a config, a manifest.
//!
//! The same files give the same digest: timestamps are zero, entries are in the order they were added, all belong to root.

use std::collections::BTreeSet;
use std::io::{self, Write as _};

use bytes::Bytes;
use flate2::{Compression, GzBuilder};

use crate::config::{ImageConfig, RootFs, RunConfig};
use crate::digest::Digest;
use crate::layout::ImageLayout;
use crate::manifest::{Descriptor, ImageManifest};
use crate::media_type::{OCI_CONFIG, OCI_LAYER_GZIP, OCI_MANIFEST};
use crate::platform::Platform;

/// Why an image cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("cannot add {path} to a layer")]
    Entry { path: String, source: io::Error },
    #[error("cannot compress a layer")]
    Compress(#[source] io::Error),
    #[error("cannot write the config or manifest of the image")]
    Json(#[source] serde_json::Error),
}

/// Builds a layer.
pub struct LayerBuilder {
    archive: tar::Builder<Vec<u8>>,
    directories: BTreeSet<String>,
}

/// The parts of an image to build.
#[derive(Clone, Debug)]
pub struct ImageSpec {
    pub platform: Platform,
    pub run: RunConfig,
    /// Uncompressed tar archives, lowest first.
    pub layers: Vec<Bytes>,
}

impl Default for LayerBuilder {
    fn default() -> LayerBuilder {
        LayerBuilder {
            archive: tar::Builder::new(Vec::new()),
            directories: BTreeSet::new(),
        }
    }
}

impl LayerBuilder {
    /// Adds a directory and its parents.
    pub fn directory(mut self, path: &str, mode: u32) -> Result<LayerBuilder, BuildError> {
        self.add_parents(path)?;
        self.add_directory(path.trim_matches('/'), mode)?;
        Ok(self)
    }

    /// Adds a file and its parent directories.
    pub fn file(mut self, path: &str, mode: u32, bytes: &[u8]) -> Result<LayerBuilder, BuildError> {
        self.add_parents(path)?;
        let mut header = header(tar::EntryType::Regular, mode);
        header.set_size(bytes.len() as u64);
        let added = self
            .archive
            .append_data(&mut header, path.trim_matches('/'), bytes);
        added.map_err(|source| entry_error(path, source))?;
        Ok(self)
    }

    /// Adds a symbolic link and its parent directories.
    pub fn link(mut self, path: &str, target: &str) -> Result<LayerBuilder, BuildError> {
        self.add_parents(path)?;
        let mut header = header(tar::EntryType::Symlink, 0o777);
        header.set_size(0);
        let added = self
            .archive
            .append_link(&mut header, path.trim_matches('/'), target);
        added.map_err(|source| entry_error(path, source))?;
        Ok(self)
    }

    /// The layer as a tar archive.
    pub fn finish(self) -> Result<Bytes, BuildError> {
        let bytes = self.archive.into_inner();
        bytes
            .map(Bytes::from)
            .map_err(|source| entry_error("the end of the archive", source))
    }

    fn add_parents(&mut self, path: &str) -> Result<(), BuildError> {
        let path = path.trim_matches('/').to_owned();
        for (at, _) in path.match_indices('/') {
            if let Some(parent) = path.get(..at) {
                self.add_directory(parent, 0o755)?;
            }
        }
        Ok(())
    }

    fn add_directory(&mut self, path: &str, mode: u32) -> Result<(), BuildError> {
        if !self.directories.insert(path.to_owned()) {
            return Ok(());
        }
        let mut header = header(tar::EntryType::Directory, mode);
        header.set_size(0);
        let added = self
            .archive
            .append_data(&mut header, format!("{path}/"), io::empty());
        added.map_err(|source| entry_error(path, source))
    }
}

fn header(kind: tar::EntryType, mode: u32) -> tar::Header {
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header
}

/// Builds an image in a layout.
pub fn add_image(layout: &mut ImageLayout, image: ImageSpec) -> Result<Descriptor, BuildError> {
    let mut layers = Vec::new();
    let mut diff_ids = Vec::new();
    for layer in image.layers {
        diff_ids.push(Digest::of(&layer).to_string());
        let compressed = compress_layer(&layer).map_err(BuildError::Compress)?;
        layers.push(layout.add_blob(OCI_LAYER_GZIP, compressed));
    }
    let config = ImageConfig {
        architecture: image.platform.architecture.clone(),
        os: image.platform.os.clone(),
        config: image.run,
        rootfs: RootFs {
            kind: "layers".to_owned(),
            diff_ids,
        },
    };
    let config = serde_json::to_vec(&config).map_err(BuildError::Json)?;
    let config = layout.add_blob(OCI_CONFIG, config.into());
    let manifest = ImageManifest {
        schema_version: 2,
        media_type: Some(OCI_MANIFEST.to_owned()),
        config,
        layers,
    };
    let manifest = serde_json::to_vec(&manifest).map_err(BuildError::Json)?;
    let mut descriptor = layout.add_blob(OCI_MANIFEST, manifest.into());
    descriptor.platform = Some(image.platform);
    Ok(descriptor)
}

/// Compresses a layer with gzip. The same layer gives the same bytes.
pub fn compress_layer(layer: &[u8]) -> io::Result<Bytes> {
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::default());
    encoder.write_all(layer)?;
    encoder.finish().map(Bytes::from)
}

fn entry_error(path: &str, source: io::Error) -> BuildError {
    BuildError::Entry {
        path: path.to_owned(),
        source,
    }
}
