//! The manifests that refer to a manifest, of one artifact type.
//!
//! For a registry without the referrers API, clients maintain an index with a tag that is made of the digest. Such a registry should
//! answer 404. Some answer with another status, or with a page for browsers.

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde::Deserialize;

use super::RegistryClient;
use super::repository_endpoint::RepositoryEndpoint;
use super::request::RegistryRequest;
use super::tags::next_query;
use crate::auth::RepositoryAction;
use crate::digest::Digest;
use crate::error::RegistryError;
use crate::manifest::{Descriptor, Manifest};
use crate::media_type::OCI_INDEX;
use crate::reference::ImageReference;

/// A registry may return a next page forever.
const MAX_PAGES: usize = 32;
/// The longest parts of algorithm and encoded digest in the tag of the index.
const MAX_TAG_PARTS: (usize, usize) = (32, 64);

/// An entry of a list of referrers.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Referrer {
    #[serde(flatten)]
    pub(super) descriptor: Descriptor,
    artifact_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReferrerPage {
    schema_version: Option<u64>,
    /// Go writes an empty list as null.
    manifests: Option<Vec<Referrer>>,
}

impl ReferrerPage {
    /// The page in a response; `None` if it is something else.
    fn of_response(headers: &HeaderMap, body: &[u8]) -> Option<ReferrerPage> {
        let page: ReferrerPage = serde_json::from_slice(body).ok()?;
        let referrers = page.manifests.as_ref().map_or(0, Vec::len);
        // Other objects of JSON are lists without entries, too.
        let is_empty_list = page.schema_version == Some(2) && is_index_type(headers);
        (referrers > 0 || is_empty_list).then_some(page)
    }
}

/// Whether a response is an index, according to its headers.
fn is_index_type(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE) else {
        return true;
    };
    let value = value.to_str().unwrap_or_default();
    let media_type = value.split(';').next().unwrap_or_default();
    media_type.trim().eq_ignore_ascii_case(OCI_INDEX)
}

/// Whether an error is the answer of a registry that does not know the path.
fn is_without_api(error: &RegistryError) -> bool {
    match error {
        RegistryError::NotFound { .. } => true,
        RegistryError::Status { status, .. } => matches!(
            *status,
            StatusCode::BAD_REQUEST
                | StatusCode::METHOD_NOT_ALLOWED
                | StatusCode::NOT_ACCEPTABLE
                | StatusCode::NOT_IMPLEMENTED
        ),
        _ => false,
    }
}

/// Referrers, and the request that returned them.
pub(super) struct FoundReferrers {
    pub(super) referrers: Vec<Referrer>,
    pub(super) source: String,
}

impl RegistryClient {
    /// The referrers of a digest that have an artifact type, or whose artifact type the list does not have.
    pub(super) async fn referrers(
        &self,
        endpoint: &RepositoryEndpoint,
        reference: &ImageReference,
        digest: &Digest,
        artifact_type: &str,
    ) -> Result<FoundReferrers, RegistryError> {
        let source = format!(
            "referrers of {}/{}@{digest}",
            endpoint.registry, endpoint.repository
        );
        let listed = self
            .list_referrers(endpoint, digest, artifact_type, &source)
            .await;
        let mut found = match listed? {
            Some(referrers) => FoundReferrers { referrers, source },
            None => self.tagged_referrers(endpoint, reference, digest).await?,
        };
        // A registry may ignore the filter.
        found.referrers.retain(|referrer| {
            let own = referrer.artifact_type.as_deref();
            own.is_none_or(|own| own == artifact_type)
        });
        Ok(found)
    }

    /// The answer of the referrers API; `None` if the registry does not have it.
    async fn list_referrers(
        &self,
        endpoint: &RepositoryEndpoint,
        digest: &Digest,
        artifact_type: &str,
        source: &str,
    ) -> Result<Option<Vec<Referrer>>, RegistryError> {
        let filter = artifact_type.replace('+', "%2B").replace('/', "%2F");
        let mut path = format!("referrers/{digest}?artifactType={filter}");
        let limit = self.state.options.limits.manifest;
        let mut referrers = Vec::new();
        for number in 0..MAX_PAGES {
            let subject = source.to_owned();
            let action = RepositoryAction::Pull;
            let mut request = RegistryRequest::new(Method::GET, path, action, subject);
            request
                .headers
                .push((ACCEPT, HeaderValue::from_static(OCI_INDEX)));
            let response = match self.request(endpoint, &request, limit).await {
                Ok(response) => response,
                Err(error) if number == 0 && is_without_api(&error) => return Ok(None),
                Err(error) => return Err(error),
            };
            let page = match ReferrerPage::of_response(&response.headers, &response.body) {
                Some(page) => page,
                None if number == 0 => return Ok(None),
                None => {
                    return Err(RegistryError::Protocol {
                        url: source.to_owned(),
                        problem: "the response is not a list of referrers",
                    });
                }
            };
            referrers.extend(page.manifests.unwrap_or_default());
            match next_query(&response.headers) {
                Some(query) => path = format!("referrers/{digest}?{query}"),
                None => return Ok(Some(referrers)),
            }
        }
        Err(RegistryError::Protocol {
            url: source.to_owned(),
            problem: "the list of referrers has too many pages",
        })
    }

    /// The entries of the index that clients maintain if the registry has no referrers API.
    async fn tagged_referrers(
        &self,
        endpoint: &RepositoryEndpoint,
        reference: &ImageReference,
        digest: &Digest,
    ) -> Result<FoundReferrers, RegistryError> {
        let none = |source| FoundReferrers {
            referrers: Vec::new(),
            source,
        };
        let (algorithm, hex) = (digest.algorithm(), digest.hex());
        let algorithm = algorithm.get(..MAX_TAG_PARTS.0).unwrap_or(algorithm);
        let hex = hex.get(..MAX_TAG_PARTS.1).unwrap_or(hex);
        let tag = format!("{algorithm}-{hex}");
        let Some(tagged) = reference.with_tag(&tag) else {
            return Ok(none(tag));
        };
        let source = tagged.to_string();
        let stored = match self.fetch_manifest(endpoint, &tagged).await {
            Ok(stored) => stored,
            Err(RegistryError::NotFound { .. }) => return Ok(none(source)),
            Err(error) => return Err(error),
        };
        let not_an_index = || RegistryError::Protocol {
            url: source.clone(),
            problem: "it is not an index of referrers",
        };
        if let Manifest::Image(_) = stored.manifest {
            return Err(not_an_index());
        }
        let page: ReferrerPage =
            serde_json::from_slice(&stored.bytes).map_err(|_| not_an_index())?;
        Ok(FoundReferrers {
            referrers: page.manifests.unwrap_or_default(),
            source,
        })
    }
}
