//! One question to one registry: in clear or not, with or without credentials, again if that may help.

use std::sync::PoisonError;
use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Response, StatusCode, Uri};
use hyper::body::Incoming;

use super::endpoint::Endpoint;
use super::{PlainHttp, Registry, error_body};
use crate::auth::{
    Access, Challenge, Scope, Shown, Token, basic_of, bearer, parse_token, token_call,
};
use crate::credentials::Credentials;
use crate::error::RegistryError;
use crate::http::retry::{Attempts, retry_after};
use crate::http::url::{Origin, shown};
use crate::http::{Answer, Call, Head, SendError, read_body};

/// An error's text is not larger.
const MAX_ERROR_BODY: u64 = 64 << 10;
const MAX_TOKEN: u64 = 1 << 20;
/// More than anybody allows to talk in clear.
const MAX_PLAIN: usize = 1024;

/// What is asked of a repository.
pub(super) struct Question {
    pub(super) method: Method,
    pub(super) place: Place,
    pub(super) access: Access,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) body: Bytes,
    /// What it is about, for messages.
    pub(super) what: String,
}

/// Where it is asked.
pub(super) enum Place {
    /// Below the repository.
    Tail(String),
    /// Where the registry said.
    Url(Uri),
}

impl Question {
    pub(super) fn new(method: Method, tail: String, access: Access, what: String) -> Question {
        Question {
            method,
            place: Place::Tail(tail),
            access,
            headers: Vec::new(),
            body: Bytes::new(),
            what,
        }
    }
}

impl Registry {
    /// Asks until there is an answer, and reads it whole. `NotFound`, refusals and the like are errors.
    pub(super) async fn ask(
        &self,
        endpoint: &Endpoint,
        question: &Question,
        limit: u64,
    ) -> Result<Answer, RegistryError> {
        let mut attempts = Attempts::new(&endpoint.retry);
        loop {
            match self.ask_once(endpoint, question, limit).await {
                Ok(answer) => return Ok(answer),
                Err(error) => attempts.failed(error).await?,
            }
        }
    }

    async fn ask_once(
        &self,
        endpoint: &Endpoint,
        question: &Question,
        limit: u64,
    ) -> Result<Answer, RegistryError> {
        let (url, response) = self.open(endpoint, question).await?;
        let (parts, body) = response.into_parts();
        let body = read_body(body, &url, limit, &question.what).await?;
        Ok(Answer {
            headers: parts.headers,
            body,
        })
    }

    /// Asks as often as [`Registry::ask`], and leaves the answer's body to be read.
    pub(super) async fn open_patiently(
        &self,
        endpoint: &Endpoint,
        question: &Question,
    ) -> Result<(Uri, Response<Incoming>), RegistryError> {
        let mut attempts = Attempts::new(&endpoint.retry);
        loop {
            match self.open(endpoint, question).await {
                Ok(opened) => return Ok(opened),
                Err(error) => attempts.failed(error).await?,
            }
        }
    }

    /// Asks once, and once more if we have to say who we are. The answer is a good one.
    async fn open(
        &self,
        endpoint: &Endpoint,
        question: &Question,
    ) -> Result<(Uri, Response<Incoming>), RegistryError> {
        let scope = Scope {
            registry: endpoint.host.clone(),
            repository: endpoint.repository.clone(),
            access: question.access,
        };
        let mut introduced = false;
        loop {
            let shown = self.shared.tokens.get(&scope);
            let (url, head) = self.send(endpoint, question, shown.as_ref()).await?;
            let status = head.response.status();
            if status.is_success() {
                return Ok((url, head.response));
            }
            if status == StatusCode::UNAUTHORIZED && head.from_origin && !introduced {
                self.shared.tokens.forget(&scope);
                self.introduce(endpoint, question, &url, scope.clone(), head.response)
                    .await?;
                introduced = true;
                continue;
            }
            return Err(refusal(endpoint, question, &url, head).await);
        }
    }

