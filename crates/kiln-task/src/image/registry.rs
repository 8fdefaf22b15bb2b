//! Reads packages from images in registries.

use std::str::FromStr;

use kiln_oci::{
    ImageReference, ImageReferenceError, PlainHttp, Platform, RegistryClient, RegistryError,
    RegistryOptions, is_local,
};

use super::{
    ImageError, Layer, LayerError, PackageImage, PackageImages, SCHEME, contents_of_layers,
};

/// Pulls the images of packages, with a runtime for its requests.
pub struct RegistryImages {
    options: RegistryOptions,
    registry: RegistryClient,
    runtime: tokio::runtime::Runtime,
    largest: u64,
}

#[derive(Debug, thiserror::Error)]
enum RegistryImageError {
    #[error(transparent)]
    Reference(#[from] ImageReferenceError),
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error("image {image} is not a package")]
    Layer {
        image: String,
        #[source]
        error: LayerError,
    },
}

impl RegistryImages {
    /// Refuses packages that are larger than `largest` bytes.
    pub fn new(mut options: RegistryOptions, largest: u64) -> std::io::Result<RegistryImages> {
        options.limits.blob = largest;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok(RegistryImages {
            registry: RegistryClient::new(options.clone()),
            options,
            runtime,
            largest,
        })
    }

    /// The client for the registry of an image. A registry on this machine gets credentials even without TLS, because the traffic
    /// does not leave the machine.
    fn registry_of(&self, reference: &ImageReference) -> RegistryClient {
        if !is_local(reference.registry()) {
            return self.registry.clone();
        }
        let mut options = self.options.clone();
        let plain_http = options.plain_http.entry(reference.registry().to_owned());
        plain_http.or_insert(PlainHttp::WithCredentials);
        RegistryClient::new(options)
    }

    async fn fetch(&self, image: &str) -> Result<PackageImage, RegistryImageError> {
        let reference = reference(image)?;
        let registry = self.registry_of(&reference);
        let found = registry
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
        let diff_ids = found.config.diff_ids(found.layers.len());
        let diff_ids = diff_ids.map_err(|error| layer_error(error.into()))?;
        let mut blobs = Vec::new();
        for layer in &found.layers {
            blobs.push(registry.blob(&reference, layer).await?);
        }
        let layers: Vec<Layer<'_>> = found
            .layers
            .iter()
            .zip(&blobs)
            .zip(&diff_ids)
            .map(|((layer, bytes), diff_id)| Layer {
                media_type: &layer.media_type,
                bytes,
                diff_id: diff_id.as_ref(),
            })
            .collect();
        let contents = contents_of_layers(&layers, self.largest).map_err(layer_error)?;
        Ok(PackageImage {
            contents,
            digest: found.digest.to_string(),
        })
    }
}

fn reference(image: &str) -> Result<ImageReference, ImageReferenceError> {
    ImageReference::from_str(image.strip_prefix(SCHEME).unwrap_or(image))
}

impl PackageImages for RegistryImages {
    fn read(&self, image: &str) -> Result<PackageImage, ImageError> {
        Ok(self.runtime.block_on(self.fetch(image))?)
    }

    fn tags(&self, image: &str) -> Result<Vec<String>, ImageError> {
        let reference = reference(image)?;
        let registry = self.registry_of(&reference);
        Ok(self.runtime.block_on(registry.tags(&reference))?)
    }

    fn digest(&self, image: &str) -> Result<String, ImageError> {
        let reference = reference(image)?;
        let registry = self.registry_of(&reference);
        let manifest = self.runtime.block_on(registry.manifest(&reference))?;
        Ok(manifest.descriptor.digest.to_string())
    }
}

impl std::fmt::Debug for RegistryImages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RegistryImages").finish_non_exhaustive()
    }
}
