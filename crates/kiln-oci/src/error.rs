//! What goes wrong between us and a registry.

use std::io;
use std::time::Duration;

use http::StatusCode;

use crate::credentials::CredentialError;
use crate::digest::Digest;
use crate::manifest::ManifestError;
use crate::platform::Platform;
use crate::said::JsonError;

/// Something a registry was asked for was not done.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// Credentials cannot be had.
    #[error("cannot find credentials for {registry}")]
    Credentials {
        /// For whom.
        registry: String,
        /// Why.
        source: CredentialError,
    },
    /// The registry does not let us.
    #[error("{registry} does not let us {action}{}", detail(message))]
    Denied {
        /// Who.
        registry: String,
        /// Do what.
        action: String,
        /// What it said.
        message: String,
    },
    /// It is not there.
    #[error("{what} is not in the registry{}", detail(message))]
    NotFound {
        /// What.
        what: String,
        /// What the registry said.
        message: String,
    },
    /// The registry answered with something else.
    #[error("{url} answered {status}{}", detail(message))]
    Status {
        /// What was asked.
        url: String,
        /// What it answered.
        status: StatusCode,
        /// What it said.
        message: String,
        /// How long it wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// The registry cannot be reached, or the connection was lost.
    #[error("cannot reach {url}")]
    Unreachable {
        /// What was asked.
        url: String,
        /// Why.
        source: io::Error,
    },
    /// The registry cannot be trusted.
    #[error("cannot make a secure connection to {host}")]
    Tls {
        /// To whom.
        host: String,
        /// Why.
        source: io::Error,
    },
    /// Something would have to travel in clear that may not.
    #[error("{what} to {host} in clear: plain http is not allowed for it")]
    InClear {
        /// What, as "credentials are not sent".
        what: &'static str,
        /// To whom.
        host: String,
    },
    /// A redirect leads nowhere, or on and on.
    #[error("{url} redirects {problem}")]
    Redirect {
        /// What was asked.
        url: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// It is larger than it may be.
    #[error("{what} has more than {limit} bytes, which is the limit")]
    TooLarge {
        /// What.
        what: String,
        /// How large it may be.
        limit: u64,
    },
    /// It is not what it should be.
    #[error("{what} should have digest {expected} but has {actual}")]
    Digest {
        /// What.
        what: String,
        /// What it was asked for by.
        expected: Digest,
        /// What came.
        actual: Digest,
    },
    /// It is not as large as it should be.
    #[error("{what} should have {expected} bytes but has {actual}")]
    Size {
        /// What.
        what: String,
        /// How many it should have.
        expected: u64,
        /// How many came.
        actual: u64,
    },
    /// A manifest cannot be read.
    #[error("cannot read the manifest of {what}")]
    Manifest {
        /// Of what.
        what: String,
        /// Why.
        source: ManifestError,
    },
    /// A config cannot be read.
    #[error("cannot read the config of {what}")]
    Config {
        /// Of what.
        what: String,
        /// Why.
        source: JsonError,
    },
    /// There is no image for a platform.
    #[error("{what} is not there for {platform}, only for {offered}")]
    NoPlatform {
        /// What.
        what: String,
        /// What was wanted.
        platform: Platform,
        /// What there is.
        offered: String,
    },
    /// The registry does not keep to the protocol.
    #[error("{url} does not answer as registries do: {problem}")]
    Protocol {
        /// What was asked.
        url: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// What was read cannot be handed on.
    #[error("cannot write what was read of {what}")]
    Write {
        /// Of what.
        what: String,
        /// Why.
        source: io::Error,
    },
}

/// What kind of failure it is, for those who decide what becomes of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorClass {
    /// Something we were told does not fit: credentials, certificates, what may travel in clear.
    Config,
    /// It is not there.
    NotFound,
    /// It may work later.
    Unavailable,
    /// The other side does something it should not.
    Internal,
}

impl RegistryError {
    /// What kind of failure it is.
    pub fn class(&self) -> ErrorClass {
        match self {
            RegistryError::Credentials { .. }
            | RegistryError::Denied { .. }
            | RegistryError::Tls { .. }
            | RegistryError::InClear { .. } => ErrorClass::Config,
            RegistryError::NotFound { .. } | RegistryError::NoPlatform { .. } => {
                ErrorClass::NotFound
            }
            RegistryError::Unreachable { .. } => ErrorClass::Unavailable,
            RegistryError::Status { status, .. } if is_transient(*status) => {
                ErrorClass::Unavailable
            }
            _ => ErrorClass::Internal,
        }
    }

    /// Whether trying again may help, and how long the registry wants us to wait.
    pub(crate) fn transient(&self) -> Option<Option<Duration>> {
        match self {
            RegistryError::Unreachable { .. } => Some(None),
            RegistryError::Status {
                status,
                retry_after,
                ..
            } if is_transient(*status) => Some(*retry_after),
            _ => None,
        }
    }
}

/// What may be otherwise a moment later.
fn is_transient(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 429 | 500 | 502 | 503 | 504)
}

fn detail(message: &str) -> String {
    match message {
        "" => String::new(),
        message => format!(": {message}"),
    }
}
