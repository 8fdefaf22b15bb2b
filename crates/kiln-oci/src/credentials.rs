//! Who we are to a registry: Docker config files, credential helpers, and which of them is asked.
//!
//! Files are read when they are needed, not once: they are secrets that others replace. Nothing here looks at the environment;
//! where the files are is told by the program. Secrets are never part of a message or of `Debug`.

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

/// What a registry is shown.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// Nothing.
    Anonymous,
    /// A name and a password.
    Basic {
        /// The name.
        username: String,
        /// The password.
        password: String,
    },
    /// A token that is exchanged for tokens that registries take (`identitytoken`).
    Identity(String),
    /// A token that the registry takes as it is (`registrytoken`).
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

/// Credentials cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is not what it should be.
    #[error("{} is no Docker configuration", path.display())]
    Parse {
        /// Which.
        path: PathBuf,
        /// Why.
        source: DockerConfigError,
    },
    /// A credential helper failed.
    #[error("cannot get credentials from the helper docker-credential-{name}")]
    Helper {
        /// Which.
        name: String,
        /// Why.
        source: HelperError,
    },
}

/// Where credentials come from.
#[derive(Clone, Debug)]
pub struct Keychain {
    source: Arc<Source>,
}

#[derive(Debug)]
enum Source {
    Anonymous,
    Fixed(DockerConfig),
    File(PathBuf),
    FirstOf(Vec<PathBuf>),
    Routed {
        routes: Vec<(String, Keychain)>,
        rest: Keychain,
    },
}

/// No configuration is larger.
const MAX_FILE: u64 = 4 << 20;

impl Keychain {
    /// No credentials for anybody.
    pub fn anonymous() -> Keychain {
        Source::Anonymous.into()
    }

    /// Those of a configuration that is at hand.
    pub fn fixed(config: DockerConfig) -> Keychain {
        Source::Fixed(config).into()
    }

    /// Those of a file, which has to be there whenever it is needed.
    pub fn file(path: PathBuf) -> Keychain {
        Source::File(path).into()
    }

    /// Those of the first of these files that is there; none if there is none.
    pub fn first_of(paths: Vec<PathBuf>) -> Keychain {
        Source::FirstOf(paths).into()
    }

    /// Those that Docker has, given what `DOCKER_CONFIG` and `HOME` are: of the one directory if it is named, else of `.docker`
    /// in the other; none if there is no file. What is empty is not named.
    pub fn docker(docker_config: Option<OsString>, home: Option<OsString>) -> Keychain {
        let [own, home] = [docker_config, home].map(|value| {
            let value = value.filter(|value| !value.is_empty());
            value.map(PathBuf::from)
        });
        // Who names another directory does not want what is in the usual one.
        let directory = own.or_else(|| Some(home?.join(".docker")));
        let file = directory.map(|directory| directory.join("config.json"));
        Keychain::first_of(file.into_iter().collect())
    }

    /// The keychain of the longest of these prefixes (`host/path`) that an image's name begins with, else another one.
    pub fn routed(routes: Vec<(String, Keychain)>, rest: Keychain) -> Keychain {
        Source::Routed { routes, rest }.into()
    }

    /// The credentials for a repository of a registry.
    pub async fn resolve(
        &self,
        registry: &str,
        repository: &str,
    ) -> Result<Credentials, CredentialError> {
        let mut keychain = self;
        loop {
            let config = match &*keychain.source {
                Source::Anonymous => return Ok(Credentials::Anonymous),
                Source::Fixed(config) => return config.find(registry, repository).await,
                Source::File(path) => Some(read(path).await?),
                Source::FirstOf(paths) => first_of(paths).await?,
                Source::Routed { routes, rest } => {
                    let names = routes.iter().map(|(prefix, _)| prefix.as_str());
                    let best = matching::best(names, registry, repository);
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

impl From<Source> for Keychain {
    fn from(source: Source) -> Keychain {
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
    let bytes = crate::file::read(path.to_owned(), MAX_FILE).await;
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
