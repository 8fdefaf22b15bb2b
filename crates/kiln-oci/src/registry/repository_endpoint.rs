//! Where a repository is served: the host of its registry, and its path there.

use http::Uri;

use crate::reference::{DOCKER_HUB, ImageReference};

/// A repository of a registry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct RepositoryEndpoint {
    /// The registry's name in credentials and messages.
    pub(super) registry: String,
    /// Host and port that requests are sent to. Docker Hub's differ from its name.
    pub(super) host: String,
    pub(super) repository: String,
}

impl RepositoryEndpoint {
    pub(super) fn new(reference: &ImageReference) -> RepositoryEndpoint {
        let registry = reference.registry();
        let host = match registry {
            DOCKER_HUB => "registry-1.docker.io",
            other => other,
        };
        RepositoryEndpoint {
            registry: registry.to_owned(),
            host: host.to_owned(),
            repository: reference.repository().to_owned(),
        }
    }

    /// The URL of a path below the repository. `None` if it is not a valid URL; well-formed references always give one.
    pub(super) fn url(&self, secure: bool, path: &str) -> Option<Uri> {
        let scheme = if secure { "https" } else { "http" };
        let RepositoryEndpoint {
            host, repository, ..
        } = self;
        format!("{scheme}://{host}/v2/{repository}/{path}")
            .parse()
            .ok()
    }
}
