//! Manifests: what an image consists of, and which image is for which platform.
//!
//! The bytes a manifest came in are kept beside it, because they are what its digest is of.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::media_type::{is_index, is_manifest};
use crate::platform::Platform;
use crate::said::{JsonError, clipped};

/// What something is, how large, and the digest it has.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// What it is.
    pub media_type: String,
    /// What it has to hash to.
    pub digest: Digest,
    /// How many bytes it has.
    pub size: u64,
    /// For which platform it is, in an index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    /// What else is said about it.
    #[serde(
        default,
        deserialize_with = "null_is_empty",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub annotations: BTreeMap<String, String>,
}

impl Descriptor {
    /// Of bytes that are at hand.
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

/// The parts of an image for one platform.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageManifest {
    /// Always 2.
    pub schema_version: u32,
    /// What it says it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// How it is run.
    pub config: Descriptor,
    /// Its files, the lowest layer first.
    #[serde(deserialize_with = "null_is_empty")]
    pub layers: Vec<Descriptor>,
}

/// Images by platform.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Index {
    /// Always 2.
    pub schema_version: u32,
    /// What it says it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The images.
    #[serde(deserialize_with = "null_is_empty")]
    pub manifests: Vec<Descriptor>,
}

/// What a reference names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Manifest {
    /// An image for one platform.
    Image(ImageManifest),
    /// Images by platform.
    Index(Index),
}

/// A manifest as it was stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredManifest {
    /// Its type, digest and size.
    pub descriptor: Descriptor,
    /// Its bytes.
    pub bytes: Bytes,
    /// What they say.
    pub manifest: Manifest,
}

/// Bytes are no manifest.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// They are a manifest that nobody makes any more, or something else.
    #[error("{0:?} is no type of manifest that can be read")]
    MediaType(String),
    /// They could be read as an image and as an index.
    #[error("it holds what an image holds and what an index holds")]
    Ambiguous,
    /// They are not what their type says.
    #[error("it does not hold what a manifest holds")]
    Json(#[source] JsonError),
}

/// Enough of a manifest to know what it is.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Probe {
    #[serde(default)]
    schema_version: u32,
    media_type: Option<String>,
    manifests: Option<IgnoredAny>,
    config: Option<IgnoredAny>,
    layers: Option<IgnoredAny>,
    fs_layers: Option<IgnoredAny>,
}

impl Probe {
    /// Whether others may see something else in it (CVE-2021-41190).
    fn is_ambiguous(&self) -> bool {
        let image = self.config.is_some() || self.layers.is_some() || self.fs_layers.is_some();
        image && self.manifests.is_some()
    }

    /// Whether it is of a version that nobody makes any more, whatever the registry calls it.
    fn is_old(&self, content_type: Option<&str>) -> bool {
        self.schema_version == 1 || (self.schema_version != 2 && content_type.is_none())
    }
}

impl StoredManifest {
    /// Reads bytes. What they say of themselves counts; the registry's header only where they say nothing.
    pub fn parse(
        bytes: Bytes,
        content_type: Option<&str>,
    ) -> Result<StoredManifest, ManifestError> {
        let unreadable = |error: serde_json::Error| ManifestError::Json(error.into());
        let probe: Probe = serde_json::from_slice(&bytes).map_err(unreadable)?;
        if probe.is_ambiguous() {
            return Err(ManifestError::Ambiguous);
        }
        let content_type = content_type.map(|value| value.split(';').next().unwrap_or("").trim());
        let known = |name: &&str| is_manifest(name) || is_index(name);
        let media_type = match (probe.media_type.as_deref(), content_type.filter(known)) {
            (Some(own), _) => own,
            (None, header) if probe.is_old(header) => {
                let version = format!("schemaVersion {}", probe.schema_version);
                return Err(ManifestError::MediaType(version));
            }
            (None, Some(header)) => header,
            (None, None) if probe.manifests.is_some() => crate::media_type::OCI_INDEX,
            (None, None) => crate::media_type::OCI_MANIFEST,
        };
        let manifest = if is_index(media_type) {
            serde_json::from_slice(&bytes).map(Manifest::Index)
        } else if is_manifest(media_type) {
            serde_json::from_slice(&bytes).map(Manifest::Image)
        } else {
            return Err(ManifestError::MediaType(clipped(media_type)));
        };
        Ok(StoredManifest {
            manifest: manifest.map_err(unreadable)?,
            descriptor: Descriptor::of(media_type, &bytes),
            bytes,
        })
    }
}

/// Go writes empty maps as `null`.
pub(crate) fn null_is_empty<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests;
