//! Reading: manifests, images for a platform, blobs.

use bytes::Bytes;
use http::{HeaderValue, Method, Response, Uri, header};
use hyper::body::Incoming;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use super::Registry;
use super::ask::Question;
use super::endpoint::{Endpoint, Round};
use crate::auth::Access;
use crate::config::ImageConfig;
use crate::digest::Digest;
use crate::error::RegistryError;
use crate::http::read_piece;
use crate::manifest::{Descriptor, ImageManifest, Manifest, StoredManifest};
use crate::media_type;
use crate::platform::{Platform, offered, select_platform};
use crate::reference::Reference;

/// An index of indexes of … ends here.
const MAX_NESTING: usize = 4;

/// An image for a platform.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Image {
    /// What the reference names now: an index or, if there is none, the image itself. To run it by this digest leaves the
    /// choice of the platform to whoever runs it.
    pub digest: Digest,
    /// The digest of the image for the platform.
    pub manifest_digest: Digest,
    /// How it is run.
    pub config: ImageConfig,
    /// Its layers, the lowest first.
    pub layers: Vec<Descriptor>,
}

impl Registry {
    /// What a reference names.
    pub async fn manifest(&self, reference: &Reference) -> Result<StoredManifest, RegistryError> {
        let mut round = Round::new(reference, &self.shared.options);
        while let Some(endpoint) = round.next() {
            match self.manifest_of(&endpoint, reference).await {
                Ok(answer) => return Ok(answer),
                Err(error) => round.failed(error),
            }
        }
        Err(round.into_error())
    }

    /// The image that a reference names, for a platform.
    pub async fn image(
        &self,
        reference: &Reference,
        platform: &Platform,
    ) -> Result<Image, RegistryError> {
        let mut round = Round::new(reference, &self.shared.options);
        while let Some(endpoint) = round.next() {
            match self.image_of(&endpoint, reference, platform).await {
                Ok(answer) => return Ok(answer),
                Err(error) => round.failed(error),
            }
        }
        Err(round.into_error())
    }

    /// A blob in memory, by what a manifest says about it.
    pub async fn blob(
        &self,
        reference: &Reference,
        descriptor: &Descriptor,
    ) -> Result<Bytes, RegistryError> {
        let mut round = Round::new(reference, &self.shared.options);
        while let Some(endpoint) = round.next() {
            match self.blob_of(&endpoint, descriptor).await {
                Ok(answer) => return Ok(answer),
                Err(error) => round.failed(error),
            }
        }
        Err(round.into_error())
    }

    /// Writes a blob of any size. Only if this returns without an error was it what the digest says; what was written until then
    /// may be anything.
    pub async fn copy_blob(
        &self,
        reference: &Reference,
        descriptor: &Descriptor,
        to: &mut (dyn AsyncWrite + Send + Unpin),
    ) -> Result<(), RegistryError> {
        let what = blob_name(&reference.to_string(), descriptor);
        self.check_size(descriptor, self.shared.options.limits.layer, &what)?;
        let (url, response) = self.open_blob(reference, descriptor).await?;
        let mut body = response.into_body();
        let mut hasher = descriptor.digest.hasher();
        let mut size = 0;
        while let Some(piece) = read_piece(&mut body, &url).await? {
            size += piece.len() as u64;
            if size > descriptor.size {
                return Err(wrong_size(&what, descriptor.size, size));
            }
            hasher.update(&piece);
            let written = to.write_all(&piece).await;
            written.map_err(|source| RegistryError::Write {
                what: what.clone(),
                source,
            })?;
        }
        if size != descriptor.size {
            return Err(wrong_size(&what, descriptor.size, size));
        }
        check_digest(&what, &descriptor.digest, hasher.finish())?;
        let flushed = to.flush().await;
        flushed.map_err(|source| RegistryError::Write { what, source })
    }

    async fn open_blob(
        &self,
        reference: &Reference,
        descriptor: &Descriptor,
    ) -> Result<(Uri, Response<Incoming>), RegistryError> {
        let mut round = Round::new(reference, &self.shared.options);
        while let Some(endpoint) = round.next() {
            let question = blob_question(&endpoint, descriptor);
            match self.open_patiently(&endpoint, &question).await {
                Ok(opened) => return Ok(opened),
                Err(error) => round.failed(error),
            }
        }
        Err(round.into_error())
    }

