//! An image's config: how it is run.

use serde::{Deserialize, Serialize};

use crate::manifest::null_is_empty;
use crate::said::JsonError;

/// The config of an image. What is not here is of no use to those who run it.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct ImageConfig {
    /// For which kind of processor it is.
    pub architecture: String,
    /// For which operating system.
    pub os: String,
    /// How it is run.
    #[serde(deserialize_with = "null_is_empty")]
    pub config: RunConfig,
    /// Its layers, unpacked.
    #[serde(deserialize_with = "null_is_empty")]
    pub rootfs: RootFs,
}

/// How an image is run.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct RunConfig {
    /// By whom: a name or a number, with a group after a colon; root if empty.
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
    /// The program and its first arguments.
    #[serde(
        deserialize_with = "null_is_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub entrypoint: Vec<String>,
    /// The arguments that are used when none are given.
    #[serde(
        deserialize_with = "null_is_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub cmd: Vec<String>,
    /// Where.
    #[serde(
        deserialize_with = "null_is_empty",
        skip_serializing_if = "String::is_empty"
    )]
    pub working_dir: String,
}

/// The layers of an image, unpacked.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct RootFs {
    /// Always `layers`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Digests of the unpacked archives, the lowest first.
    #[serde(deserialize_with = "null_is_empty")]
    pub diff_ids: Vec<String>,
}

impl ImageConfig {
    /// Reads a config.
    pub fn parse(bytes: &[u8]) -> Result<ImageConfig, JsonError> {
        Ok(serde_json::from_slice(bytes)?)
    }

    /// What runs when nothing is added, by Docker's rule: entrypoint, then cmd. Empty if the image names neither.
    pub fn command_line(&self) -> Vec<String> {
        let RunConfig {
            entrypoint, cmd, ..
        } = &self.config;
        entrypoint.iter().chain(cmd).cloned().collect()
    }
}
