//! Docker's `config.json`, which is also what Kubernetes' secrets of type `kubernetes.io/dockerconfigjson` hold.
//!
//! A helper for a registry comes first, then the common helper, then what the file itself says. A common helper that knows
//! nothing does not hide what the file says.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::helper::ask_helper;
use super::{CredentialError, Credentials, matching};
use crate::manifest::null_is_empty;
use crate::said::JsonError;

/// Credentials by registry, and helpers that know others.
#[derive(Clone, Default)]
pub struct DockerConfig {
    auths: Vec<(String, Credentials)>,
    helpers: Vec<(String, String)>,
    common_helper: Option<String>,
}

/// Bytes are no Docker configuration.
#[derive(Debug, thiserror::Error)]
pub enum DockerConfigError {
    /// They are not JSON of the right shape.
    #[error("it is not what Docker writes")]
    Json(#[source] JsonError),
    /// The `auth` of an entry is not a name and a password.
    #[error("the auth of {0:?} is not NAME:PASSWORD in base64")]
    Auth(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(default, deserialize_with = "null_is_empty")]
    auths: BTreeMap<String, Option<Entry>>,
    #[serde(default, deserialize_with = "null_is_empty")]
    cred_helpers: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "null_is_empty")]
    creds_store: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
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

/// With or without padding, as found in the wild.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl DockerConfig {
    /// Reads a configuration. An empty file says nothing.
    pub fn parse(bytes: &[u8]) -> Result<DockerConfig, DockerConfigError> {
        if bytes.trim_ascii().is_empty() {
            return Ok(DockerConfig::default());
        }
        let unreadable =
            |error: serde_json::Error| DockerConfigError::Json(JsonError::in_secret(&error));
        // A list would do for the fields of a struct, and mean that there are none.
        serde_json::from_slice::<BTreeMap<String, IgnoredAny>>(bytes).map_err(unreadable)?;
        let file: File = serde_json::from_slice(bytes).map_err(unreadable)?;
        let mut auths = Vec::new();
        for (key, entry) in file.auths {
            let credentials = entry.unwrap_or_default().credentials();
            let credentials = credentials.ok_or_else(|| DockerConfigError::Auth(key.clone()))?;
            auths.push((key, credentials));
        }
        Ok(DockerConfig {
            auths,
            helpers: file.cred_helpers.into_iter().collect(),
            common_helper: Some(file.creds_store).filter(|name| !name.is_empty()),
        })
    }

    /// The credentials for a repository of a registry.
    pub(super) async fn find(
        &self,
        registry: &str,
        repository: &str,
    ) -> Result<Credentials, CredentialError> {
        let keys = self.helpers.iter().map(|(key, _)| key.as_str());
        let own = matching::best(keys, registry, repository).and_then(|at| self.helpers.get(at));
        let helper = own.map(|(_, name)| name).or(self.common_helper.as_ref());
        if let Some(name) = helper.filter(|name| !name.is_empty()) {
            let answer = ask_helper(name, matching::usual_key(registry)).await;
            let answer = answer.map_err(|source| CredentialError::Helper {
                name: name.clone(),
                source,
            })?;
            if let Some(credentials) = answer {
                return Ok(credentials);
            }
        }
        Ok(self.stored(registry, repository))
    }

    /// What the configuration itself says.
    fn stored(&self, registry: &str, repository: &str) -> Credentials {
        // Docker leaves empty entries for what a helper knows; they must not hide others.
        let filled = self.auths.iter();
        let filled = filled.filter(|(_, credentials)| *credentials != Credentials::Anonymous);
        let filled: Vec<_> = filled.collect();
        let keys = filled.iter().map(|(key, _)| key.as_str());
        let best = matching::best(keys, registry, repository).and_then(|at| filled.get(at));
        best.map_or(Credentials::Anonymous, |(_, credentials)| {
            credentials.clone()
        })
    }
}

impl Entry {
    /// None if `auth` makes no sense.
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
        // What helpers say for tokens, some tools write into files too.
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
            .field("common_helper", &self.common_helper)
            .finish()
    }
}