    async fn manifest_of(
        &self,
        endpoint: &Endpoint,
        reference: &Reference,
    ) -> Result<StoredManifest, RegistryError> {
        let name = reference.manifest_name();
        let what = reference.to_string();
        let mut question = Question::new(
            Method::GET,
            format!("manifests/{name}"),
            Access::Pull,
            what.clone(),
        );
        if let Ok(accepted) = HeaderValue::from_str(&media_type::accepted()) {
            question.headers.push((header::ACCEPT, accepted));
        }
        let limit = self.shared.options.limits.manifest;
        let answer = self.ask(endpoint, &question, limit).await?;
        let header = |name: &str| answer.headers.get(name)?.to_str().ok();
        // What the registry itself says about a tag has to be true, too.
        let told = header("docker-content-digest").and_then(|digest| digest.parse().ok());
        for expected in [reference.digest(), told.as_ref()].into_iter().flatten() {
            let mut hasher = expected.hasher();
            hasher.update(&answer.body);
            check_digest(&what, expected, hasher.finish())?;
        }
        let content_type = header("content-type");
        let mut stored = StoredManifest::parse(answer.body.clone(), content_type)
            .map_err(|source| RegistryError::Manifest { what, source })?;
        if let Some(digest) = reference.digest() {
            stored.descriptor.digest = digest.clone();
        }
        Ok(stored)
    }

    async fn image_of(
        &self,
        endpoint: &Endpoint,
        reference: &Reference,
        platform: &Platform,
    ) -> Result<Image, RegistryError> {
        let mut stored = self.manifest_of(endpoint, reference).await?;
        let digest = stored.descriptor.digest.clone();
        for _ in 0..MAX_NESTING {
            let index = match stored.manifest {
                Manifest::Image(manifest) => {
                    let config = self.config_of(endpoint, reference, &manifest).await?;
                    return Ok(Image {
                        digest,
                        manifest_digest: stored.descriptor.digest,
                        config,
                        layers: manifest.layers,
                    });
                }
                Manifest::Index(index) => index,
            };
            let Some(entry) = select_platform(&index, platform) else {
                return Err(RegistryError::NoPlatform {
                    what: reference.to_string(),
                    platform: platform.clone(),
                    offered: offered(&index),
                });
            };
            let by_digest = reference.with_digest(entry.digest.clone());
            stored = self.manifest_of(endpoint, &by_digest).await?;
        }
        Err(RegistryError::Protocol {
            url: reference.to_string(),
            problem: "its indexes name indexes without end",
        })
    }

    async fn config_of(
        &self,
        endpoint: &Endpoint,
        reference: &Reference,
        manifest: &ImageManifest,
    ) -> Result<ImageConfig, RegistryError> {
        let bytes = self.blob_of(endpoint, &manifest.config).await?;
        ImageConfig::parse(&bytes).map_err(|source| RegistryError::Config {
            what: reference.to_string(),
            source,
        })
    }

    async fn blob_of(
        &self,
        endpoint: &Endpoint,
        descriptor: &Descriptor,
    ) -> Result<Bytes, RegistryError> {
        let question = blob_question(endpoint, descriptor);
        let limit = self.shared.options.limits.blob;
        self.check_size(descriptor, limit, &question.what)?;
        let answer = self.ask(endpoint, &question, limit).await?;
        let size = answer.body.len() as u64;
        if size != descriptor.size {
            return Err(wrong_size(&question.what, descriptor.size, size));
        }
        let mut hasher = descriptor.digest.hasher();
        hasher.update(&answer.body);
        check_digest(&question.what, &descriptor.digest, hasher.finish())?;
        Ok(answer.body)
    }

    fn check_size(
        &self,
        descriptor: &Descriptor,
        limit: u64,
        what: &str,
    ) -> Result<(), RegistryError> {
        match descriptor.size > limit {
            true => Err(RegistryError::TooLarge {
                what: what.to_owned(),
                limit,
            }),
            false => Ok(()),
        }
    }
}

fn blob_question(endpoint: &Endpoint, descriptor: &Descriptor) -> Question {
    let name = format!("{}/{}", endpoint.registry, endpoint.repository);
    Question::new(
        Method::GET,
        format!("blobs/{}", descriptor.digest),
        Access::Pull,
        blob_name(&name, descriptor),
    )
}

fn blob_name(of: &str, descriptor: &Descriptor) -> String {
    format!("blob {} of {of}", descriptor.digest)
}

fn wrong_size(what: &str, expected: u64, actual: u64) -> RegistryError {
    RegistryError::Size {
        what: what.to_owned(),
        expected,
        actual,
    }
}

fn check_digest(what: &str, expected: &Digest, actual: Digest) -> Result<(), RegistryError> {
    match *expected == actual {
        true => Ok(()),
        false => Err(RegistryError::Digest {
            what: what.to_owned(),
            expected: expected.clone(),
            actual,
        }),
    }
}
