//! Authentication with registries: challenges, token requests, and a cache of `Authorization` headers.

mod challenge;
mod token;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use tokio::time::Instant;

pub(crate) use challenge::Challenge;
pub(crate) use token::{BearerToken, parse_token, token_request};

use crate::credentials::Credentials;

const MAX_ENTRIES: usize = 512;

/// `Authorization` headers by registry and scope, until they expire or are rejected.
#[derive(Default)]
pub(crate) struct AuthorizationCache {
    entries: Mutex<HashMap<TokenScope, CachedAuthorization>>,
}

/// What a token is valid for.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct TokenScope {
    pub(crate) registry: String,
    pub(crate) repository: String,
    pub(crate) action: RepositoryAction,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum RepositoryAction {
    Pull,
    Push,
}

struct CachedAuthorization {
    authorization: Authorization,
    expires: Option<Instant>,
}

/// An `Authorization` header.
#[derive(Clone)]
pub(crate) struct Authorization {
    pub(crate) header: HeaderValue,
    /// False for a token that was requested without credentials.
    pub(crate) is_secret: bool,
}

impl TokenScope {
    /// The scope in the syntax of token servers.
    pub(crate) fn text(&self) -> String {
        let actions = match self.action {
            RepositoryAction::Pull => "pull",
            RepositoryAction::Push => "pull,push",
        };
        format!("repository:{}:{actions}", self.repository)
    }
}

impl AuthorizationCache {
    pub(crate) fn get(&self, scope: &TokenScope) -> Option<Authorization> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = entries.get(scope)?;
        let is_fresh = cached
            .expires
            .is_none_or(|expires| expires > Instant::now());
        is_fresh.then(|| cached.authorization.clone())
    }

    pub(crate) fn insert(
        &self,
        scope: TokenScope,
        authorization: Authorization,
        lifetime: Option<Duration>,
    ) {
        let now = Instant::now();
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= MAX_ENTRIES {
            entries.retain(|_, cached| cached.expires.is_some_and(|expires| expires > now));
        }
        if entries.len() >= MAX_ENTRIES {
            entries.clear();
        }
        // The token must not expire while a request is on its way.
        let expires = lifetime.and_then(|lifetime| now.checked_add(lifetime.mul_f64(0.9)));
        let cached = CachedAuthorization {
            authorization,
            expires,
        };
        entries.insert(scope, cached);
    }

    pub(crate) fn remove(&self, scope: &TokenScope) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.remove(scope);
    }
}

/// `Bearer TOKEN`. `None` if the token has characters that are not allowed in a header.
pub(crate) fn bearer_header(token: &str) -> Option<HeaderValue> {
    sensitive(&format!("Bearer {token}"))
}

/// `Basic …`. `None` if the credentials are not a username and a password.
pub(crate) fn basic_header(credentials: &Credentials) -> Option<HeaderValue> {
    let Credentials::Basic { username, password } = credentials else {
        return None;
    };
    let pair = STANDARD.encode(format!("{username}:{password}"));
    sensitive(&format!("Basic {pair}"))
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
