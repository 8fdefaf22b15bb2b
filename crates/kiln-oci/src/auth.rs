//! How a registry lets us in: what it wants to see, and where tokens come from.
//!
//! Tokens are kept by registry and scope until they expire or are refused.

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
pub(crate) use token::token_call;
pub(crate) use token::{Token, parse_token};

use crate::credentials::Credentials;

/// More than anybody talks to at a time.
const MAX_KEPT: usize = 512;

/// What is shown to registries.
#[derive(Default)]
pub(crate) struct Tokens {
    kept: Mutex<HashMap<Scope, Kept>>,
}

/// What a token is for.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Scope {
    pub(crate) registry: String,
    pub(crate) repository: String,
    pub(crate) access: Access,
}

/// What we want to do.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Access {
    Pull,
    Push,
}

struct Kept {
    shown: Shown,
    until: Option<Instant>,
}

/// What a registry is shown.
#[derive(Clone)]
pub(crate) struct Shown {
    pub(crate) authorization: HeaderValue,
    /// Whether it says who we are. A token that everybody gets does not.
    pub(crate) is_secret: bool,
}

impl Scope {
    /// As token servers want it.
    pub(crate) fn text(&self) -> String {
        let actions = match self.access {
            Access::Pull => "pull",
            Access::Push => "pull,push",
        };
        format!("repository:{}:{actions}", self.repository)
    }
}

impl Tokens {
    /// What to show, if that is known.
    pub(crate) fn get(&self, scope: &Scope) -> Option<Shown> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.get(scope)?;
        let fresh = found.until.is_none_or(|until| until > Instant::now());
        fresh.then(|| found.shown.clone())
    }

    /// Keeps what the registry is to be shown, for as long as it is good for.
    pub(crate) fn keep(&self, scope: Scope, shown: Shown, life: Option<Duration>) {
        let now = Instant::now();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_KEPT {
            kept.retain(|_, kept| kept.until.is_some_and(|until| until > now));
        }
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        // A little less, for the time it takes to travel.
        let until = life.and_then(|life| now.checked_add(life.mul_f64(0.9)));
        kept.insert(scope, Kept { shown, until });
    }

    /// Forgets what was refused.
    pub(crate) fn forget(&self, scope: &Scope) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.remove(scope);
    }
}

/// The header for a token. None if it has characters that no header may have.
pub(crate) fn bearer(token: &str) -> Option<HeaderValue> {
    secret(format!("Bearer {token}"))
}

/// The header for a name and a password.
pub(crate) fn basic(username: &str, password: &str) -> Option<HeaderValue> {
    let pair = STANDARD.encode(format!("{username}:{password}"));
    secret(format!("Basic {pair}"))
}

fn secret(text: String) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// What is shown to somebody who wants a name and a password.
pub(crate) fn basic_of(credentials: &Credentials) -> Option<HeaderValue> {
    match credentials {
        Credentials::Basic { username, password } => basic(username, password),
        _ => None,
    }
}
