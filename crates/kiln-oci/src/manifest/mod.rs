//! Image manifests and indexes.
//!
//! A parsed manifest keeps its original bytes, because its digest is the digest of those.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::excerpt::{InvalidJson, excerpt};
use crate::media_type::{is_index, is_manifest};
use crate::platform::Platform;

/// Type, digest and size of a blob or manifest.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    pub media_type: String,
    pub digest: Digest,
    /// In bytes.
    pub size: u64,
    /// Set in the entries of an index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    #[serde(
        default,
        deserialize_with = "null_is_empty",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub annotations: BTreeMap<String, String>,
}

impl Descriptor {
    /// Describes bytes.
    pub fn of(media_type: &str, bytes: &[u8]) -> Descriptor {
        Descriptor {
            media_type: media_type.to_owned(),
            digest: Digest::of(bytes),
            size: bytes.len() as u64,
            platform: None,
            annotations: BTreeMap::new(),
        }
    }
}

/// The manifest of an image for one platform.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageManifest {
    /// Always 2.
    pub schema_version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    pub config: Descriptor,
    /// Lowest first.
    #[serde(deserialize_with = "null_is_empty")]
    pub layers: Vec<Descriptor>,
}

/// An index: images by platform.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageIndex {
    /// Always 2.
    pub schema_version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    #[serde(deserialize_with = "null_is_empty")]
    pub manifests: Vec<Descriptor>,
}

/// An image manifest or an index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Manifest {
    Image(ImageManifest),
    Index(ImageIndex),
}

/// A manifest with its original bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredManifest {
    pub descriptor: Descriptor,
    pub bytes: Bytes,
    pub manifest: Manifest,
}

/// Why a manifest cannot be parsed.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error("unsupported manifest type {0:?}")]
    MediaType(String),
    /// Clients could parse it as an image or as an index (CVE-2021-41190).
    #[error("it has the fields of an image and of an index")]
    Ambiguous,
    #[error("it is not a valid manifest")]
    Json(#[source] InvalidJson),
}

/// The fields that decide the type of a manifest.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TypeFields {
    #[serde(default)]
    schema_version: u32,
    media_type: Option<String>,
    manifests: Option<IgnoredAny>,
    config: Option<IgnoredAny>,
    layers: Option<IgnoredAny>,
    fs_layers: Option<IgnoredAny>,
}

impl TypeFields {
    fn is_ambiguous(&self) -> bool {
        let image = self.config.is_some() || self.layers.is_some() || self.fs_layers.is_some();
        image && self.manifests.is_some()
    }

    /// Whether it is a manifest of schema version 1 with any `Content-Type`.
    fn is_obsolete(&self, content_type: Option<&str>) -> bool {
        self.schema_version == 1 || (self.schema_version != 2 && content_type.is_none())
    }
}

impl StoredManifest {
    /// Parses a manifest. Its own `mediaType` comes before the registry's `Content-Type`.
    pub fn parse(
        bytes: Bytes,
        content_type: Option<&str>,
    ) -> Result<StoredManifest, ManifestError> {
        let unreadable = |error: serde_json::Error| ManifestError::Json(error.into());
        let fields: TypeFields = serde_json::from_slice(&bytes).map_err(unreadable)?;
        if fields.is_ambiguous() {
            return Err(ManifestError::Ambiguous);
        }
        let content_type = content_type.map(|value| value.split(';').next().unwrap_or("").trim());
        let known = |name: &&str| is_manifest(name) || is_index(name);
        let media_type = match (fields.media_type.as_deref(), content_type.filter(known)) {
            (Some(own), _) => own,
            (None, header) if fields.is_obsolete(header) => {
                let version = format!("schemaVersion {}", fields.schema_version);
                return Err(ManifestError::MediaType(version));
            }
            (None, Some(header)) => header,
            (None, None) if fields.manifests.is_some() => crate::media_type::OCI_INDEX,
            (None, None) => crate::media_type::OCI_MANIFEST,
        };
        let manifest = if is_index(media_type) {
            serde_json::from_slice(&bytes).map(Manifest::Index)
        } else if is_manifest(media_type) {
            serde_json::from_slice(&bytes).map(Manifest::Image)
        } else {
            return Err(ManifestError::MediaType(excerpt(media_type)));
        };
        Ok(StoredManifest {
            manifest: manifest.map_err(unreadable)?,
            descriptor: Descriptor::of(media_type, &bytes),
            bytes,
        })
    }
}

/// Go writes empty lists and maps as `null`.
pub(crate) fn null_is_empty<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests;
