//! Platforms, and the choice of an image from an index.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::excerpt::excerpt;
use crate::manifest::{Descriptor, ImageIndex};
use crate::media_type::{is_index, is_manifest};

/// The largest number of platforms in a message.
const MAX_LISTED: usize = 20;

/// Operating system and architecture.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Platform {
    /// In Go's spelling: `amd64`, `arm64`.
    #[serde(default)]
    pub architecture: String,
    /// In Go's spelling: `linux`.
    #[serde(default)]
    pub os: String,
    /// For example `v7`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

/// Why a text is not a platform.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0:?} is not a platform; expected OS/ARCHITECTURE[/VARIANT]")]
pub struct PlatformError(String);

impl Platform {
    /// Linux on an architecture, in the spelling of Rust or Go.
    pub fn linux(architecture: &str) -> Platform {
        let architecture = match architecture {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            "x86" => "386",
            "powerpc64" => "ppc64le",
            other => other,
        };
        Platform {
            architecture: architecture.to_owned(),
            os: "linux".to_owned(),
            variant: None,
        }
    }

    /// Linux on the architecture of this program.
    pub fn this_machine() -> Platform {
        Platform::linux(std::env::consts::ARCH)
    }

    fn variant(&self) -> &str {
        self.variant.as_deref().unwrap_or("")
    }
}

impl FromStr for Platform {
    type Err = PlatformError;

    fn from_str(text: &str) -> Result<Platform, PlatformError> {
        let parts: Vec<&str> = text.split('/').collect();
        let (os, architecture, variant) = match parts.as_slice() {
            [os, architecture] => (os, architecture, None),
            [os, architecture, variant] => (os, architecture, Some((*variant).to_owned())),
            _ => return Err(PlatformError(text.to_owned())),
        };
        if parts.iter().any(|part| part.is_empty()) {
            return Err(PlatformError(text.to_owned()));
        }
        Ok(Platform {
            architecture: (*architecture).to_owned(),
            os: (*os).to_owned(),
            variant,
        })
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        match self.variant() {
            "" => Ok(()),
            variant => write!(f, "/{variant}"),
        }
    }
}

/// The image of an index for a platform: with the requested variant, else without a variant; if no variant is requested, the
/// first one. An entry without a platform counts as linux/amd64.
pub fn select_platform<'a>(index: &'a ImageIndex, platform: &Platform) -> Option<&'a Descriptor> {
    let is_compatible = |entry: &&Descriptor| {
        let offered = entry.platform.as_ref();
        offered.is_some_and(|offered| {
            offered.os == platform.os && offered.architecture == platform.architecture
        })
    };
    let with_variant = |variant: &str| {
        index.manifests.iter().filter(is_compatible).find(|entry| {
            let offered = entry.platform.as_ref();
            offered.is_some_and(|offered| offered.variant() == variant)
        })
    };
    let has_no_platform = |entry: &&Descriptor| {
        entry.platform.is_none() && (is_manifest(&entry.media_type) || is_index(&entry.media_type))
    };
    with_variant(platform.variant())
        .or_else(|| with_variant(""))
        .or_else(|| match platform.variant() {
            "" => index.manifests.iter().find(is_compatible),
            _ => None,
        })
        .or_else(
            || match (platform.os.as_str(), platform.architecture.as_str()) {
                ("linux", "amd64") => index.manifests.iter().find(has_no_platform),
                _ => None,
            },
        )
}

/// The platforms of an index, for messages. Entries for `unknown` are attestations, not images.
pub(crate) fn available_platforms(index: &ImageIndex) -> String {
    let named = index
        .manifests
        .iter()
        .filter_map(|entry| entry.platform.as_ref());
    let mut named = named.filter(|platform| platform.os != "unknown");
    let first: Vec<String> = named
        .by_ref()
        .take(MAX_LISTED)
        .map(|platform| excerpt(&platform.to_string()))
        .collect();
    match (first.is_empty(), named.count()) {
        (true, _) => "nothing".to_owned(),
        (false, 0) => first.join(", "),
        (false, more) => format!("{} and {more} more", first.join(", ")),
    }
}
