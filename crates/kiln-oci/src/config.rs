//! The config of an image.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::excerpt::InvalidJson;
use crate::manifest::null_is_empty;

/// The fields of an image config that are needed to run the image.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct ImageConfig {
    pub architecture: String,
    pub os: String,
    #[serde(deserialize_with = "null_is_empty")]
    pub config: RunConfig,
    #[serde(deserialize_with = "null_is_empty")]
    pub rootfs: RootFs,
}

/// User, environment and command of an image.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct RunConfig {
    /// A name or number, optionally with `:GROUP`; root if empty.
    #[serde(
        deserialize_with = "null_is_empty",
        skip_serializing_if = "String::is_empty"
    )]
    pub user: String,
    /// `NAME=value`.
    #[serde(
        deserialize_with = "null_is_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub env: Vec<String>,
    /// The program and its leading arguments.
    #[serde(
        deserialize_with = "null_is_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub entrypoint: Vec<String>,
    /// The default arguments.
    #[serde(
        deserialize_with = "null_is_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub cmd: Vec<String>,
    #[serde(
        deserialize_with = "null_is_empty",
        skip_serializing_if = "String::is_empty"
    )]
    pub working_dir: String,
    /// Directories for data that does not belong to the image.
    #[serde(with = "keys", skip_serializing_if = "BTreeSet::is_empty")]
    pub volumes: BTreeSet<String>,
}

/// The uncompressed layers of an image.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct RootFs {
    /// Always `layers`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Digests of the uncompressed archives, lowest first.
    #[serde(deserialize_with = "null_is_empty")]
    pub diff_ids: Vec<String>,
}

impl ImageConfig {
    pub fn parse(bytes: &[u8]) -> Result<ImageConfig, InvalidJson> {
        Ok(serde_json::from_slice(bytes)?)
    }

    /// The default command line, by Docker's rule: entrypoint, then cmd. Empty if the image has neither.
    pub fn command_line(&self) -> Vec<String> {
        let RunConfig {
            entrypoint, cmd, ..
        } = &self.config;
        entrypoint.iter().chain(cmd).cloned().collect()
    }
}

/// A set, written as an object with empty values.
mod keys {
    use serde::de::IgnoredAny;
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::{BTreeMap, BTreeSet};

    pub(super) fn serialize<S: Serializer>(
        keys: &BTreeSet<String>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let empty = BTreeMap::<String, String>::new();
        serializer.collect_map(keys.iter().map(|key| (key, &empty)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeSet<String>, D::Error> {
        let map = Option::<BTreeMap<String, IgnoredAny>>::deserialize(deserializer)?;
        Ok(map.unwrap_or_default().into_keys().collect())
    }
}
