//! Images in registries.

use std::str::FromStr;

use kiln_oci::{Platform, Reference, ReferenceError, Registry, RegistryError, RegistryOptions};

use super::{
    ImageError, Layer, LayerError, PackageImage, PackageImages, SCHEME, contents_of_layers,
};

/// Finds packages in images of registries.
pub struct RegistryImages {
    registry: Registry,
    runtime: tokio::runtime::Runtime,
    largest: u64,
}

/// Why a package cannot be had from a registry.
#[derive(Debug, thiserror::Error)]
pub enum RegistryImageError {
    /// The image has no such name.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// The registry cannot be asked, or does not have it.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The image is no package.
    #[error("image {image} is no package")]
    Layer {
        /// The image.
        image: String,
        /// Why.
        #[source]
        error: LayerError,
    },
}

impl RegistryImages {
    /// Packages of so many bytes at most.
    pub fn new(mut options: RegistryOptions, largest: u64) -> std::io::Result<RegistryImages> {
        options.limits.blob = largest;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok(RegistryImages {
            registry: Registry::new(options),
            runtime,
            largest,
        })
    }

    async fn fetch(&self, image: &str) -> Result<PackageImage, RegistryImageError> {
        let reference = reference(image)?;
        let found = self
            .registry
            .image(&reference, &Platform::this_machine())
            .await?;
        let layer_error = |error| RegistryImageError::Layer {
            image: image.to_owned(),
            error,
        };
        let size = found
            .layers
            .iter()
            .try_fold(0u64, |sum, layer| sum.checked_add(layer.size));
        if size.is_none_or(|size| size > self.largest) {
            return Err(layer_error(LayerError::TooLarge(self.largest)));
        }
        let mut blobs = Vec::new();
        for layer in &found.layers {
            blobs.push(self.registry.blob(&reference, layer).await?);
        }
        let layers: Vec<Layer<'_>> = found
            .layers
            .iter()
            .zip(&blobs)
            .map(|(layer, bytes)| Layer {
                media_type: &layer.media_type,
                bytes,
            })
            .collect();
        let contents = contents_of_layers(&layers, self.largest).map_err(layer_error)?;
        Ok(PackageImage {
            contents,
            digest: found.digest.to_string(),
        })
    }
}

fn reference(image: &str) -> Result<Reference, ReferenceError> {
    Reference::from_str(image.strip_prefix(SCHEME).unwrap_or(image))
}

impl PackageImages for RegistryImages {
    fn read(&self, image: &str) -> Result<PackageImage, ImageError> {
        Ok(self.runtime.block_on(self.fetch(image))?)
    }

    fn tags(&self, image: &str) -> Result<Vec<String>, ImageError> {
        let reference = reference(image)?;
        Ok(self.runtime.block_on(self.registry.tags(&reference))?)
    }

    fn digest(&self, image: &str) -> Result<String, ImageError> {
        let reference = reference(image)?;
        let manifest = self.runtime.block_on(self.registry.manifest(&reference))?;
        Ok(manifest.descriptor.digest.to_string())
    }
}

impl std::fmt::Debug for RegistryImages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RegistryImages").finish_non_exhaustive()
    }
}
