//! Push: blobs that the registry does not have yet, then the manifests that refer to them.

use std::collections::BTreeSet;

use bytes::Bytes;
use http::{HeaderValue, Method, Uri, header};

use super::RegistryClient;
use super::repository_endpoint::RepositoryEndpoint;
use super::request::{RegistryRequest, RequestTarget};
use crate::auth::RepositoryAction;
use crate::digest::Digest;
use crate::error::RegistryError;
use crate::http::retry::Attempts;
use crate::http::url::{UrlOrigin, resolve_location, with_query_parameter, without_query};
use crate::layout::{ImageLayout, LayoutError};
use crate::manifest::{Descriptor, ImageIndex, Manifest};
use crate::media_type::OCI_INDEX;
use crate::reference::ImageReference;

/// Why an image was not pushed.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The layout is incomplete.
    #[error("cannot push {reference}")]
    Layout {
        reference: String,
        source: LayoutError,
    },
    /// The registry refused the upload or could not be reached.
    #[error("cannot push {reference}")]
    Registry {
        reference: String,
        source: RegistryError,
    },
}

/// The largest response to an upload that is read.
const MAX_RESPONSE: u64 = 64 << 10;

impl RegistryClient {
    /// Pushes an image or index of a layout, with everything it refers to, under the tag or digest of a reference.
    /// Returns its digest.
    pub async fn push(
        &self,
        reference: &ImageReference,
        layout: &ImageLayout,
        root: &Descriptor,
    ) -> Result<Digest, PushError> {
        let layout_error = |source| PushError::Layout {
            reference: reference.to_string(),
            source,
        };
        let registry_error = |source| PushError::Registry {
            reference: reference.to_string(),
            source,
        };
        // Registries refuse manifests that refer to missing blobs or manifests.
        let manifests = layout.manifests_below(root).map_err(layout_error)?;
        let mut pushed = BTreeSet::new();
        for stored in &manifests {
            if let Manifest::Image(image) = &stored.manifest {
                for blob in std::iter::once(&image.config).chain(&image.layers) {
                    if pushed.insert(blob.digest.clone()) {
                        let bytes = layout.blob(&blob.digest).map_err(layout_error)?;
                        self.push_blob(reference, &blob.digest, bytes)
                            .await
                            .map_err(registry_error)?;
                    }
                }
            }
        }
        for stored in &manifests {
            let Descriptor {
                digest, media_type, ..
            } = &stored.descriptor;
            let by_digest = reference.with_digest(digest.clone());
            let reference = match *digest == root.digest {
                true => reference,
                false => &by_digest,
            };
            self.push_manifest(reference, media_type, stored.bytes.clone())
                .await
                .map_err(registry_error)?;
        }
        Ok(root.digest.clone())
    }

    /// Pushes an index whose images the registry has already, under the tag or digest of a reference. Returns its digest.
    pub async fn push_index(
        &self,
        reference: &ImageReference,
        index: &ImageIndex,
    ) -> Result<Digest, PushError> {
        let bytes = serde_json::to_vec(index).map_err(|error| PushError::Layout {
            reference: reference.to_string(),
            source: LayoutError::Io(error.into()),
        })?;
        let media_type = index.media_type.as_deref().unwrap_or(OCI_INDEX);
        let digest = Digest::of(&bytes);
        let pushed = self
            .push_manifest(reference, media_type, bytes.into())
            .await;
        pushed.map_err(|source| PushError::Registry {
            reference: reference.to_string(),
            source,
        })?;
        Ok(digest)
    }

    /// Uploads a blob, unless the registry has it.
    pub(crate) async fn push_blob(
        &self,
        reference: &ImageReference,
        digest: &Digest,
        bytes: Bytes,
    ) -> Result<(), RegistryError> {
        let subject = format!("blob {digest} of {reference}");
        if !digest.matches(&bytes) {
            return Err(RegistryError::Digest {
                subject,
                expected: digest.clone(),
                actual: Digest::of(&bytes),
            });
        }
        let endpoint = RepositoryEndpoint::new(reference);
        let request = |method, path: String| {
            RegistryRequest::new(method, path, RepositoryAction::Push, subject.clone())
        };
        let exists = request(Method::HEAD, format!("blobs/{digest}"));
        match self.request(&endpoint, &exists, MAX_RESPONSE).await {
            Ok(_) => return Ok(()),
            Err(RegistryError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        // Every attempt starts a new upload: a partial one cannot be continued.
        let mut attempts = Attempts::new(&self.state.options.retry);
        loop {
            let start = request(Method::POST, "blobs/uploads/".to_owned());
            let started = self.request(&endpoint, &start, MAX_RESPONSE).await?;
            let location = started.headers.get(header::LOCATION);
            let mut upload = request(Method::PUT, String::new());
            upload.target = RequestTarget::Url(upload_url(&started.url, location, digest)?);
            upload.body = bytes.clone();
            let binary = HeaderValue::from_static("application/octet-stream");
            upload.headers.push((header::CONTENT_TYPE, binary));
            match self.request_once(&endpoint, &upload, MAX_RESPONSE).await {
                Ok(_) => return Ok(()),
                Err(error) => attempts.wait_or_fail(error).await?,
            }
        }
    }

    /// Uploads a manifest under the tag or digest of a reference.
    pub(crate) async fn push_manifest(
        &self,
        reference: &ImageReference,
        media_type: &str,
        bytes: Bytes,
    ) -> Result<(), RegistryError> {
        let subject = reference.to_string();
        if let Some(expected) = reference.digest()
            && !expected.matches(&bytes)
        {
            return Err(RegistryError::Digest {
                subject,
                expected: expected.clone(),
                actual: Digest::of(&bytes),
            });
        }
        let endpoint = RepositoryEndpoint::new(reference);
        let path = format!("manifests/{}", reference.tag_or_digest());
        let mut request = RegistryRequest::new(Method::PUT, path, RepositoryAction::Push, subject);
        request.body = bytes;
        if let Ok(media_type) = HeaderValue::from_str(media_type) {
            request.headers.push((header::CONTENT_TYPE, media_type));
        }
        self.request(&endpoint, &request, MAX_RESPONSE).await?;
        Ok(())
    }
}

/// The URL that a started upload is sent to. An upload that was started over TLS stays on TLS.
fn upload_url(
    url: &Uri,
    location: Option<&HeaderValue>,
    digest: &Digest,
) -> Result<Uri, RegistryError> {
    let invalid = |problem| RegistryError::Protocol {
        url: without_query(url),
        problem,
    };
    let upload = location.and_then(|location| resolve_location(url, location.to_str().ok()?));
    let upload = upload.ok_or_else(|| invalid("it returned no valid upload location"))?;
    if UrlOrigin::of(url).is_secure() && !UrlOrigin::of(&upload).is_secure() {
        return Err(invalid("its upload location is plain HTTP"));
    }
    let upload = with_query_parameter(&upload.to_string(), "digest", digest.as_str()).parse();
    upload.map_err(|_| invalid("its upload location is not a URL"))
}
