//! Token requests and responses.
//!
//! Username and password are sent with `GET` (Docker's token specification); an identity token is exchanged with `POST`
//! (OAuth 2).

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Uri};
use serde::Deserialize;

use super::basic_header;
use crate::credentials::Credentials;
use crate::http::HttpRequest;
use crate::http::url::{percent_encode, with_query_parameter};

/// The lifetime of a token whose response has no `expires_in`.
const DEFAULT_LIFETIME: Duration = Duration::from_secs(60);

pub(crate) struct BearerToken {
    pub(crate) text: String,
    pub(crate) lifetime: Duration,
}

/// The request for a token, and its `Authorization` header.
pub(crate) fn token_request(
    realm: &Uri,
    service: &str,
    scopes: &[String],
    credentials: &Credentials,
) -> Option<(HttpRequest, Option<HeaderValue>)> {
    if let Credentials::Identity(token) = credentials {
        let form = format!(
            "grant_type=refresh_token&service={}&client_id=kiln&scope={}&refresh_token={}",
            percent_encode(service),
            percent_encode(&scopes.join(" ")),
            percent_encode(token)
        );
        let content_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        let request = HttpRequest::new(Method::POST, realm.clone())
            .with_body(content_type, Bytes::from(form));
        return Some((request, None));
    }
    let mut url = realm.to_string();
    if !service.is_empty() {
        url = with_query_parameter(&url, "service", service);
    }
    for scope in scopes {
        url = with_query_parameter(&url, "scope", scope);
    }
    if let Credentials::Basic { username, .. } = credentials {
        url = with_query_parameter(&url, "account", username);
    }
    let request = HttpRequest::new(Method::GET, url.parse().ok()?);
    Some((request, basic_header(credentials)))
}

#[derive(Deserialize)]
struct TokenResponse {
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    access_token: Option<String>,
    #[serde(default)]
    expires_in: Option<f64>,
}

/// Parses a token response. `None` if it contains no token.
pub(crate) fn parse_token(bytes: &[u8]) -> Option<BearerToken> {
    let response: TokenResponse = serde_json::from_slice(bytes).ok()?;
    let text = [response.token, response.access_token];
    let text = text.into_iter().flatten().find(|text| !text.is_empty())?;
    let lifetime = response.expires_in.filter(|seconds| *seconds > 0.0);
    let lifetime = lifetime.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    Some(BearerToken {
        text,
        lifetime: lifetime.unwrap_or(DEFAULT_LIFETIME),
    })
}

#[cfg(test)]
mod tests;