    /// Finds out what the registry wants to see, and gets it.
    async fn introduce(
        &self,
        endpoint: &Endpoint,
        question: &Question,
        url: &Uri,
        scope: Scope,
        response: Response<Incoming>,
    ) -> Result<(), RegistryError> {
        let challenge = Challenge::best(response.headers());
        // Read to its end, the connection can be used again.
        let body = read_body(response.into_body(), url, MAX_ERROR_BODY, "an answer").await;
        let message = error_body::message(&body.unwrap_or_default());
        let denied = |message: String| RegistryError::Denied {
            registry: endpoint.registry.clone(),
            action: format!("{} {}", verb(&question.method), question.what),
            message,
        };
        let found = self
            .shared
            .options
            .keychain
            .resolve(&endpoint.registry, &endpoint.repository);
        let credentials = found.await.map_err(|source| RegistryError::Credentials {
            registry: endpoint.registry.clone(),
            source,
        })?;
        let (authorization, life) = match (challenge, &credentials) {
            (Some(_), Credentials::Bearer(token)) => (bearer(token), None),
            (Some(Challenge::Basic), credentials) => (basic_of(credentials), None),
            (
                Some(Challenge::Bearer {
                    realm,
                    service,
                    scope: wanted,
                }),
                credentials,
            ) => {
                let realm: Uri = realm.parse().map_err(|_| RegistryError::Protocol {
                    url: shown(url),
                    problem: "it names a token server that is no URL",
                })?;
                let mut scopes = vec![scope.text()];
                if !wanted.is_empty() && wanted != scopes[0] {
                    scopes.push(wanted);
                }
                let token = self
                    .token(&realm, &service, &scopes, credentials, &denied)
                    .await?;
                (bearer(&token.text), Some(token.life))
            }
            (None, _) => {
                return Err(RegistryError::Protocol {
                    url: shown(url),
                    problem: "it answers 401 without a way to be let in that is known here",
                });
            }
        };
        let authorization = authorization.ok_or_else(|| denied(message))?;
        let shown = Shown {
            authorization,
            is_secret: credentials != Credentials::Anonymous,
        };
        self.shared.tokens.keep(scope, shown, life);
        Ok(())
    }

