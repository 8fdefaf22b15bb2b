//! Making images: layers from files at hand, a config, a manifest.
//!
//! The same files give the same digest: no times, entries in the order they are added, numbers for owners.

use std::collections::BTreeSet;
use std::io::{self, Write as _};

use bytes::Bytes;
use flate2::{Compression, GzBuilder};

use crate::config::{ImageConfig, RootFs, RunConfig};
use crate::digest::Digest;
use crate::layout::Layout;
use crate::manifest::{Descriptor, ImageManifest};
use crate::media_type::{OCI_CONFIG, OCI_LAYER_GZIP, OCI_MANIFEST};
use crate::platform::Platform;

/// An image cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A file cannot be put into a layer.
    #[error("cannot add {path} to a layer")]
    Entry {
        /// Which.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A layer cannot be packed.
    #[error("cannot pack a layer")]
    Pack(#[source] io::Error),
    /// A config or manifest cannot be written.
    #[error("cannot write what describes the image")]
    Json(#[source] serde_json::Error),
}

/// A layer in the making.
pub struct LayerBuilder {
    archive: tar::Builder<Vec<u8>>,
    directories: BTreeSet<String>,
    owner: u64,
}

/// An image as it is to be.
#[derive(Clone, Debug)]
pub struct ImageSpec {
    /// For which platform.
    pub platform: Platform,
    /// How it is run.
    pub run: RunConfig,
    /// Its layers, the lowest first.
    pub layers: Vec<Bytes>,
}

impl Default for LayerBuilder {
    fn default() -> LayerBuilder {
        LayerBuilder {
            archive: tar::Builder::new(Vec::new()),
            directories: BTreeSet::new(),
            owner: 0,
        }
    }
}

impl LayerBuilder {
    /// Whose what is added from now on is, by number; root's if this is not called.
    pub fn owned_by(mut self, owner: u64) -> LayerBuilder {
        self.owner = owner;
        self
    }

    /// Adds a directory and those it is in.
    pub fn directory(mut self, path: &str, mode: u32) -> Result<LayerBuilder, BuildError> {
        self.parents(path)?;
        self.own_directory(path.trim_matches('/'), mode)?;
        Ok(self)
    }

    /// Adds a file and the directories it is in.
    pub fn file(mut self, path: &str, mode: u32, bytes: &[u8]) -> Result<LayerBuilder, BuildError> {
        self.parents(path)?;
        let mut header = self.header(tar::EntryType::Regular, mode);
        header.set_size(bytes.len() as u64);
        let added = self
            .archive
            .append_data(&mut header, path.trim_matches('/'), bytes);
        added.map_err(|source| entry_error(path, source))?;
        Ok(self)
    }

    /// Adds a symbolic link and the directories it is in.
    pub fn link(mut self, path: &str, target: &str) -> Result<LayerBuilder, BuildError> {
        self.parents(path)?;
        let mut header = self.header(tar::EntryType::Symlink, 0o777);
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
            .map_err(|source| entry_error("its end", source))
    }

    fn parents(&mut self, path: &str) -> Result<(), BuildError> {
        let path = path.trim_matches('/').to_owned();
        for (at, _) in path.match_indices('/') {
            if let Some(parent) = path.get(..at) {
                self.own_directory(parent, 0o755)?;
            }
        }
        Ok(())
    }

    fn own_directory(&mut self, path: &str, mode: u32) -> Result<(), BuildError> {
        if !self.directories.insert(path.to_owned()) {
            return Ok(());
        }
        let mut header = self.header(tar::EntryType::Directory, mode);
        header.set_size(0);
        let added = self
            .archive
            .append_data(&mut header, format!("{path}/"), io::empty());
        added.map_err(|source| entry_error(path, source))
    }

    fn header(&self, kind: tar::EntryType, mode: u32) -> tar::Header {
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(self.owner);
        header.set_gid(self.owner);
        header.set_mtime(0);
        header
    }
}

/// Adds an image to a layout.
pub fn add_image(layout: &mut Layout, image: ImageSpec) -> Result<Descriptor, BuildError> {
    let mut layers = Vec::new();
    let mut diff_ids = Vec::new();
    for layer in image.layers {
        diff_ids.push(Digest::of(&layer).to_string());
        let packed = pack(&layer).map_err(BuildError::Pack)?;
        layers.push(layout.add_blob(OCI_LAYER_GZIP, packed));
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

/// A layer as it travels: a quarter of its size, and always the same bytes for the same layer.
fn pack(layer: &[u8]) -> io::Result<Bytes> {
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
