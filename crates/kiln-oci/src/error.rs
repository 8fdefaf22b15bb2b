//! Errors of requests to registries.

use std::io;
use std::time::Duration;

use http::StatusCode;

use crate::credentials::CredentialError;
use crate::digest::Digest;
use crate::excerpt::InvalidJson;
use crate::manifest::ManifestError;
use crate::platform::Platform;

/// Why a request to a registry failed.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The keychain failed.
    #[error("cannot get credentials for {registry}")]
    Credentials {
        registry: String,
        source: CredentialError,
    },
    /// 401 or 403, from the registry or from its token server.
    #[error("{registry} denied permission to {action}{}", detail(message))]
    Denied {
        registry: String,
        /// For example "read r.example/a:v1".
        action: String,
        /// The registry's message; may be empty.
        message: String,
    },
    /// 404.
    #[error("{subject} is not in the registry{}", detail(message))]
    NotFound {
        subject: String,
        /// The registry's message; may be empty.
        message: String,
    },
    /// Any other status that is not a success.
    #[error("{url} returned {status}{}", detail(message))]
    Status {
        url: String,
        status: StatusCode,
        /// The registry's message; may be empty.
        message: String,
        retry_after: Option<Duration>,
    },
    /// The registry cannot be reached, or the connection was lost.
    #[error("cannot reach {url}")]
    Unreachable { url: String, source: io::Error },
    /// The TLS handshake failed, for example because the certificate is not trusted.
    #[error("cannot establish a TLS connection to {host}")]
    Tls { host: String, source: io::Error },
    /// [`crate::PlainHttp`] does not allow the request.
    #[error("not sending {content} to {host} over plain HTTP: it is not allowed for this host")]
    PlainHttpRefused {
        /// "credentials" or "requests".
        content: &'static str,
        host: String,
    },
    /// A redirect that is not followed.
    #[error("{url} redirects {problem}")]
    Redirect { url: String, problem: &'static str },
    #[error("{subject} is larger than the limit of {limit} bytes")]
    TooLarge { subject: String, limit: u64 },
    #[error("{subject} has more than {limit} signatures")]
    TooManySignatures { subject: String, limit: usize },
    #[error("{subject} should have digest {expected} but has {actual}")]
    Digest {
        subject: String,
        expected: Digest,
        actual: Digest,
    },
    #[error("{subject} should have {expected} bytes but has {actual}")]
    Size {
        subject: String,
        expected: u64,
        actual: u64,
    },
    #[error("cannot read the manifest of {image}")]
    Manifest {
        image: String,
        source: ManifestError,
    },
    #[error("cannot read the config of {image}")]
    Config { image: String, source: InvalidJson },
    /// An index has no manifest for the platform.
    #[error("{image} has no image for {platform}, only for {available}")]
    NoPlatform {
        image: String,
        platform: Platform,
        /// A list of platforms.
        available: String,
    },
    /// The registry violates the distribution protocol.
    #[error("{url} sent an invalid response: {problem}")]
    Protocol { url: String, problem: &'static str },
}

/// The kind of a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorClass {
    /// Credentials, certificates or the rules for plain HTTP do not fit the registry.
    Config,
    NotFound,
    /// The same request may succeed later.
    Unavailable,
    /// The registry returned something invalid.
    Internal,
}

impl RegistryError {
    pub fn class(&self) -> ErrorClass {
        match self {
            RegistryError::Credentials { .. }
            | RegistryError::Denied { .. }
            | RegistryError::Tls { .. }
            | RegistryError::PlainHttpRefused { .. } => ErrorClass::Config,
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

    /// Whether the error leaves open which image a tag names, so that an earlier answer may still hold. A missing tag or a denied
    /// request does not; an untrusted server in place of the registry does.
    pub fn leaves_tag_unknown(&self) -> bool {
        match self.class() {
            ErrorClass::Unavailable | ErrorClass::Internal => true,
            ErrorClass::Config => matches!(self, RegistryError::Tls { .. }),
            ErrorClass::NotFound => false,
        }
    }

    /// Whether nothing listens at the address of the registry.
    pub(crate) fn is_refused(&self) -> bool {
        self.unreachable_kind() == Some(io::ErrorKind::ConnectionRefused)
    }

    /// Whether the name of the host has no address.
    pub(crate) fn is_unknown_host(&self) -> bool {
        self.unreachable_kind() == Some(io::ErrorKind::NotFound)
    }

    fn unreachable_kind(&self) -> Option<io::ErrorKind> {
        match self {
            RegistryError::Unreachable { source, .. } => Some(source.kind()),
            _ => None,
        }
    }

    /// `Some` if a retry may succeed, with the delay that the registry asks for.
    pub(crate) fn retry_delay(&self) -> Option<Option<Duration>> {
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

fn is_transient(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 429 | 500 | 502 | 503 | 504)
}

fn detail(message: &str) -> String {
    match message {
        "" => String::new(),
        message => format!(": {message}"),
    }
}
