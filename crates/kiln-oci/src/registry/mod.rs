//! A client for registries: pull, push, list tags, find signatures.
//!
//! Everything that is read is checked against the requested digest. Credentials of a registry are sent to that registry and
//! to the token server it names, never along a redirect, and never over plain HTTP unless the options allow exactly that.
//! Dropping the future of a call ends the call.

mod authenticate;
mod download;
mod error_body;
mod pull;
mod push;
mod referrers;
mod repository_endpoint;
mod request;
mod signatures;
mod tags;

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

pub use download::DownloadError;
pub use pull::ResolvedImage;
pub use push::PushError;
pub use signatures::{FoundSignatures, SignatureBlob, SignatureLimits};

use crate::auth::AuthorizationCache;
use crate::credentials::Keychain;
use crate::http::HttpClient;
use crate::http::connector::Connector;
use crate::http::dial::{Dialer, TcpDialer};
use crate::http::retry::RetryPolicy;
use crate::http::tls_roots::TlsRoots;
use crate::proxy::Proxies;

/// How a [`RegistryClient`] connects and authenticates.
#[derive(Clone, Debug)]
pub struct RegistryOptions {
    /// Where credentials come from.
    pub keychain: Keychain,
    /// A directory with a CA certificate (`ca.crt` or `ca.pem`), which is tried before the CA certificates of the system.
    pub ca_directory: Option<PathBuf>,
    /// Registries, as `host[:port]`, that may be used over plain HTTP. Registries without an entry may be used over plain
    /// HTTP only if they are on this machine or in a private network and do not support TLS, and only without credentials.
    pub plain_http: BTreeMap<String, PlainHttp>,
    pub proxies: Proxies,
    pub limits: RegistryLimits,
    pub retry: RetryPolicy,
}

/// What may be sent over plain HTTP.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PlainHttp {
    /// Nothing.
    Never,
    /// Requests without credentials.
    Anonymous,
    /// Requests with and without credentials.
    WithCredentials,
}

/// The largest responses that are accepted, in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegistryLimits {
    pub manifest: u64,
    /// The config of an image.
    pub config: u64,
    /// Another blob that is read into memory.
    pub blob: u64,
}

impl Default for RegistryLimits {
    fn default() -> RegistryLimits {
        RegistryLimits {
            manifest: 4 << 20,
            config: 8 << 20,
            blob: 8 << 20,
        }
    }
}

impl Default for RegistryOptions {
    fn default() -> RegistryOptions {
        RegistryOptions {
            keychain: Keychain::anonymous(),
            ca_directory: None,
            plain_http: BTreeMap::new(),
            proxies: Proxies::default(),
            limits: RegistryLimits::default(),
            retry: RetryPolicy::default(),
        }
    }
}

/// A client for all registries. Clones share connections and tokens.
#[derive(Clone)]
pub struct RegistryClient {
    state: Arc<ClientState>,
}

struct ClientState {
    options: RegistryOptions,
    http: HttpClient,
    authorizations: AuthorizationCache,
    /// Hosts that did not support TLS, of those that may be used over plain HTTP.
    plain_http_hosts: Mutex<HashSet<String>>,
}

impl RegistryClient {
    /// Creates a client. Nothing is connected yet.
    pub fn new(options: RegistryOptions) -> RegistryClient {
        let tls_roots = TlsRoots::new(options.ca_directory.clone());
        RegistryClient::with_parts(options, Arc::new(TcpDialer), tls_roots)
    }

    pub(crate) fn with_parts(
        options: RegistryOptions,
        dialer: Dialer,
        tls_roots: TlsRoots,
    ) -> RegistryClient {
        let connector = Connector::new(dialer, tls_roots, options.proxies.clone());
        RegistryClient {
            state: Arc::new(ClientState {
                http: HttpClient::new(connector),
                options,
                authorizations: AuthorizationCache::default(),
                plain_http_hosts: Mutex::default(),
            }),
        }
    }
}

impl std::fmt::Debug for RegistryClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RegistryClient")
            .field("options", &self.state.options)
            .finish_non_exhaustive()
    }
}
