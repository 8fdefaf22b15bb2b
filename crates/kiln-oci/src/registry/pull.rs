//! Pull: manifests, images for a platform, blobs.

use bytes::Bytes;
use http::{HeaderValue, Method, header};

use super::RegistryClient;
use super::repository_endpoint::RepositoryEndpoint;
use super::request::RegistryRequest;
use crate::auth::RepositoryAction;
use crate::config::ImageConfig;
use crate::digest::Digest;
use crate::error::RegistryError;
use crate::manifest::{Descriptor, ImageManifest, Manifest, StoredManifest};
use crate::media_type;
use crate::platform::{Platform, available_platforms, select_platform};
use crate::reference::ImageReference;

/// How deep indexes may be nested.
const MAX_NESTING: usize = 4;

/// An image for a platform.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResolvedImage {
    /// The digest that the reference resolves to: an index or, without one, the image itself. A container runtime that
    /// gets this digest selects the platform itself.
    pub digest: Digest,
    /// The digest of the manifest for the platform.
    pub manifest_digest: Digest,
    pub config: ImageConfig,
    pub config_digest: Digest,
    pub config_media_type: String,
    /// The layers, lowest first.
    pub layers: Vec<Descriptor>,
    /// Indexes, manifest and config as the registry has them.
    pub documents: Vec<(Digest, Bytes)>,
}

impl RegistryClient {
    /// The manifest or index of a reference.
    pub async fn manifest(
        &self,
        reference: &ImageReference,
    ) -> Result<StoredManifest, RegistryError> {
        self.fetch_manifest(&RepositoryEndpoint::new(reference), reference)
            .await
    }

    pub async fn image(
        &self,
        reference: &ImageReference,
        platform: &Platform,
    ) -> Result<ResolvedImage, RegistryError> {
        let endpoint = RepositoryEndpoint::new(reference);
        let mut stored = self.fetch_manifest(&endpoint, reference).await?;
        let digest = stored.descriptor.digest.clone();
        let mut documents = Vec::new();
        for _ in 0..MAX_NESTING {
            documents.push((stored.descriptor.digest.clone(), stored.bytes.clone()));
            let index = match stored.manifest {
                Manifest::Image(manifest) => {
                    let (config, bytes) =
                        self.fetch_config(&endpoint, reference, &manifest).await?;
                    documents.push((manifest.config.digest.clone(), bytes));
                    return Ok(ResolvedImage {
                        digest,
                        manifest_digest: stored.descriptor.digest,
                        config,
                        config_digest: manifest.config.digest,
                        config_media_type: manifest.config.media_type,
                        layers: manifest.layers,
                        documents,
                    });
                }
                Manifest::Index(index) => index,
            };
            let Some(entry) = select_platform(&index, platform) else {
                return Err(RegistryError::NoPlatform {
                    image: reference.to_string(),
                    platform: platform.clone(),
                    available: available_platforms(&index),
                });
            };
            let by_digest = reference.with_digest(entry.digest.clone());
            let expected = entry.size;
            stored = self.fetch_manifest(&endpoint, &by_digest).await?;
            let actual = stored.bytes.len() as u64;
            if actual != expected {
                return Err(RegistryError::Size {
                    subject: format!("manifest {by_digest}"),
                    expected,
                    actual,
                });
            }
        }
        Err(RegistryError::Protocol {
            url: reference.to_string(),
            problem: "its indexes are nested too deeply",
        })
    }

    /// Reads a blob into memory.
    pub async fn blob(
        &self,
        reference: &ImageReference,
        descriptor: &Descriptor,
    ) -> Result<Bytes, RegistryError> {
        let limit = self.state.options.limits.blob;
        self.fetch_blob(&RepositoryEndpoint::new(reference), descriptor, limit)
            .await
    }

    pub(super) async fn fetch_manifest(
        &self,
        endpoint: &RepositoryEndpoint,
        reference: &ImageReference,
    ) -> Result<StoredManifest, RegistryError> {
        let image = reference.to_string();
        let mut request = RegistryRequest::new(
            Method::GET,
            format!("manifests/{}", reference.tag_or_digest()),
            RepositoryAction::Pull,
            image.clone(),
        );
        if let Ok(accepted) = HeaderValue::from_str(&media_type::accepted_manifests()) {
            request.headers.push((header::ACCEPT, accepted));
        }
        let limit = self.state.options.limits.manifest;
        let response = self.request(endpoint, &request, limit).await?;
        let header = |name: &str| response.headers.get(name)?.to_str().ok();
        // The digest that the registry itself returns for a tag is checked too.
        let returned = header("docker-content-digest").and_then(|digest| digest.parse().ok());
        for expected in [reference.digest(), returned.as_ref()]
            .into_iter()
            .flatten()
        {
            check_digest(&image, expected, &response.body)?;
        }
        let content_type = header("content-type");
        let mut stored = StoredManifest::parse(response.body.clone(), content_type)
            .map_err(|source| RegistryError::Manifest { image, source })?;
        if let Some(digest) = reference.digest() {
            stored.descriptor.digest = digest.clone();
        }
        Ok(stored)
    }

    async fn fetch_config(
        &self,
        endpoint: &RepositoryEndpoint,
        reference: &ImageReference,
        manifest: &ImageManifest,
    ) -> Result<(ImageConfig, Bytes), RegistryError> {
        let limit = self.state.options.limits.config;
        let bytes = self.fetch_blob(endpoint, &manifest.config, limit).await?;
        let config = ImageConfig::parse(&bytes).map_err(|source| RegistryError::Config {
            image: reference.to_string(),
            source,
        })?;
        Ok((config, bytes))
    }

    /// Reads a blob of at most `limit` bytes.
    pub(super) async fn fetch_blob(
        &self,
        endpoint: &RepositoryEndpoint,
        descriptor: &Descriptor,
        limit: u64,
    ) -> Result<Bytes, RegistryError> {
        let Descriptor { digest, size, .. } = descriptor;
        let subject = format!(
            "blob {digest} of {}/{}",
            endpoint.registry, endpoint.repository
        );
        if *size > limit {
            return Err(RegistryError::TooLarge { subject, limit });
        }
        let path = format!("blobs/{digest}");
        let request =
            RegistryRequest::new(Method::GET, path, RepositoryAction::Pull, subject.clone());
        let response = self.request(endpoint, &request, limit).await?;
        let actual = response.body.len() as u64;
        if actual != *size {
            return Err(RegistryError::Size {
                subject,
                expected: *size,
                actual,
            });
        }
        check_digest(&subject, digest, &response.body)?;
        Ok(response.body)
    }
}

fn check_digest(subject: &str, expected: &Digest, bytes: &[u8]) -> Result<(), RegistryError> {
    let actual = expected.same_algorithm(bytes);
    match *expected == actual {
        true => Ok(()),
        false => Err(RegistryError::Digest {
            subject: subject.to_owned(),
            expected: expected.clone(),
            actual,
        }),
    }
}
