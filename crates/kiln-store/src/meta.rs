//! `meta.json`: what is known about an unpacked image.

use kiln_oci::{Digest, Platform, RunConfig};
use serde::{Deserialize, Serialize};

use crate::program::ImageProgram;

/// The version of the unpacking rules. An image that was unpacked by other rules is unpacked again.
pub const UNPACK_VERSION: u32 = 1;

/// What is known about an unpacked image.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageMeta {
    /// [`UNPACK_VERSION`] of the program that unpacked the image.
    pub unpack_version: u32,
    /// The digest of the manifest for the platform.
    pub manifest_digest: Digest,
    pub config_digest: Digest,
    pub kind: ImageKind,
    /// The platform that the image's config names.
    pub platform: Platform,
    /// User, environment, command, working directory and volumes.
    pub run: RunConfig,
    /// The program of the default command, looked up inside the root.
    pub program: Option<ImageProgram>,
    /// Directories that every user could write to in the image, as absolute paths inside it.
    pub writable_directories: Vec<String>,
    /// The first entries that were not unpacked.
    pub skipped: Vec<SkippedEntry>,
    /// The layers of an artifact, which are not unpacked. Empty for an image.
    pub artifact_layers: Vec<ArtifactLayer>,
    pub sizes: ImageSizes,
    /// The digest of the record of all files.
    pub record_digest: Digest,
}

/// Whether the layers are archives of files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageKind {
    /// The layers are archives of files, which are unpacked.
    Image,
    /// The layers have other types, for example `application/wasm`. The root is empty.
    Artifact,
}

/// A layer of an artifact. [`crate::StoredImage::open_layer`] opens it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactLayer {
    pub media_type: String,
    pub digest: Digest,
    pub size: u64,
}

/// An entry of a layer that was not unpacked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SkippedEntry {
    pub path: String,
    pub kind: SkippedKind,
}

/// The types of entries that are not unpacked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkippedKind {
    BlockDevice,
    CharacterDevice,
    Fifo,
}

/// Sizes of an image.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageSizes {
    /// Of the layers as the registry has them, in bytes.
    pub packed: u64,
    /// Of all files, in bytes. Files with several names count once.
    pub unpacked: u64,
    /// Files, directories and links.
    pub entries: u64,
}
