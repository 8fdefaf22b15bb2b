//! A reference with everything filled in that container tools imply: Docker Hub as the registry, `library` as its
//! top directory, `latest` as the tag.
//!
//! kpt normalises an image only to put a tag on it and to name a function after it. Its grammar for this differs
//! from [`ImageRef::parse`] in what it takes for a registry: that needs a dot, a port, a capital or brackets.

use kiln_go::to_lower;

use super::grammar::{is_domain_label, split_port};
use super::reference::{ImageRef, by_form};

const HUB: &str = "docker.io";

/// A text is not a reference that can be normalised.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("invalid reference \"{text}\"{}", if *upper_case { ", repo must be lowercase" } else { "" })]
pub struct InvalidReference {
    pub text: String,
    /// Whether it would be a reference in lower case.
    pub upper_case: bool,
}

/// Takes a reference apart and fills in what it implies.
pub fn normalize(text: &str) -> Result<ImageRef, InvalidReference> {
    let invalid = |upper_case| InvalidReference {
        text: text.to_owned(),
        upper_case,
    };
    let form = |text: &str| by_form(text, is_registry);
    let mut reference = form(text).ok_or_else(|| invalid(form(&to_lower(text)).is_some()))?;
    if reference.registry.is_empty() && reference.repository == "localhost" {
        return Err(invalid(false));
    }
    if matches!(
        reference.registry.as_str(),
        "" | "registry-1.docker.io" | "index.docker.io"
    ) {
        reference.registry = HUB.to_owned();
    }
    if reference.registry == HUB && !reference.repository.contains('/') {
        reference.repository = format!("library/{}", reference.repository);
    }
    if reference.tag.is_none() && reference.digest.is_none() {
        reference.tag = Some("latest".to_owned());
    }
    Ok(reference)
}

/// The last component of an image's repository; the text itself if it is not a reference.
pub fn base_name(image: &str) -> String {
    match normalize(image) {
        Ok(reference) => reference.base_name().to_owned(),
        Err(_) => image.to_owned(),
    }
}

fn is_registry(text: &str) -> bool {
    let Some((host, port)) = split_port(text) else {
        return false;
    };
    if let Some(address) = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
    {
        return is_ipv6(address);
    }
    is_dotted(host)
        || is_label_with_capital(host)
        || host == "localhost"
        || (port.is_some() && is_domain_label(host))
}

/// Labels joined by dots, with at least one dot; the last may be the end.
fn is_dotted(host: &str) -> bool {
    let labels = host.strip_suffix('.').unwrap_or(host);
    host.contains('.') && labels.split('.').all(is_domain_label)
}

/// A single label that cannot be a repository for a capital in it that has no dash on one of its sides.
fn is_label_with_capital(label: &str) -> bool {
    let has_capital =
        |part: Option<&str>| part.is_some_and(|part| part.bytes().any(|b| b.is_ascii_uppercase()));
    is_domain_label(label)
        && label.len() > 1
        && (has_capital(label.split('-').next()) || has_capital(label.split('-').next_back()))
}

fn is_ipv6(address: &str) -> bool {
    let is_part = |part: &str| {
        let groups = part.split(':');
        groups.clone().count() <= 8
            && groups.into_iter().all(|group| {
                (1..=4).contains(&group.len()) && group.bytes().all(|b| b.is_ascii_hexdigit())
            })
    };
    match address.split_once("::") {
        None => is_part(address),
        Some(("", "")) => false,
        Some((left, right)) => {
            (left.is_empty() || is_part(left)) && (right.is_empty() || is_part(right))
        }
    }
}
