//! Registries: what is asked of them, of whom it is asked, and what is made of their answers.
//!
//! Everything that is read is checked against the digest it was asked for by. Credentials of a registry go to that registry
//! and to the token server it names, never on a redirect, and never in clear unless somebody allowed exactly that.
//! Whoever drops the future of a call ends the call.

mod ask;
mod endpoint;
mod error_body;
mod push;
mod read;
mod tags;

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

pub use endpoint::{Mirror, MirrorError};
pub use push::PushError;
pub use read::Image;

use crate::auth::Tokens;
use crate::credentials::Keychain;
use crate::http::Http;
use crate::http::connector::Connector;
use crate::http::dial::{Dialer, Tcp};
use crate::http::retry::RetryPolicy;
use crate::http::trust::Trust;
use crate::proxy::Proxies;

/// How registries are talked to.
#[derive(Clone, Debug)]
pub struct RegistryOptions {
    /// Who we are.
    pub keychain: Keychain,
    /// The directory of an authority of our own (`ca.crt` or `ca.pem`), which is trusted before those of the system.
    pub authority: Option<PathBuf>,
    /// Registries, as `host[:port]`, that may be talked to in clear. Without an entry only this machine and
    /// private networks may, anonymously and if they do not speak TLS.
    pub plain_http: BTreeMap<String, PlainHttp>,
    /// Where to look before a registry is asked itself, by registry as it is named in references.
    pub mirrors: BTreeMap<String, Vec<Mirror>>,
    /// By way of whom registries are asked.
    pub proxies: Proxies,
    /// How large things may be.
    pub limits: Limits,
    /// How often and how long to try.
    pub retry: RetryPolicy,
}

/// What may travel in clear.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PlainHttp {
    /// Nothing.
    Never,
    /// Everything but credentials.
    Anonymous,
    /// Everything.
    WithCredentials,
}

/// How large things may be, in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// A manifest.
    pub manifest: u64,
    /// A config, or whatever else is read into memory.
    pub blob: u64,
    /// A layer that is written somewhere.
    pub layer: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            manifest: 4 << 20,
            blob: 8 << 20,
            layer: 16 << 30,
        }
    }
}

impl Default for RegistryOptions {
    fn default() -> RegistryOptions {
        RegistryOptions {
            keychain: Keychain::anonymous(),
            authority: None,
            plain_http: BTreeMap::new(),
            mirrors: BTreeMap::new(),
            proxies: Proxies::default(),
            limits: Limits::default(),
            retry: RetryPolicy::default(),
        }
    }
}

/// A client for all registries. Clones share connections and tokens.
#[derive(Clone)]
pub struct Registry {
    shared: Arc<Shared>,
}

struct Shared {
    options: RegistryOptions,
    http: Http,
    tokens: Tokens,
    /// Who turned out not to speak TLS, of those who need not.
    plain: Mutex<HashSet<String>>,
}

impl Registry {
    /// A client that has not talked to anybody yet.
    pub fn new(options: RegistryOptions) -> Registry {
        let trust = Trust::new(options.authority.clone());
        Registry::with_parts(options, Arc::new(Tcp), trust)
    }

    pub(crate) fn with_parts(options: RegistryOptions, dialer: Dialer, trust: Trust) -> Registry {
        Registry {
            shared: Arc::new(Shared {
                http: Http::new(Connector::new(dialer, trust, options.proxies.clone())),
                options,
                tokens: Tokens::default(),
                plain: Mutex::default(),
            }),
        }
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry")
            .field("options", &self.shared.options)
            .finish_non_exhaustive()
    }
}
