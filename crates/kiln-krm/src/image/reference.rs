//! A reference as container tools write it: `[registry/]repository[:tag][@digest]`.
//!
//! The grammar is the one of the distribution project, which kpt checks images with. The part before the first
//! slash is read as a registry whenever it could be one; no defaults are added.

use std::fmt;

use kiln_go::to_lower;

use super::grammar::{is_digest, is_domain_label, is_repository_path, is_tag, split, split_port};

/// An image reference, taken apart.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct ImageRef {
    /// The registry with its port; empty if there is none.
    pub registry: String,
    /// The path of the repository below the registry.
    pub repository: String,
    pub tag: Option<String>,
    /// The digest, `algorithm:hex`.
    pub digest: Option<String>,
}

/// Why a text is not an image reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReferenceError {
    #[error("repository name must have at least one component")]
    Empty,
    /// It would be one in lower case.
    #[error("repository name must be lowercase")]
    UpperCase,
    /// It does not have the form of one.
    #[error("invalid reference format")]
    Format,
    /// The repository's path has more than 255 bytes.
    #[error("repository name must not be more than 255 characters")]
    TooLong,
    /// The digest's algorithm is unknown.
    #[error("unsupported digest algorithm")]
    DigestAlgorithm,
    /// The digest is longer or shorter than its algorithm makes them.
    #[error("invalid checksum digest length")]
    DigestLength,
    /// The digest is not written in lower case.
    #[error("invalid checksum digest format")]
    DigestFormat,
}

impl ImageRef {
    /// Takes a reference apart.
    pub fn parse(text: &str) -> Result<ImageRef, ReferenceError> {
        let Some(reference) = by_form(text, is_registry) else {
            return Err(if text.is_empty() {
                ReferenceError::Empty
            } else if by_form(&to_lower(text), is_registry).is_some() {
                ReferenceError::UpperCase
            } else {
                ReferenceError::Format
            });
        };
        if reference.repository.len() > 255 {
            return Err(ReferenceError::TooLong);
        }
        if let Some(digest) = &reference.digest {
            check_digest(digest)?;
        }
        Ok(reference)
    }

    /// The reference without tag and digest.
    pub fn name(&self) -> String {
        match self.registry.as_str() {
            "" => self.repository.clone(),
            registry => format!("{registry}/{}", self.repository),
        }
    }

    /// The last component of the repository's path.
    pub fn base_name(&self) -> &str {
        self.repository.rsplit('/').next().unwrap_or_default()
    }
}

impl fmt::Display for ImageRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

/// Whether a reference has a tag or a digest; checks the text only.
pub fn has_tag_or_digest(image: &str) -> bool {
    let last = image.rsplit('/').next().unwrap_or(image);
    image.contains('@') || last.contains(':')
}

/// Replaces the tag and the digest of a reference by `digest`; looks at the text only.
pub fn with_digest(image: &str, digest: &str) -> String {
    let (name, _, _) = split(image);
    format!("{name}@{digest}")
}

/// Parses a reference; the caller decides what a registry is.
pub(super) fn by_form(text: &str, is_registry: fn(&str) -> bool) -> Option<ImageRef> {
    let (name, tag, digest) = split(text);
    if !tag.is_none_or(is_tag) || !digest.is_none_or(is_digest) {
        return None;
    }
    let (registry, repository) = match name.split_once('/') {
        Some((first, rest)) if is_registry(first) && is_repository_path(rest) => (first, rest),
        _ if is_repository_path(name) => ("", name),
        _ => return None,
    };
    Some(ImageRef {
        registry: registry.to_owned(),
        repository: repository.to_owned(),
        tag: tag.map(str::to_owned),
        digest: digest.map(str::to_owned),
    })
}

fn is_registry(text: &str) -> bool {
    let Some((host, _)) = split_port(text) else {
        return false;
    };
    match host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
    {
        Some(address) => {
            !address.is_empty() && address.bytes().all(|b| b.is_ascii_hexdigit() || b == b':')
        }
        None => host.split('.').all(is_domain_label),
    }
}

fn check_digest(digest: &str) -> Result<(), ReferenceError> {
    let (algorithm, hex) = digest.split_once(':').unwrap_or((digest, ""));
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        // A name in capitals is not even the name of an unknown algorithm.
        _ if algorithm.bytes().any(|b| b.is_ascii_uppercase()) => {
            return Err(ReferenceError::DigestFormat);
        }
        _ => return Err(ReferenceError::DigestAlgorithm),
    };
    if hex.len() != length {
        Err(ReferenceError::DigestLength)
    } else if hex.bytes().any(|b| b.is_ascii_uppercase()) {
        Err(ReferenceError::DigestFormat)
    } else {
        Ok(())
    }
}
