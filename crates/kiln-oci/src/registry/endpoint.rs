//! Of whom an image is asked: mirrors first, then the registry itself.

use std::str::FromStr;

use http::Uri;

use super::RegistryOptions;
use crate::error::RegistryError;
use crate::http::retry::RetryPolicy;
use crate::reference::{DOCKER_HUB, Reference, is_host};

/// Somebody who has images of a registry, `host[:port][/prefix]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mirror {
    host: String,
    prefix: String,
}

/// A text names no mirror.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0:?} is no mirror: HOST[:PORT][/PREFIX]")]
pub struct MirrorError(String);

impl FromStr for Mirror {
    type Err = MirrorError;

    fn from_str(text: &str) -> Result<Mirror, MirrorError> {
        let wrong = || MirrorError(text.to_owned());
        let (host, prefix) = text.split_once('/').unwrap_or((text, ""));
        let prefix = prefix.trim_end_matches('/');
        // A prefix is part of repositories, so it has to be one.
        let repository = format!("{host}/{prefix}");
        let prefix_is_right = prefix.is_empty()
            || repository
                .parse::<Reference>()
                .is_ok_and(|reference| reference.repository().ends_with(prefix));
        match is_host(host) && prefix_is_right {
            true => Ok(Mirror {
                host: host.to_owned(),
                prefix: prefix.to_owned(),
            }),
            false => Err(wrong()),
        }
    }
}

/// Somebody who is asked for a repository.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Endpoint {
    /// As credentials and messages name it.
    pub(super) registry: String,
    /// Where it really is, host and port.
    pub(super) host: String,
    pub(super) repository: String,
    pub(super) retry: RetryPolicy,
}

impl Endpoint {
    /// The registry itself.
    pub(super) fn upstream(reference: &Reference, options: &RegistryOptions) -> Endpoint {
        let registry = reference.registry();
        let host = match registry {
            DOCKER_HUB => "registry-1.docker.io",
            other => other,
        };
        Endpoint {
            registry: registry.to_owned(),
            host: host.to_owned(),
            repository: reference.repository().to_owned(),
            retry: options.retry.clone(),
        }
    }

    /// Everybody who is asked when something is to be read, in this order.
    fn all(reference: &Reference, options: &RegistryOptions) -> Vec<Endpoint> {
        let mirrors = options.mirrors.get(reference.registry());
        let mirrors = mirrors.into_iter().flatten().map(|mirror| Endpoint {
            registry: mirror.host.clone(),
            host: mirror.host.clone(),
            repository: match mirror.prefix.as_str() {
                "" => reference.repository().to_owned(),
                prefix => format!("{prefix}/{}", reference.repository()),
            },
            // There is somebody else to ask.
            retry: RetryPolicy::never(),
        });
        let upstream = Endpoint::upstream(reference, options);
        mirrors.chain(std::iter::once(upstream)).collect()
    }

    /// The URL of something in the repository. None if that makes no URL, which well-formed references always do.
    pub(super) fn url(&self, secure: bool, tail: &str) -> Option<Uri> {
        let scheme = if secure { "https" } else { "http" };
        let Endpoint {
            host, repository, ..
        } = self;
        format!("{scheme}://{host}/v2/{repository}/{tail}")
            .parse()
            .ok()
    }
}

/// Asking one after the other until somebody answers.
pub(super) struct Round {
    left: std::vec::IntoIter<Endpoint>,
    last: Option<RegistryError>,
}

impl Round {
    pub(super) fn new(reference: &Reference, options: &RegistryOptions) -> Round {
        Round {
            left: Endpoint::all(reference, options).into_iter(),
            last: None,
        }
    }

    pub(super) fn next(&mut self) -> Option<Endpoint> {
        self.left.next()
    }

    pub(super) fn failed(&mut self, error: RegistryError) {
        if !self.left.as_slice().is_empty() {
            tracing::warn!(%error, "a mirror does not answer, asking the next");
        }
        self.last = Some(error);
    }

    /// The error of the last one, which is the registry itself.
    pub(super) fn into_error(self) -> RegistryError {
        self.last.unwrap_or(RegistryError::Protocol {
            url: String::new(),
            problem: "there is nobody to ask",
        })
    }
}
