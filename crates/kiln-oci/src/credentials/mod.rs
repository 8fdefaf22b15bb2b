//! Credentials for registries: Docker config files, credential helpers, and the choice between them.
//!
//! Files are read when they are needed, not once: they are often mounted secrets that are replaced while the program runs.
//! Nothing here reads the environment; programs pass in the paths. Secrets never appear in a message or in `Debug`.

mod docker_config;
mod helper;
mod matching;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use docker_config::{DockerConfig, DockerConfigError};
pub use helper::HelperError;

/// Credentials for a registry.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Credentials {
    Anonymous,
    Basic {
        username: String,
        password: String,
    },
    /// A token that is exchanged for registry tokens (`identitytoken`).
    Identity(String),
    /// A token that is sent to the registry as it is (`registrytoken`).
    Bearer(String),
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Credentials::Anonymous => "Anonymous",
            Credentials::Basic { .. } => "Basic(…)",
            Credentials::Identity(_) => "Identity(…)",
            Credentials::Bearer(_) => "Bearer(…)",
        })
    }
}

/// Why credentials cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is not a Docker configuration", path.display())]
    Parse {
        path: PathBuf,
        source: DockerConfigError,
    },
    #[error("cannot get credentials from the helper docker-credential-{name}")]
    Helper { name: String, source: HelperError },
}

/// Where credentials come from.
#[derive(Clone, Debug)]
pub struct Keychain {
    source: Arc<KeychainSource>,
}

#[derive(Debug)]
enum KeychainSource {
    Anonymous,
    Fixed(DockerConfig),
    File(PathBuf),
    FirstOf(Vec<PathBuf>),
    Routed {
        routes: Vec<(String, Keychain)>,
        rest: Keychain,
    },
}

/// The largest configuration file that is read.
const MAX_FILE: u64 = 4 << 20;

impl Keychain {
    /// No credentials for any registry.
    pub fn anonymous() -> Keychain {
        KeychainSource::Anonymous.into()
    }

    /// The credentials of a parsed configuration.
    pub fn fixed(config: DockerConfig) -> Keychain {
        KeychainSource::Fixed(config).into()
    }

    /// The credentials of a file, which must exist whenever it is read.
    pub fn file(path: PathBuf) -> Keychain {
        KeychainSource::File(path).into()
    }

    /// The credentials of the first of these files that exists; anonymous if none does.
    pub(crate) fn first_of(paths: Vec<PathBuf>) -> Keychain {
        KeychainSource::FirstOf(paths).into()
    }

    /// Docker's own credentials, given the values of `DOCKER_CONFIG` and `HOME`: from the first directory if it is set and not
    /// empty, else from `.docker` in the second; anonymous if there is no file.
    pub fn docker(docker_config: Option<OsString>, home: Option<OsString>) -> Keychain {
        let [config_directory, home] = [docker_config, home].map(|value| {
            let value = value.filter(|value| !value.is_empty());
            value.map(PathBuf::from)
        });
        // DOCKER_CONFIG replaces the default directory even if it contains no file.
        let directory = config_directory.or_else(|| Some(home?.join(".docker")));
        let file = directory.map(|directory| directory.join("config.json"));
        Keychain::first_of(file.into_iter().collect())
    }

    /// The keychain of the longest prefix (`host/path`) that an image's name starts with, or `rest`.
    pub fn routed(routes: Vec<(String, Keychain)>, rest: Keychain) -> Keychain {
        KeychainSource::Routed { routes, rest }.into()
    }

    pub(crate) async fn resolve(
        &self,
        registry: &str,
        repository: &str,
    ) -> Result<Credentials, CredentialError> {
        let mut keychain = self;
        loop {
            let config = match &*keychain.source {
                KeychainSource::Anonymous => return Ok(Credentials::Anonymous),
                KeychainSource::Fixed(config) => return config.find(registry, repository).await,
                KeychainSource::File(path) => Some(read(path).await?),
                KeychainSource::FirstOf(paths) => first_of(paths).await?,
                KeychainSource::Routed { routes, rest } => {
                    let names = routes.iter().map(|(prefix, _)| prefix.as_str());
                    let best = matching::best_match(names, registry, repository);
                    keychain = best
                        .and_then(|at| routes.get(at))
                        .map_or(rest, |(_, keychain)| keychain);
                    continue;
                }
            };
            return match config {
                Some(config) => config.find(registry, repository).await,
                None => Ok(Credentials::Anonymous),
            };
        }
    }
}

impl From<KeychainSource> for Keychain {
    fn from(source: KeychainSource) -> Keychain {
        Keychain {
            source: Arc::new(source),
        }
    }
}

async fn first_of(paths: &[PathBuf]) -> Result<Option<DockerConfig>, CredentialError> {
    for path in paths {
        match read(path).await {
            Err(CredentialError::Read { source, .. })
                if matches!(
                    source.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) => {}
            read => return read.map(Some),
        }
    }
    Ok(None)
}

async fn read(path: &Path) -> Result<DockerConfig, CredentialError> {
    let bytes = crate::file::read_limited(path.to_owned(), MAX_FILE).await;
    let bytes = bytes.map_err(|source| CredentialError::Read {
        path: path.to_owned(),
        source,
    })?;
    DockerConfig::parse(&bytes).map_err(|source| CredentialError::Parse {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests;
