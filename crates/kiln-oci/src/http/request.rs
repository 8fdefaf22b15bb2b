//! One request, and the body of its response.

use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};

use crate::error::RegistryError;

/// How long the next chunk of a body may take.
const CHUNK_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone)]
pub(crate) struct HttpRequest {
    pub(crate) method: Method,
    pub(crate) url: Uri,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Bytes,
}

/// A response with its whole body.
pub(crate) struct FullResponse {
    /// The URL of the request.
    pub(crate) url: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl HttpRequest {
    pub(crate) fn new(method: Method, url: Uri) -> HttpRequest {
        HttpRequest {
            method,
            url,
            headers: Vec::new(),
            body: Bytes::new(),
        }
    }

    pub(crate) fn with_body(mut self, content_type: HeaderValue, body: Bytes) -> HttpRequest {
        self.headers.push((header::CONTENT_TYPE, content_type));
        self.body = body;
        self
    }

    pub(super) fn to_http(
        &self,
        url: &Uri,
        authorization: Option<&HeaderValue>,
    ) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = url.clone();
        let headers = request.headers_mut();
        headers.insert(header::USER_AGENT, HeaderValue::from_static("kiln"));
        for (name, value) in &self.headers {
            headers.insert(name, value.clone());
        }
        if let Some(authorization) = authorization {
            headers.insert(header::AUTHORIZATION, authorization.clone());
        }
        request
    }
}

/// The next chunk of a body, `None` at its end.
pub(crate) async fn read_chunk(
    body: &mut Incoming,
    url: &Uri,
) -> Result<Option<Bytes>, RegistryError> {
    let lost = |source| RegistryError::Unreachable {
        url: super::url::without_query(url),
        source,
    };
    loop {
        let frame = tokio::time::timeout(CHUNK_TIMEOUT, body.frame()).await;
        let frame = frame.map_err(|_| {
            let message = format!("no data for {} seconds", CHUNK_TIMEOUT.as_secs());
            lost(io::Error::new(io::ErrorKind::TimedOut, message))
        })?;
        match frame {
            None => return Ok(None),
            Some(Err(error)) => return Err(lost(io::Error::other(error))),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

/// Reads a body of at most `limit` bytes. `subject` names it in errors.
pub(crate) async fn read_body(
    mut body: Incoming,
    url: &Uri,
    limit: u64,
    subject: &str,
) -> Result<Bytes, RegistryError> {
    let too_large = || RegistryError::TooLarge {
        subject: subject.to_owned(),
        limit,
    };
    if body.size_hint().lower() > limit {
        return Err(too_large());
    }
    let mut whole = BytesMut::new();
    while let Some(chunk) = read_chunk(&mut body, url).await? {
        if (whole.len() + chunk.len()) as u64 > limit {
            return Err(too_large());
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(whole.freeze())
}
