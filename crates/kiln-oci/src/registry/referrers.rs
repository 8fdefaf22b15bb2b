//! The manifests that refer to a manifest, of one artifact type.
//!
//! A registry without the referrers API answers 404. Clients then maintain an index with a tag that is made of the digest.

use http::Method;
use serde::Deserialize;

use super::RegistryClient;
use super::repository_endpoint::RepositoryEndpoint;
use super::request::RegistryRequest;
use super::tags::next_query;
use crate::auth::RepositoryAction;
use crate::digest::Digest;
use crate::error::RegistryError;
use crate::manifest::{Descriptor, Manifest};
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
struct ReferrerPage {
    #[serde(default, deserialize_with = "crate::manifest::null_is_empty")]
    manifests: Vec<Referrer>,
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
        let mut found = match listed {
            Ok(referrers) => FoundReferrers { referrers, source },
            Err(RegistryError::NotFound { .. }) => {
                self.tagged_referrers(endpoint, reference, digest).await?
            }
            Err(error) => return Err(error),
        };
        // A registry may ignore the filter.
        found.referrers.retain(|referrer| {
            let own = referrer.artifact_type.as_deref();
            own.is_none_or(|own| own == artifact_type)
        });
        Ok(found)
    }

    /// The answer of the referrers API.
    async fn list_referrers(
        &self,
        endpoint: &RepositoryEndpoint,
        digest: &Digest,
        artifact_type: &str,
        source: &str,
    ) -> Result<Vec<Referrer>, RegistryError> {
        let filter = artifact_type.replace('+', "%2B").replace('/', "%2F");
        let mut path = format!("referrers/{digest}?artifactType={filter}");
        let limit = self.state.options.limits.manifest;
        let mut referrers = Vec::new();
        for _ in 0..MAX_PAGES {
            let subject = source.to_owned();
            let request = RegistryRequest::new(Method::GET, path, RepositoryAction::Pull, subject);
            let response = self.request(endpoint, &request, limit).await?;
            let page: ReferrerPage =
                serde_json::from_slice(&response.body).map_err(|_| RegistryError::Protocol {
                    url: source.to_owned(),
                    problem: "the response is not a list of referrers",
                })?;
            referrers.extend(page.manifests);
            match next_query(&response.headers) {
                Some(query) => path = format!("referrers/{digest}?{query}"),
                None => return Ok(referrers),
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
            referrers: page.manifests,
            source,
        })
    }
}
