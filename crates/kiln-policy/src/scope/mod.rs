//! The images that a rule is for.
//!
//! Rules and functions are compared in one spelling, so that no rule is avoided by another: the registry in lower case
//! and without its usual port, Docker Hub by one name and with `library/`, IPv6 addresses in their short form, no tag and no
//! digest.

use std::net::Ipv6Addr;

use kiln_oci::{ImageReference, ImageReferenceError};

/// What `match` says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RuleScope {
    /// `*`
    All,
    /// `HOST/PATH/`: everything below. Ends in a slash.
    Below(String),
    /// `HOST/PATH`: one repository.
    Repository(String),
}

/// Why a text is not a `match`.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ScopeError {
    #[error("`*` stands alone; end it in / to match everything below a path")]
    Star,
    #[error("begin it with a registry, such as docker.io/library/NAME or ghcr.io/TEAM/")]
    NoRegistry,
    #[error("remove the tag or digest: a rule is for a repository")]
    TagOrDigest,
    #[error("{0}")]
    Reference(ImageReferenceError),
}

/// An image in the one spelling.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CanonicalImage {
    /// Registry and repository.
    pub repository: String,
    pub has_digest: bool,
    /// The whole reference, with tag or digest.
    pub reference: String,
}

/// An image in the one spelling that rules are compared with.
pub fn canonical_image(image: &str) -> Result<CanonicalImage, ImageReferenceError> {
    let reference: ImageReference = image.parse()?;
    let host = canonical_host(reference.registry());
    // Parsed again, because the name of Docker Hub may have been hidden by a port or capitals.
    let repository: ImageReference = format!("{host}/{}", reference.repository()).parse()?;
    let repository = format!("{}/{}", repository.registry(), repository.repository());
    let tag = reference.tag().map(|tag| format!(":{tag}"));
    let digest = reference.digest().map(|digest| format!("@{digest}"));
    Ok(CanonicalImage {
        reference: format!(
            "{repository}{}{}",
            tag.unwrap_or_default(),
            digest.unwrap_or_default()
        ),
        has_digest: reference.digest().is_some(),
        repository,
    })
}

/// Lower case, without the ports that HTTPS and HTTP have anyway.
fn canonical_host(host: &str) -> String {
    let host = host.to_ascii_lowercase();
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port.parse::<u16>().ok()),
        _ => (host.as_str(), None),
    };
    let address = name.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let address = address.and_then(|address| address.parse::<Ipv6Addr>().ok());
    let name = address.map_or_else(|| name.to_owned(), |address| format!("[{address}]"));
    match port {
        None | Some(443 | 80) => name,
        Some(port) => format!("{name}:{port}"),
    }
}

impl RuleScope {
    pub(crate) fn parse(text: &str) -> Result<RuleScope, ScopeError> {
        if text == "*" {
            return Ok(RuleScope::All);
        }
        if text.contains('*') {
            return Err(ScopeError::Star);
        }
        let first = text.split('/').next().unwrap_or_default();
        let is_host = first == "localhost"
            || first.contains(['.', ':'])
            || first.contains(|c: char| c.is_ascii_uppercase());
        if !is_host || !text.contains('/') {
            return Err(ScopeError::NoRegistry);
        }
        let last = text.rsplit('/').next().unwrap_or_default();
        if text.contains('@') || last.contains(':') {
            return Err(ScopeError::TagOrDigest);
        }
        let Some(path) = text.strip_suffix('/') else {
            let image = canonical_image(text).map_err(ScopeError::Reference)?;
            return Ok(RuleScope::Repository(image.repository));
        };
        // With two components after it, because Docker Hub has `library/` before one.
        let below = canonical_image(&format!("{path}/a/b")).map_err(ScopeError::Reference)?;
        let path = below.repository.strip_suffix("a/b").unwrap_or_default();
        Ok(RuleScope::Below(path.to_owned()))
    }

    pub(crate) fn matches(&self, repository: &str) -> bool {
        match self {
            RuleScope::All => true,
            RuleScope::Below(path) => repository.starts_with(path.as_str()),
            RuleScope::Repository(own) => own == repository,
        }
    }

    /// The one spelling, as messages show it. The longest one decides.
    pub(crate) fn text(&self) -> &str {
        match self {
            RuleScope::All => "*",
            RuleScope::Below(text) | RuleScope::Repository(text) => text,
        }
    }
}

#[cfg(test)]
mod tests;