    /// Asks a token server.
    async fn token(
        &self,
        realm: &Uri,
        service: &str,
        scopes: &[String],
        credentials: &Credentials,
        denied: &(dyn Fn(String) -> RegistryError + Sync),
    ) -> Result<Token, RegistryError> {
        let no_url = || RegistryError::Protocol {
            url: shown(realm),
            problem: "it is no URL of a token server",
        };
        let origin = Origin::of(realm);
        if realm.scheme().is_none() || origin.host().is_empty() {
            return Err(no_url());
        }
        if !origin.is_secure() && *credentials != Credentials::Anonymous {
            self.check_clear(&origin)?;
        }
        let asked = token_call(realm, service, scopes, credentials).ok_or_else(no_url)?;
        let (call, authorization) = asked;
        let may_be_plain = |origin: &Origin| self.plain_http(origin) > PlainHttp::Never;
        let sent = self
            .shared
            .http
            .send(&call, authorization.as_ref(), &may_be_plain);
        let head = sent.await.map_err(SendError::into_inner)?;
        let status = head.response.status();
        let wait = retry_after(head.response.headers(), SystemTime::now());
        let body = read_body(head.response.into_body(), realm, MAX_TOKEN, "a token");
        let body = body.await?;
        if status.is_success() {
            let token = parse_token(&body);
            return token.ok_or_else(|| RegistryError::Protocol {
                url: shown(realm),
                problem: "its answer holds no token",
            });
        }
        let message = error_body::message(&body);
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::BAD_REQUEST => {
                let said = match message.as_str() {
                    "" => "its token server refuses the credentials".to_owned(),
                    said => format!("its token server says {said}"),
                };
                Err(denied(said))
            }
            _ => Err(RegistryError::Status {
                url: shown(realm),
                status,
                message,
                retry_after: wait,
            }),
        }
    }

    /// Sends a question over TLS, or in clear to those who speak nothing else and need not.
    async fn send(
        &self,
        endpoint: &Endpoint,
        question: &Question,
        known: Option<&Shown>,
    ) -> Result<(Uri, Head), RegistryError> {
        let may_be_plain = |origin: &Origin| self.plain_http(origin) > PlainHttp::Never;
        let known_as_plain = self.is_known_as_plain(&endpoint.host);
        let mut no_tls = None;
        for secure in [true, false] {
            if secure && known_as_plain {
                continue;
            }
            let url = match &question.place {
                Place::Tail(tail) => endpoint.url(secure, tail),
                Place::Url(url) => Some(url.clone()),
            };
            let url = url.ok_or_else(|| RegistryError::Protocol {
                url: endpoint.host.clone(),
                problem: "its name makes no URL",
            })?;
            let mut call = Call::new(question.method.clone(), url.clone());
            call.headers.clone_from(&question.headers);
            call.body = question.body.clone();
            // A place the registry named may be somebody else's.
            let own =
                Some(Origin::of(&url)) == endpoint.url(secure, "").map(|url| Origin::of(&url));
            let known = known.filter(|_| own);
            if known.is_some_and(|known| known.is_secret) && !Origin::of(&url).is_secure() {
                self.check_clear(&Origin::of(&url))?;
            }
            let authorization = known.map(|known| &known.authorization);
            match self
                .shared
                .http
                .send(&call, authorization, &may_be_plain)
                .await
            {
                Ok(head) if secure => return Ok((url, head)),
                Ok(head) => {
                    // Those who speak TLS call everything else a bad request.
                    let is_bad = head.response.status() == StatusCode::BAD_REQUEST;
                    match no_tls {
                        Some(error @ RegistryError::Unreachable { .. }) if is_bad => {
                            return Err(error);
                        }
                        None if is_bad => self.forget_plain(&endpoint.host),
                        _ => self.remember_plain(&endpoint.host),
                    }
                    return Ok((url, head));
                }
                Err(SendError::NotTls(error)) if secure => {
                    let plain = endpoint.url(false, "").map(|url| Origin::of(&url));
                    if !plain.is_some_and(|origin| may_be_plain(&origin)) {
                        return Err(error);
                    }
                    no_tls = Some(error);
                }
                Err(error) => {
                    self.forget_plain(&endpoint.host);
                    return Err(error.into_inner());
                }
            }
        }
        Err(RegistryError::Protocol {
            url: endpoint.host.clone(),
            problem: "it speaks neither TLS nor plain http",
        })
    }

    /// What may travel to somebody in clear.
    fn plain_http(&self, origin: &Origin) -> PlainHttp {
        let allowed = &self.shared.options.plain_http;
        let named = allowed.get(&origin.authority());
        let named = named.or_else(|| allowed.get(&format!("{}:{}", origin.host(), origin.port())));
        match named {
            Some(plain) => *plain,
            None if origin.is_near() => PlainHttp::Anonymous,
            None => PlainHttp::Never,
        }
    }

    fn check_clear(&self, origin: &Origin) -> Result<(), RegistryError> {
        match self.plain_http(origin) {
            PlainHttp::WithCredentials => Ok(()),
            _ => Err(RegistryError::InClear {
                what: "credentials are not sent",
                host: origin.to_string(),
            }),
        }
    }

    fn is_known_as_plain(&self, host: &str) -> bool {
        let plain = self.shared.plain.lock();
        plain.unwrap_or_else(PoisonError::into_inner).contains(host)
    }

    /// It may speak TLS by now.
    fn forget_plain(&self, host: &str) {
        let plain = self.shared.plain.lock();
        plain.unwrap_or_else(PoisonError::into_inner).remove(host);
    }

    fn remember_plain(&self, host: &str) {
        let plain = self.shared.plain.lock();
        let mut plain = plain.unwrap_or_else(PoisonError::into_inner);
        if plain.len() >= MAX_PLAIN {
            plain.clear();
        }
        plain.insert(host.to_owned());
    }
}

/// What an answer that is no good one means.
async fn refusal(endpoint: &Endpoint, question: &Question, url: &Uri, head: Head) -> RegistryError {
    let status = head.response.status();
    let wait = retry_after(head.response.headers(), SystemTime::now());
    let body = read_body(head.response.into_body(), url, MAX_ERROR_BODY, "an answer").await;
    let message = error_body::message(&body.unwrap_or_default());
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if head.from_origin => {
            RegistryError::Denied {
                registry: endpoint.registry.clone(),
                action: format!("{} {}", verb(&question.method), question.what),
                message,
            }
        }
        StatusCode::NOT_FOUND => RegistryError::NotFound {
            what: question.what.clone(),
            message,
        },
        _ => RegistryError::Status {
            url: shown(url),
            status,
            message,
            retry_after: wait,
        },
    }
}

fn verb(method: &Method) -> &'static str {
    match *method {
        Method::GET | Method::HEAD => "read",
        _ => "write",
    }
}
