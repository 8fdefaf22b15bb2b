//! Recognises images that are modules, and fetches the module.
//!
//! | form | recognised by |
//! |---|---|
//! | kpt's | an entry of an index with the platform `js/wasm` |
//! | OCI artifact | a layer of type `application/wasm` |
//! | container image | the architecture `wasm`, and an entrypoint that ends in `.wasm` |

use bytes::Bytes;
use kiln_oci::{
    Descriptor, Digest, ImageConfig, ImageIndex, ImageManifest, ImageReference, Manifest, Platform,
    RegistryClient, RegistryError, RunConfig, select_platform,
};
use kiln_store::ImageMeta;

use super::WasmImageError;
use super::contents::{ContentsProblem, file_at, only_file};
use super::module_command::{ModuleCommand, module_path};

/// The media type of a layer that is a module.
pub(super) const WASM_LAYER: &str = "application/wasm";

/// The architecture of images that are modules.
pub(super) const WASM: &str = "wasm";

/// An image that is a module.
pub(super) struct DescribedModule {
    manifest: ImageManifest,
    form: Form,
}

enum Form {
    /// The only file of the only layer.
    OnlyFile,
    /// The layer itself.
    Layer(Descriptor),
    /// A file, by its absolute path, and how it is run.
    Entrypoint(String, ModuleCommand),
}

impl Form {
    /// The form of a container image; `None` if its entrypoint is not a module.
    fn entrypoint(config: &RunConfig) -> Option<Form> {
        let path = module_path(config)?;
        Some(Form::Entrypoint(path, ModuleCommand::of_image(config)))
    }
}

/// What an image is. `is_asked_for` means that a module is preferred to an image for this machine. Returns the digest of the
/// reference, too.
pub(super) async fn describe(
    client: &RegistryClient,
    reference: &ImageReference,
    is_asked_for: bool,
) -> Result<(Digest, Option<DescribedModule>), WasmImageError> {
    let stored = client.manifest(reference).await?;
    let digest = stored.descriptor.digest.clone();
    let (manifest, platform) = match stored.manifest {
        Manifest::Image(manifest) => (manifest, None),
        Manifest::Index(index) => {
            let for_this_machine = select_platform(&index, &Platform::this_machine());
            let Some(entry) = wasm_entry(&index) else {
                return Ok((digest, None));
            };
            if for_this_machine.is_some() && !is_asked_for {
                return Ok((digest, None));
            }
            let platform = entry.platform.clone();
            let by_digest = reference.with_digest(entry.digest.clone());
            match client.manifest(&by_digest).await?.manifest {
                Manifest::Image(manifest) => (manifest, platform),
                Manifest::Index(_) => return Ok((digest, None)),
            }
        }
    };
    let form = form(client, reference, &manifest, platform).await?;
    let described = form.map(|form| DescribedModule { manifest, form });
    Ok((digest, described))
}

/// The entry of an index that is a module; kpt's form first.
fn wasm_entry(index: &ImageIndex) -> Option<&Descriptor> {
    let entries = || {
        index.manifests.iter().filter_map(|entry| {
            let platform = entry.platform.as_ref()?;
            (platform.architecture == WASM).then_some((entry, platform))
        })
    };
    let kpt = entries().find(|(_, platform)| platform.os == "js");
    kpt.or_else(|| entries().next()).map(|(entry, _)| entry)
}

async fn form(
    client: &RegistryClient,
    reference: &ImageReference,
    manifest: &ImageManifest,
    platform: Option<Platform>,
) -> Result<Option<Form>, WasmImageError> {
    let layer = manifest
        .layers
        .iter()
        .find(|layer| layer.media_type == WASM_LAYER);
    if let Some(layer) = layer {
        return Ok(Some(Form::Layer(layer.clone())));
    }
    if platform
        .as_ref()
        .is_some_and(|platform| platform.os == "js")
    {
        return Ok(Some(Form::OnlyFile));
    }
    let config = config(client, reference, manifest).await?;
    if platform.is_none() && config.architecture != WASM {
        return Ok(None);
    }
    Ok(match Form::entrypoint(&config.config) {
        None if config.os == "js" => Some(Form::OnlyFile),
        form => form,
    })
}

async fn config(
    client: &RegistryClient,
    reference: &ImageReference,
    manifest: &ImageManifest,
) -> Result<ImageConfig, WasmImageError> {
    let bytes = client.blob(reference, &manifest.config).await?;
    let config = ImageConfig::parse(&bytes).map_err(|source| RegistryError::Config {
        image: reference.to_string(),
        source,
    })?;
    Ok(config)
}

impl DescribedModule {
    /// An image of the image store; `None` if it is not a module. `platform` is that for which the store has it.
    pub(super) fn of_stored(
        meta: &ImageMeta,
        manifest: ImageManifest,
        platform: &Platform,
    ) -> Option<DescribedModule> {
        let layer = manifest.layers.iter();
        let mut layer = layer.filter(|layer| layer.media_type == WASM_LAYER);
        let form = match layer.next() {
            Some(layer) => Form::Layer(layer.clone()),
            None if platform.os == "js" || meta.platform.os == "js" => Form::OnlyFile,
            None if meta.platform.architecture == WASM => Form::entrypoint(&meta.run)?,
            None => return None,
        };
        Some(DescribedModule { manifest, form })
    }

    /// How the image runs the module.
    pub(super) fn command(&self) -> ModuleCommand {
        match &self.form {
            Form::Entrypoint(_, command) => command.clone(),
            Form::OnlyFile | Form::Layer(_) => ModuleCommand::default(),
        }
    }

    /// The module.
    pub(super) async fn fetch(
        self,
        client: &RegistryClient,
        reference: &ImageReference,
    ) -> Result<Bytes, WasmImageError> {
        let wrong = |source: ContentsProblem| WasmImageError::Contents {
            image: reference.to_string(),
            source,
        };
        for layer in self.layers().map_err(wrong)? {
            let bytes = client.blob(reference, layer).await?;
            if let Some(module) = self.module_in(layer, bytes).map_err(wrong)? {
                return Ok(module);
            }
        }
        Err(wrong(self.missing()))
    }

    /// The layers in which the module can be, in the order in which they are read: the uppermost one has the file.
    pub(super) fn layers(&self) -> Result<Vec<&Descriptor>, ContentsProblem> {
        let layers = &self.manifest.layers;
        match &self.form {
            Form::Layer(layer) => Ok(vec![layer]),
            Form::OnlyFile if layers.len() != 1 => Err(ContentsProblem::LayerCount(layers.len())),
            Form::OnlyFile => Ok(layers.iter().collect()),
            Form::Entrypoint(..) => Ok(layers.iter().rev().collect()),
        }
    }

    /// The module in the bytes of a layer; `None` if it can be in the next one.
    pub(super) fn module_in(
        &self,
        layer: &Descriptor,
        bytes: Bytes,
    ) -> Result<Option<Bytes>, ContentsProblem> {
        match &self.form {
            Form::Layer(_) => Ok(Some(bytes)),
            Form::OnlyFile => only_file(&layer.media_type, &bytes).map(Some),
            Form::Entrypoint(path, _) => file_at(path, &layer.media_type, &bytes),
        }
    }

    /// Why there is no module in any layer.
    pub(super) fn missing(&self) -> ContentsProblem {
        match &self.form {
            Form::Entrypoint(path, _) => ContentsProblem::NoFile(path.clone()),
            Form::Layer(_) | Form::OnlyFile => ContentsProblem::Empty,
        }
    }
}
