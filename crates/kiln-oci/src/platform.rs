//! Platforms, and which image of an index is for one.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::manifest::{Descriptor, Index};
use crate::media_type::{is_index, is_manifest};
use crate::said::clipped;

/// A message names no more platforms.
const MOST_OFFERED: usize = 20;

/// An operating system on a kind of processor.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Platform {
    /// As Go names it: `amd64`, `arm64`.
    #[serde(default)]
    pub architecture: String,
    /// As Go names it: `linux`.
    #[serde(default)]
    pub os: String,
    /// `v7` and the like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

/// A text names no platform.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0:?} is no platform: OS/ARCHITECTURE[/VARIANT]")]
pub struct PlatformError(String);

impl Platform {
    /// Linux on a processor, which is named as Rust or as Go does.
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

    /// Linux on the processor this was built for.
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

/// The image of an index for a platform: the variant that is wanted, else one for all variants, and if none is wanted the first.
/// An image of which nothing is said is for Linux on amd64, as it was before there were others.
pub fn select_platform<'a>(index: &'a Index, wanted: &Platform) -> Option<&'a Descriptor> {
    let of_kind = |entry: &&Descriptor| {
        let platform = entry.platform.as_ref();
        platform.is_some_and(|platform| {
            platform.os == wanted.os && platform.architecture == wanted.architecture
        })
    };
    let with = |variant: &str| {
        index.manifests.iter().filter(of_kind).find(|entry| {
            let platform = entry.platform.as_ref();
            platform.is_some_and(|platform| platform.variant() == variant)
        })
    };
    let unnamed = |entry: &&Descriptor| {
        entry.platform.is_none() && (is_manifest(&entry.media_type) || is_index(&entry.media_type))
    };
    with(wanted.variant())
        .or_else(|| with(""))
        .or_else(|| match wanted.variant() {
            "" => index.manifests.iter().find(of_kind),
            _ => None,
        })
        .or_else(
            || match (wanted.os.as_str(), wanted.architecture.as_str()) {
                ("linux", "amd64") => index.manifests.iter().find(unnamed),
                _ => None,
            },
        )
}

/// For which platforms an index has images, for messages. What is said to be for unknown ones is about the others.
pub(crate) fn offered(index: &Index) -> String {
    let named = index
        .manifests
        .iter()
        .filter_map(|entry| entry.platform.as_ref());
    let mut named = named.filter(|platform| platform.os != "unknown");
    let first: Vec<String> = named
        .by_ref()
        .take(MOST_OFFERED)
        .map(|platform| clipped(&platform.to_string()))
        .collect();
    match (first.is_empty(), named.count()) {
        (true, _) => "nothing".to_owned(),
        (false, 0) => first.join(", "),
        (false, more) => format!("{} and {more} more", first.join(", ")),
    }
}
