//! Images as registries know them.

use std::error::Error;

use kiln_oci::{ErrorClass, ImageCache, ImageReference, RegistryError};

use crate::images::{ImageError, ImageInfo, Images, Resolving};

/// Images of registries, by way of a cache.
#[derive(Clone, Debug)]
pub struct RegistryImages {
    cache: ImageCache,
}

impl RegistryImages {
    /// What a cache finds out.
    pub fn new(cache: ImageCache) -> RegistryImages {
        RegistryImages { cache }
    }
}

impl Images for RegistryImages {
    fn resolve<'a>(&'a self, image: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            let reference: ImageReference = image.parse().map_err(|error| {
                ImageError::NotFound(format!("{image} is not the name of an image: {error}"))
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

fn image_error(error: &RegistryError) -> ImageError {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    match error.class() {
        ErrorClass::NotFound => ImageError::NotFound(text),
        ErrorClass::Config => ImageError::Denied(text),
        ErrorClass::Unavailable | ErrorClass::Internal => ImageError::Unavailable(text),
    }
}
