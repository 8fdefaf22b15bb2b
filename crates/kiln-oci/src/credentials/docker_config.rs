//! Docker's `config.json`, which is also the content of Kubernetes secrets of type `kubernetes.io/dockerconfigjson`.
//!
//! The helper of a registry (`credHelpers`) comes first, then the default helper (`credsStore`), then the `auths` of the file.
//! A helper without credentials for the registry does not hide the entry in `auths`.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::helper::run_helper;
use super::{CredentialError, Credentials, matching};
use crate::excerpt::InvalidJson;
use crate::manifest::null_is_empty;

/// Credentials and credential helpers by registry.
#[derive(Clone, Default)]
pub struct DockerConfig {
    auths: Vec<(String, Credentials)>,
    helpers: Vec<(String, String)>,
    default_helper: Option<String>,
}

/// Why a Docker configuration cannot be parsed.
#[derive(Debug, thiserror::Error)]
pub enum DockerConfigError {
    #[error("invalid configuration")]
    Json(#[source] InvalidJson),
    /// The `auth` of the entry with this key is not a username and a password.
    #[error("the auth of {0:?} is not NAME:PASSWORD in base64")]
    Auth(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigFile {
    #[serde(default, deserialize_with = "null_is_empty")]
    auths: BTreeMap<String, Option<AuthEntry>>,
    #[serde(default, deserialize_with = "null_is_empty")]
    cred_helpers: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "null_is_empty")]
    creds_store: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AuthEntry {
    #[serde(deserialize_with = "null_is_empty")]
    auth: String,
    #[serde(deserialize_with = "null_is_empty")]
    username: String,
    #[serde(deserialize_with = "null_is_empty")]
    password: String,
    #[serde(deserialize_with = "null_is_empty")]
    identitytoken: String,
    #[serde(deserialize_with = "null_is_empty")]
    registrytoken: String,
}

/// Accepts base64 with and without padding: tools write both.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl DockerConfig {
    /// Parses a configuration. An empty file is an empty configuration.
    pub fn parse(bytes: &[u8]) -> Result<DockerConfig, DockerConfigError> {
        if bytes.trim_ascii().is_empty() {
            return Ok(DockerConfig::default());
        }
        let unreadable = |error: serde_json::Error| {
            DockerConfigError::Json(InvalidJson::without_content(&error))
        };
        // serde accepts a list for a struct; a list is not a configuration.
        serde_json::from_slice::<BTreeMap<String, IgnoredAny>>(bytes).map_err(unreadable)?;
        let file: ConfigFile = serde_json::from_slice(bytes).map_err(unreadable)?;
        let mut auths = Vec::new();
        for (key, entry) in file.auths {
            let credentials = entry.unwrap_or_default().credentials();
            let credentials = credentials.ok_or_else(|| DockerConfigError::Auth(key.clone()))?;
            auths.push((key, credentials));
        }
        Ok(DockerConfig {
            auths,
            helpers: file.cred_helpers.into_iter().collect(),
            default_helper: Some(file.creds_store).filter(|name| !name.is_empty()),
        })
    }

    pub(super) async fn find(
        &self,
        registry: &str,
        repository: &str,
    ) -> Result<Credentials, CredentialError> {
        let keys = self.helpers.iter().map(|(key, _)| key.as_str());
        let own =
            matching::best_match(keys, registry, repository).and_then(|at| self.helpers.get(at));
        let helper = own.map(|(_, name)| name).or(self.default_helper.as_ref());
        if let Some(name) = helper.filter(|name| !name.is_empty()) {
            let found = run_helper(name, matching::docker_key(registry)).await;
            let found = found.map_err(|source| CredentialError::Helper {
                name: name.clone(),
                source,
            })?;
            if let Some(credentials) = found {
                return Ok(credentials);
            }
        }
        Ok(self.stored(registry, repository))
    }

    /// The credentials in `auths`.
    fn stored(&self, registry: &str, repository: &str) -> Credentials {
        // Docker writes empty entries for registries with a helper; they must not hide less specific entries.
        let filled = self.auths.iter();
        let filled = filled.filter(|(_, credentials)| *credentials != Credentials::Anonymous);
        let filled: Vec<_> = filled.collect();
        let keys = filled.iter().map(|(key, _)| key.as_str());
        let best = matching::best_match(keys, registry, repository).and_then(|at| filled.get(at));
        best.map_or(Credentials::Anonymous, |(_, credentials)| {
            credentials.clone()
        })
    }
}

impl AuthEntry {
    /// `None` if `auth` is invalid.
    fn credentials(self) -> Option<Credentials> {
        if !self.registrytoken.is_empty() {
            return Some(Credentials::Bearer(self.registrytoken));
        }
        if !self.identitytoken.is_empty() {
            return Some(Credentials::Identity(self.identitytoken));
        }
        let (username, password) = if self.auth.is_empty() {
            (self.username, self.password)
        } else {
            decode(&self.auth)?
        };
        if username.is_empty() && password.is_empty() {
            return Some(Credentials::Anonymous);
        }
        // Helpers use this username for identity tokens; some tools write it into files too.
        if username == "<token>" {
            return Some(Credentials::Identity(password));
        }
        Some(Credentials::Basic { username, password })
    }
}

fn decode(auth: &str) -> Option<(String, String)> {
    let bytes = LENIENT.decode(auth.trim()).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (username, password) = text.split_once(':')?;
    // Docker once padded passwords with NUL.
    let password = password.trim_matches('\0').trim_end_matches(['\r', '\n']);
    Some((username.to_owned(), password.to_owned()))
}

impl fmt::Debug for DockerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let registries: Vec<&str> = self.auths.iter().map(|(key, _)| key.as_str()).collect();
        f.debug_struct("DockerConfig")
            .field("auths", &registries)
            .field("helpers", &self.helpers)
            .field("default_helper", &self.default_helper)
            .finish()
    }
}
