//! One request, and the body of its answer.

use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};

use crate::error::RegistryError;

/// A body of which nothing comes for so long is lost.
const BODY_PATIENCE: Duration = Duration::from_secs(60);

/// What is asked.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) url: Uri,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Bytes,
}

/// An answer that has been read whole.
pub(crate) struct Answer {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Call {
    pub(crate) fn new(method: Method, url: Uri) -> Call {
        Call {
            method,
            url,
            headers: Vec::new(),
            body: Bytes::new(),
        }
    }

    pub(crate) fn body(mut self, content_type: HeaderValue, body: Bytes) -> Call {
        self.headers.push((header::CONTENT_TYPE, content_type));
        self.body = body;
        self
    }

    pub(super) fn request(
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

/// The next piece of a body, none at its end.
pub(crate) async fn read_piece(
    body: &mut Incoming,
    url: &Uri,
) -> Result<Option<Bytes>, RegistryError> {
    let lost = |source| RegistryError::Unreachable {
        url: super::url::shown(url),
        source,
    };
    loop {
        let frame = tokio::time::timeout(BODY_PATIENCE, body.frame()).await;
        let frame = frame.map_err(|_| {
            let message = format!("nothing more came for {} seconds", BODY_PATIENCE.as_secs());
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

/// A whole body of at most so many bytes.
pub(crate) async fn read_body(
    mut body: Incoming,
    url: &Uri,
    limit: u64,
    what: &str,
) -> Result<Bytes, RegistryError> {
    let too_large = || RegistryError::TooLarge {
        what: what.to_owned(),
        limit,
    };
    if body.size_hint().lower() > limit {
        return Err(too_large());
    }
    let mut whole = BytesMut::new();
    while let Some(piece) = read_piece(&mut body, url).await? {
        if (whole.len() + piece.len()) as u64 > limit {
            return Err(too_large());
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole.freeze())
}
