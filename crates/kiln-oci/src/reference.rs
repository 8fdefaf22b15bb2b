//! Image references, read as Docker reads them: `[HOST[:PORT]/]PATH[:TAG][@DIGEST]`.
//!
//! A [`Reference`] is always well-formed: its parts can be put into URLs as they are. It knows nothing of where the registry
//! really is; mirrors and Docker Hub's other host are [`crate::Registry`]'s to know.

use std::fmt;
use std::str::FromStr;

use crate::digest::{Digest, DigestError};

/// Docker Hub, which is meant when no registry is named.
pub(crate) const DOCKER_HUB: &str = "docker.io";

/// The names that Docker Hub has in references and in credentials.
pub(crate) const DOCKER_HUB_NAMES: &[&str] =
    &[DOCKER_HUB, "index.docker.io", "registry-1.docker.io"];

const MAX_REPOSITORY: usize = 255;
const MAX_TAG: usize = 128;

/// What names an image.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Reference {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

/// A text is no image reference.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReferenceError {
    /// The registry is no host.
    #[error("image reference {reference:?}: {host:?} is no host of a registry")]
    Registry {
        /// The whole.
        reference: String,
        /// The part that is wrong.
        host: String,
    },
    /// The repository has characters that are not allowed, or too many.
    #[error(
        "image reference {reference:?}: {repository:?} is no repository (lower-case letters, digits, separators, at most 255)"
    )]
    Repository {
        /// The whole.
        reference: String,
        /// The part that is wrong.
        repository: String,
    },
    /// The tag has characters that are not allowed, or too many.
    #[error("image reference {reference:?}: {tag:?} is no tag")]
    Tag {
        /// The whole.
        reference: String,
        /// The part that is wrong.
        tag: String,
    },
    /// The digest is none.
    #[error("image reference {reference:?}")]
    Digest {
        /// The whole.
        reference: String,
        /// What is wrong.
        source: DigestError,
    },
}

impl Reference {
    /// Host and port of the registry as named, `docker.io` for Docker Hub.
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

    /// The digest, if the reference is bound to one.
    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// The same repository by digest, without a tag.
    pub fn with_digest(&self, digest: Digest) -> Reference {
        Reference {
            tag: None,
            digest: Some(digest),
            ..self.clone()
        }
    }

    /// What the registry is asked for: the digest if there is one, else the tag.
    pub(crate) fn manifest_name(&self) -> &str {
        match &self.digest {
            Some(digest) => digest.as_str(),
            None => self.tag().unwrap_or("latest"),
        }
    }
}

impl FromStr for Reference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Reference, ReferenceError> {
        let reference = || text.to_owned();
        let (name, digest) = match text.split_once('@') {
            Some((name, digest)) => {
                let digest = digest.parse().map_err(|source| ReferenceError::Digest {
                    reference: reference(),
                    source,
                })?;
                (name, Some(digest))
            }
            None => (text, None),
        };
        // A colon before the last slash is that of a port.
        let (name, tag) = match name.rsplit_once(':') {
            Some((before, tag)) if !tag.contains('/') => (before, Some(tag)),
            _ => (name, None),
        };
        if let Some(tag) = tag
            && !is_tag(tag)
        {
            return Err(ReferenceError::Tag {
                reference: reference(),
                tag: tag.to_owned(),
            });
        }
        let (registry, repository) = split_host(name);
        if !is_host(registry) {
            return Err(ReferenceError::Registry {
                reference: reference(),
                host: registry.to_owned(),
            });
        }
        let hub = DOCKER_HUB_NAMES.contains(&registry);
        // A name of so many hexadecimal digits means an image by its id, which registries do not know.
        let is_id =
            name.len() == 64 && name.bytes().all(|byte| b"0123456789abcdef".contains(&byte));
        let whole = match repository.contains('/') {
            false if hub => format!("library/{repository}"),
            _ => repository.to_owned(),
        };
        if is_id || !is_repository(&whole) {
            return Err(ReferenceError::Repository {
                reference: reference(),
                repository: repository.to_owned(),
            });
        }
        Ok(Reference {
            registry: if hub { DOCKER_HUB } else { registry }.to_owned(),
            repository: whole,
            tag: tag.map(str::to_owned),
            digest,
        })
    }
}

impl fmt::Display for Reference {
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

/// The first component is a host if it looks like one: with a dot or a port, or `localhost`, or with capitals.
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
pub(crate) fn is_host(text: &str) -> bool {
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
    let host_is_right = text.starts_with('[') || host.split('.').all(label);
    let port_is_right =
        port.is_none_or(|port| !port.starts_with('+') && port.parse::<u16>().is_ok());
    host_is_right && port_is_right && text.len() <= 255
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

/// Words of lower-case letters and digits, between them one dot, one or two underscores, or any number of hyphens.
fn is_path_component(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut separator = String::new();
    for byte in text.bytes() {
        if word(byte) {
            let fine = matches!(separator.as_str(), "" | "." | "_" | "__")
                || separator.bytes().all(|byte| byte == b'-');
            if !fine {
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
