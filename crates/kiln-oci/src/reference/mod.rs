//! Image references with Docker's rules: `[HOST[:PORT]/]PATH[:TAG][@DIGEST]`.
//!
//! An [`ImageReference`] is always well-formed: its parts can be part of a URL. It holds the registry's name; the host that
//! serves Docker Hub is known to [`crate::RegistryClient`].

use std::fmt;
use std::str::FromStr;

use crate::digest::{Digest, DigestError};

/// The registry of references without one.
pub(crate) const DOCKER_HUB: &str = "docker.io";

/// The names of Docker Hub in references and in credentials.
pub(crate) const DOCKER_HUB_NAMES: &[&str] =
    &[DOCKER_HUB, "index.docker.io", "registry-1.docker.io"];

const MAX_REPOSITORY: usize = 255;
const MAX_TAG: usize = 128;

/// The name of an image.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ImageReference {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

/// Why a text is not an image reference.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ImageReferenceError {
    #[error("image reference {reference:?}: {host:?} is not a valid registry host")]
    Registry { reference: String, host: String },
    #[error(
        "image reference {reference:?}: {repository:?} is not a valid repository (lower-case letters, digits, separators, at most 255 characters)"
    )]
    Repository {
        reference: String,
        repository: String,
    },
    #[error("image reference {reference:?}: {tag:?} is not a valid tag")]
    Tag { reference: String, tag: String },
    #[error("image reference {reference:?}")]
    Digest {
        reference: String,
        source: DigestError,
    },
}

impl ImageReference {
    /// Host and port of the registry, `docker.io` for Docker Hub.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The repository, with `library/` where Docker adds it.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The tag, `latest` if there is neither tag nor digest.
    pub fn tag(&self) -> Option<&str> {
        match (&self.tag, &self.digest) {
            (None, None) => Some("latest"),
            (tag, _) => tag.as_deref(),
        }
    }

    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// The same repository with a digest and without a tag.
    pub fn with_digest(&self, digest: Digest) -> ImageReference {
        ImageReference {
            tag: None,
            digest: Some(digest),
            ..self.clone()
        }
    }

    /// The same repository with this digest, and with the tag for people.
    pub fn pinned_to(&self, digest: Digest) -> ImageReference {
        ImageReference {
            digest: Some(digest),
            ..self.clone()
        }
    }

    /// The same repository with a tag and without a digest. `None` if it is not a valid tag.
    pub(crate) fn with_tag(&self, tag: &str) -> Option<ImageReference> {
        is_tag(tag).then(|| ImageReference {
            tag: Some(tag.to_owned()),
            digest: None,
            ..self.clone()
        })
    }

    /// The name of the manifest in requests: the digest if there is one, else the tag.
    pub(crate) fn tag_or_digest(&self) -> &str {
        match &self.digest {
            Some(digest) => digest.as_str(),
            None => self.tag().unwrap_or("latest"),
        }
    }
}

impl FromStr for ImageReference {
    type Err = ImageReferenceError;

    fn from_str(text: &str) -> Result<ImageReference, ImageReferenceError> {
        let reference = || text.to_owned();
        let (name, digest) = match text.split_once('@') {
            Some((name, digest)) => {
                let digest = digest
                    .parse()
                    .map_err(|source| ImageReferenceError::Digest {
                        reference: reference(),
                        source,
                    })?;
                (name, Some(digest))
            }
            None => (text, None),
        };
        // A colon before the last slash starts a port.
        let (name, tag) = match name.rsplit_once(':') {
            Some((before, tag)) if !tag.contains('/') => (before, Some(tag)),
            _ => (name, None),
        };
        if let Some(tag) = tag
            && !is_tag(tag)
        {
            return Err(ImageReferenceError::Tag {
                reference: reference(),
                tag: tag.to_owned(),
            });
        }
        let (registry, repository) = split_host(name);
        if !is_host(registry) {
            return Err(ImageReferenceError::Registry {
                reference: reference(),
                host: registry.to_owned(),
            });
        }
        let is_docker_hub = DOCKER_HUB_NAMES.contains(&registry);
        // 64 hexadecimal digits are the ID of a local image, which registries do not have.
        let is_id =
            name.len() == 64 && name.bytes().all(|byte| b"0123456789abcdef".contains(&byte));
        let whole = match repository.contains('/') {
            false if is_docker_hub => format!("library/{repository}"),
            _ => repository.to_owned(),
        };
        if is_id || !is_repository(&whole) {
            return Err(ImageReferenceError::Repository {
                reference: reference(),
                repository: repository.to_owned(),
            });
        }
        Ok(ImageReference {
            registry: if is_docker_hub { DOCKER_HUB } else { registry }.to_owned(),
            repository: whole,
            tag: tag.map(str::to_owned),
            digest,
        })
    }
}

impl fmt::Display for ImageReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.repository)?;
        if let Some(tag) = self.tag() {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

/// Whether a registry (`host[:port]`) is on this machine.
pub fn is_local(registry: &str) -> bool {
    let host = match registry.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => registry,
    };
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = |address: std::net::IpAddr| address.is_loopback();
    host == "localhost" || address.parse().is_ok_and(is_loopback)
}

/// The first component is a host if it has a dot, a port or capitals, or is `localhost`.
fn split_host(name: &str) -> (&str, &str) {
    match name.split_once('/') {
        Some((host, rest))
            if host == "localhost"
                || host.contains(['.', ':'])
                || host.contains(|c: char| c.is_ascii_uppercase()) =>
        {
            (host, rest)
        }
        _ => (DOCKER_HUB, name),
    }
}

/// `name`, `name:port`, `[v6]` or `[v6]:port`.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let Some((address, rest)) = rest.split_once(']') else {
                return false;
            };
            if address.parse::<std::net::Ipv6Addr>().is_err() {
                return false;
            }
            match rest.strip_prefix(':') {
                None if rest.is_empty() => return true,
                None => return false,
                port => ("", port),
            }
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    let is_valid_host = text.starts_with('[') || host.split('.').all(label);
    let is_valid_port =
        port.is_none_or(|port| !port.starts_with('+') && port.parse::<u16>().is_ok());
    is_valid_host && is_valid_port && text.len() <= 255
}

fn is_tag(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut bytes = text.bytes();
    text.len() <= MAX_TAG
        && bytes.next().is_some_and(word)
        && bytes.all(|byte| word(byte) || byte == b'.' || byte == b'-')
}

fn is_repository(text: &str) -> bool {
    text.len() <= MAX_REPOSITORY && text.split('/').all(is_path_component)
}

/// Lower-case letters and digits, separated by a dot, one or two underscores, or hyphens.
fn is_path_component(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut separator = String::new();
    for byte in text.bytes() {
        if word(byte) {
            let is_valid = matches!(separator.as_str(), "" | "." | "_" | "__")
                || separator.bytes().all(|byte| byte == b'-');
            if !is_valid {
                return false;
            }
            separator.clear();
        } else if matches!(byte, b'.' | b'_' | b'-') {
            separator.push(byte.into());
        } else {
            return false;
        }
    }
    let first = text.bytes().next();
    first.is_some_and(word) && separator.is_empty()
}

#[cfg(test)]
mod tests;
