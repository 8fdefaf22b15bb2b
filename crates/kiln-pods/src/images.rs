//! Resolves image references: the digest and the command of an image.

use std::pin::Pin;

use kiln_oci::{ErrorClass, ImageCache, ImageReference, RegistryError};

/// Resolves image references. Implementations are expected to cache, and to look up tags again after a while.
pub trait ImageResolver: Send + Sync {
    /// Resolves a full image reference.
    fn resolve<'a>(&'a self, image: &'a str) -> Resolving<'a>;
}

/// The future of [`ImageResolver::resolve`].
pub type Resolving<'a> =
    Pin<Box<dyn Future<Output = Result<ImageInfo, ImageResolveError>> + Send + 'a>>;

/// What an image reference resolves to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImageInfo {
    /// The digest of the manifest, for example `sha256:…`.
    pub digest: String,
    /// The entrypoint and the command.
    pub command: Vec<String>,
}

/// Why an image reference was not resolved.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ImageResolveError {
    /// The registry has no such image, or the reference is invalid.
    #[error("{0}")]
    NotFound(String),
    /// The registry rejected the credentials.
    #[error("{0}")]
    Denied(String),
    /// The registry could not be reached.
    #[error("{0}")]
    Unavailable(String),
}

/// Resolves image references in registries, with a cache.
#[derive(Clone, Debug)]
pub struct RegistryResolver {
    cache: ImageCache,
}

impl RegistryResolver {
    /// Creates a resolver that uses `cache`.
    pub fn new(cache: ImageCache) -> RegistryResolver {
        RegistryResolver { cache }
    }
}

impl ImageResolver for RegistryResolver {
    fn resolve<'a>(&'a self, image: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            let reference: ImageReference = image.parse().map_err(|error| {
                ImageResolveError::NotFound(format!("{image} is not the name of an image: {error}"))
            })?;
            let image = self.cache.get(&reference).await;
            let image = image.map_err(|error| image_error(&error))?;
            Ok(ImageInfo {
                digest: image.digest.to_string(),
                command: image.config.command_line(),
            })
        })
    }
}

fn image_error(error: &RegistryError) -> ImageResolveError {
    let text = kiln_go::error_chain(error);
    match error.class() {
        ErrorClass::NotFound => ImageResolveError::NotFound(text),
        ErrorClass::Config => ImageResolveError::Denied(text),
        ErrorClass::Unavailable | ErrorClass::Internal => ImageResolveError::Unavailable(text),
    }
}
