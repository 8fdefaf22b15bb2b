//! Tokens: how a token server is asked, and what it answers.
//!
//! A name and a password go with `GET`, as Docker's specification has it; an identity token is exchanged with `POST`, as
//! OAuth 2 has it.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Uri};
use serde::Deserialize;

use super::basic_of;
use crate::credentials::Credentials;
use crate::http::Call;
use crate::http::url::{encode, with_parameter};

/// How long a token is good for if nobody says so.
const USUAL_LIFE: Duration = Duration::from_secs(60);

/// A token and how long it is good for.
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) life: Duration,
}

/// What to ask a token server, and what to show it.
pub(crate) fn token_call(
    realm: &Uri,
    service: &str,
    scopes: &[String],
    credentials: &Credentials,
) -> Option<(Call, Option<HeaderValue>)> {
    if let Credentials::Identity(token) = credentials {
        let form = format!(
            "grant_type=refresh_token&service={}&client_id=kiln&scope={}&refresh_token={}",
            encode(service),
            encode(&scopes.join(" ")),
            encode(token)
        );
        let content_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        let call = Call::new(Method::POST, realm.clone()).body(content_type, Bytes::from(form));
        return Some((call, None));
    }
    let mut url = realm.to_string();
    if !service.is_empty() {
        url = with_parameter(&url, "service", service);
    }
    for scope in scopes {
        url = with_parameter(&url, "scope", scope);
    }
    if let Credentials::Basic { username, .. } = credentials {
        url = with_parameter(&url, "account", username);
    }
    let call = Call::new(Method::GET, url.parse().ok()?);
    Some((call, basic_of(credentials)))
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    access_token: Option<String>,
    #[serde(default)]
    expires_in: Option<f64>,
}

/// What a token server answered. None if there is no token in it.
pub(crate) fn parse_token(bytes: &[u8]) -> Option<Token> {
    let answer: Answer = serde_json::from_slice(bytes).ok()?;
    let text = [answer.token, answer.access_token];
    let text = text.into_iter().flatten().find(|text| !text.is_empty())?;
    let life = answer.expires_in.filter(|seconds| *seconds > 0.0);
    let life = life.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    Some(Token {
        text,
        life: life.unwrap_or(USUAL_LIFE),
    })
}

#[cfg(test)]
mod tests;
