//! Writing: blobs in one piece if they are not there yet, then what names them.

use std::collections::BTreeSet;

use bytes::Bytes;
use http::{HeaderValue, Method, Uri, header};

use super::Registry;
use super::ask::{Place, Question};
use super::endpoint::Endpoint;
use crate::auth::Access;
use crate::digest::Digest;
use crate::error::RegistryError;
use crate::http::retry::Attempts;
use crate::http::url::{Origin, resolve, shown, with_parameter};
use crate::layout::{Layout, LayoutError};
use crate::manifest::{Descriptor, Manifest};
use crate::reference::Reference;

/// What was not pushed.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// What is to be pushed is not whole.
    #[error("cannot push {reference}")]
    Layout {
        /// As what.
        reference: String,
        /// Why.
        source: LayoutError,
    },
    /// The registry does not take it.
    #[error("cannot push {reference}")]
    Registry {
        /// As what.
        reference: String,
        /// Why.
        source: RegistryError,
    },
}

/// An answer to an upload is not larger.
const MAX_ANSWER: u64 = 64 << 10;

impl Registry {
    /// Pushes one of a layout's images or indexes with all it consists of, under the tag or digest of a reference.
    /// Answers with its digest.
    pub async fn push(
        &self,
        reference: &Reference,
        layout: &Layout,
        root: &Descriptor,
    ) -> Result<Digest, PushError> {
        let broken = |source| PushError::Layout {
            reference: reference.to_string(),
            source,
        };
        let failed = |source| PushError::Registry {
            reference: reference.to_string(),
            source,
        };
        // Whatever is named has to be there before what names it.
        let manifests = layout.manifests_below(root).map_err(broken)?;
        let mut done = BTreeSet::new();
        for stored in &manifests {
            if let Manifest::Image(image) = &stored.manifest {
                for blob in std::iter::once(&image.config).chain(&image.layers) {
                    if done.insert(blob.digest.clone()) {
                        let bytes = layout.blob(&blob.digest).map_err(broken)?;
                        self.push_blob(reference, &blob.digest, bytes)
                            .await
                            .map_err(failed)?;
                    }
                }
            }
        }
        for stored in &manifests {
            let Descriptor {
                digest, media_type, ..
            } = &stored.descriptor;
            let by_digest = reference.with_digest(digest.clone());
            let name = match *digest == root.digest {
                true => reference,
                false => &by_digest,
            };
            self.push_manifest(name, media_type, stored.bytes.clone())
                .await
                .map_err(failed)?;
        }
        Ok(root.digest.clone())
    }

    /// Stores a blob, unless it is there already.
    pub async fn push_blob(
        &self,
        reference: &Reference,
        digest: &Digest,
        bytes: Bytes,
    ) -> Result<(), RegistryError> {
        let what = format!("blob {digest} of {reference}");
        if !digest.matches(&bytes) {
            return Err(RegistryError::Digest {
                what,
                expected: digest.clone(),
                actual: Digest::of(&bytes),
            });
        }
        let endpoint = Endpoint::upstream(reference, &self.shared.options);
        let question =
            |method, tail: String| Question::new(method, tail, Access::Push, what.clone());
        let there = question(Method::HEAD, format!("blobs/{digest}"));
        match self.ask(&endpoint, &there, MAX_ANSWER).await {
            Ok(_) => return Ok(()),
            Err(RegistryError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        // An upload is begun anew for every attempt: half of one is worth nothing.
        let mut attempts = Attempts::new(&endpoint.retry);
        loop {
            let begin = question(Method::POST, "blobs/uploads/".to_owned());
            let (url, begun) = self.ask_at(&endpoint, &begin).await?;
            let upload = upload_place(&url, begun.as_ref(), digest)?;
            let mut once = endpoint.clone();
            once.retry.attempts = 1;
            let mut store = question(Method::PUT, String::new());
            store.place = Place::Url(upload);
            store.body = bytes.clone();
            let binary = HeaderValue::from_static("application/octet-stream");
            store.headers.push((header::CONTENT_TYPE, binary));
            match self.ask(&once, &store, MAX_ANSWER).await {
                Ok(_) => return Ok(()),
                Err(error) => attempts.failed(error).await?,
            }
        }
    }

    /// Stores a manifest under the tag or digest of a reference.
    pub async fn push_manifest(
        &self,
        reference: &Reference,
        media_type: &str,
        bytes: Bytes,
    ) -> Result<(), RegistryError> {
        let what = reference.to_string();
        if let Some(expected) = reference.digest()
            && !expected.matches(&bytes)
        {
            return Err(RegistryError::Digest {
                what,
                expected: expected.clone(),
                actual: Digest::of(&bytes),
            });
        }
        let endpoint = Endpoint::upstream(reference, &self.shared.options);
        let tail = format!("manifests/{}", reference.manifest_name());
        let mut question = Question::new(Method::PUT, tail, Access::Push, what);
        question.body = bytes;
        if let Ok(media_type) = HeaderValue::from_str(media_type) {
            question.headers.push((header::CONTENT_TYPE, media_type));
        }
        self.ask(&endpoint, &question, MAX_ANSWER).await?;
        Ok(())
    }

    /// Asks, and tells where that was and where the answer points to.
    async fn ask_at(
        &self,
        endpoint: &Endpoint,
        question: &Question,
    ) -> Result<(Uri, Option<HeaderValue>), RegistryError> {
        let (url, response) = self.open_patiently(endpoint, question).await?;
        Ok((url, response.headers().get(header::LOCATION).cloned()))
    }
}

/// Where an upload that was begun goes to. It never leaves TLS.
fn upload_place(
    url: &Uri,
    location: Option<&HeaderValue>,
    digest: &Digest,
) -> Result<Uri, RegistryError> {
    let wrong = |problem| RegistryError::Protocol {
        url: shown(url),
        problem,
    };
    let place = location.and_then(|location| resolve(url, location.to_str().ok()?));
    let place = place.ok_or_else(|| wrong("it does not say where an upload goes"))?;
    if Origin::of(url).is_secure() && !Origin::of(&place).is_secure() {
        return Err(wrong("it wants an upload in clear"));
    }
    let place = with_parameter(&place.to_string(), "digest", digest.as_str()).parse();
    place.map_err(|_| wrong("where an upload goes is no URL"))
}
