//! Authentication: a 401 response names a challenge, which credentials or a token server satisfy.

use std::time::SystemTime;

use http::{Response, StatusCode, Uri};
use hyper::body::Incoming;

use super::repository_endpoint::RepositoryEndpoint;
use super::request::{MAX_ERROR_BODY, RegistryRequest};
use super::{PlainHttp, RegistryClient, error_body};
use crate::auth::{
    Authorization, BearerToken, Challenge, TokenScope, basic_header, bearer_header, parse_token,
    token_request,
};
use crate::credentials::Credentials;
use crate::error::RegistryError;
use crate::http::retry::retry_after;
use crate::http::url::{UrlOrigin, without_query};
use crate::http::{SendError, read_body};

/// The largest token response that is read.
const MAX_TOKEN_RESPONSE: u64 = 1 << 20;

impl RegistryClient {
    /// Answers the challenge of a 401 response, and caches the resulting `Authorization` header for the scope.
    pub(super) async fn authenticate(
        &self,
        endpoint: &RepositoryEndpoint,
        request: &RegistryRequest,
        url: &Uri,
        scope: TokenScope,
        response: Response<Incoming>,
    ) -> Result<(), RegistryError> {
        let challenge = Challenge::best(response.headers());
        // A connection can be reused only after the body was read.
        let body = read_body(
            response.into_body(),
            url,
            MAX_ERROR_BODY,
            "an error response",
        )
        .await;
        let message = error_body::message(&body.unwrap_or_default());
        let denied = |message: String| request.denied(endpoint, message);
        let credentials = self
            .state
            .options
            .keychain
            .resolve(&endpoint.registry, &endpoint.repository);
        let credentials = credentials
            .await
            .map_err(|source| RegistryError::Credentials {
                registry: endpoint.registry.clone(),
                source,
            })?;
        let (header, lifetime) = match (challenge, &credentials) {
            (Some(_), Credentials::Bearer(token)) => (bearer_header(token), None),
            (Some(Challenge::Basic), credentials) => (basic_header(credentials), None),
            (
                Some(Challenge::Bearer {
                    realm,
                    service,
                    scope: requested,
                }),
                credentials,
            ) => {
                let realm: Uri = realm.parse().map_err(|_| RegistryError::Protocol {
                    url: without_query(url),
                    problem: "the realm of its challenge is not a URL",
                })?;
                let mut scopes = vec![scope.text()];
                if !requested.is_empty() && requested != scopes[0] {
                    scopes.push(requested);
                }
                let token = self
                    .fetch_token(&realm, &service, &scopes, credentials, &denied)
                    .await?;
                (bearer_header(&token.text), Some(token.lifetime))
            }
            (None, _) => {
                return Err(RegistryError::Protocol {
                    url: without_query(url),
                    problem: "it returned 401 without a supported challenge",
                });
            }
        };
        let header = header.ok_or_else(|| denied(message))?;
        let authorization = Authorization {
            header,
            is_secret: credentials != Credentials::Anonymous,
        };
        self.state
            .authorizations
            .insert(scope, authorization, lifetime);
        Ok(())
    }

    /// Requests a token from a token server.
    async fn fetch_token(
        &self,
        realm: &Uri,
        service: &str,
        scopes: &[String],
        credentials: &Credentials,
        denied: &(dyn Fn(String) -> RegistryError + Sync),
    ) -> Result<BearerToken, RegistryError> {
        let invalid_realm = || RegistryError::Protocol {
            url: without_query(realm),
            problem: "the realm of its challenge is not an absolute URL",
        };
        let origin = UrlOrigin::of(realm);
        if realm.scheme().is_none() || origin.host().is_empty() {
            return Err(invalid_realm());
        }
        if !origin.is_secure() && *credentials != Credentials::Anonymous {
            self.check_plain_credentials(&origin)?;
        }
        let (request, authorization) =
            token_request(realm, service, scopes, credentials).ok_or_else(invalid_realm)?;
        let may_be_plain = |origin: &UrlOrigin| self.plain_http(origin) > PlainHttp::Never;
        let sent = self
            .state
            .http
            .send(&request, authorization.as_ref(), &may_be_plain);
        let response = sent.await.map_err(SendError::into_inner)?.response;
        let status = response.status();
        let retry_after = retry_after(response.headers(), SystemTime::now());
        let body = read_body(response.into_body(), realm, MAX_TOKEN_RESPONSE, "a token").await?;
        if status.is_success() {
            let token = parse_token(&body);
            return token.ok_or_else(|| RegistryError::Protocol {
                url: without_query(realm),
                problem: "its response contains no token",
            });
        }
        let message = error_body::message(&body);
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::BAD_REQUEST => {
                let reason = match message.as_str() {
                    "" => "the token server rejected the credentials".to_owned(),
                    message => format!("the token server returned: {message}"),
                };
                Err(denied(reason))
            }
            _ => Err(RegistryError::Status {
                url: without_query(realm),
                status,
                message,
                retry_after,
            }),
        }
    }
}
