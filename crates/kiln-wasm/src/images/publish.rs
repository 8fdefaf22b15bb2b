//! Pushes modules, in kpt's form or as an OCI artifact.

use std::io::Write as _;

use bytes::Bytes;
use flate2::{Compression, GzBuilder};
use kiln_oci::media_type::{DOCKER_LIST, DOCKER_MANIFEST, OCI_MANIFEST};
use kiln_oci::{
    Descriptor, Digest, ImageIndex, ImageLayout, ImageManifest, ImageReference, LayerBuilder,
    Manifest, Platform, RegistryClient, RegistryError,
};
use serde_json::{Value, json};

use super::WasmImageError;
use super::contents::ContentsProblem;
use super::fetch::{WASM, WASM_LAYER};
use crate::module::{ModuleError, WasmInterface, WasmModule};

/// The form of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImageFormat {
    /// kpt's: an entry `js/wasm` of an index.
    Kpt,
    /// An OCI artifact, as WebAssembly runtimes use it.
    Oci,
}

/// What was pushed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PushedModule {
    pub image: Digest,
    /// The index, in kpt's form.
    pub index: Option<Digest>,
}

const DOCKER_CONFIG: &str = "application/vnd.docker.container.image.v1+json";
const DOCKER_LAYER: &str = "application/vnd.docker.image.rootfs.diff.tar.gzip";
const WASM_CONFIG: &str = "application/vnd.wasm.config.v0+json";

/// Pushes an OCI artifact.
pub(super) async fn push_artifact(
    client: &RegistryClient,
    reference: &ImageReference,
    module: &Bytes,
) -> Result<PushedModule, WasmImageError> {
    let mut layout = ImageLayout::default();
    let root = artifact(&mut layout, module)?;
    let image = client.push(reference, &layout, &root).await?;
    Ok(PushedModule { image, index: None })
}

/// Pushes an image in kpt's form, with kpt's steps. The file is read by the second one.
pub(super) async fn push_for_kpt(
    client: &RegistryClient,
    reference: &ImageReference,
    file_name: &str,
    read: impl FnOnce() -> Result<Bytes, WasmImageError>,
) -> Result<PushedModule, WasmImageError> {
    // Before anything is pushed, because it may be refused.
    let mut index = existing_index(client, reference).await?;
    let mut layout = ImageLayout::default();
    let mut root = kpt_image(&mut layout, file_name, &read()?)
        .map_err(|source| contents_error(reference, source))?;
    let by_digest = reference.with_digest(root.digest.clone());
    let pushed = client.push(&by_digest, &layout, &root).await;
    let image = pushed.map_err(|error| {
        let step = format!("failed to push image {reference}");
        WasmImageError::from(error).in_step(step)
    })?;
    let platform = Platform {
        architecture: WASM.to_owned(),
        os: "js".to_owned(),
        variant: None,
    };
    index
        .manifests
        .retain(|entry| entry.platform.as_ref() != Some(&platform));
    root.platform = Some(platform);
    index.manifests.push(root);
    let pushed = client.push_index(reference, &index).await;
    let index = pushed
        .map_err(|error| WasmImageError::from(error).in_step("unable to write image index"))?;
    Ok(PushedModule {
        image,
        index: Some(index),
    })
}

fn contents_error(reference: &ImageReference, source: ContentsProblem) -> WasmImageError {
    WasmImageError::Contents {
        image: reference.to_string(),
        source,
    }
}

/// The index that the reference has now, or a new one. As kpt writes it, it is a list of Docker's.
async fn existing_index(
    client: &RegistryClient,
    reference: &ImageReference,
) -> Result<ImageIndex, WasmImageError> {
    match client.manifest(reference).await {
        Ok(stored) => match stored.manifest {
            Manifest::Index(index) => Ok(ImageIndex {
                media_type: Some(DOCKER_LIST.to_owned()),
                ..index
            }),
            Manifest::Image(_) => Err(WasmImageError::NotAnIndex {
                found: stored.descriptor.media_type,
            }),
        },
        Err(RegistryError::NotFound { .. }) => Ok(ImageIndex {
            schema_version: 2,
            media_type: Some(DOCKER_LIST.to_owned()),
            manifests: Vec::new(),
        }),
        Err(error) => {
            let step = "unexpected error when trying to check the remote registry";
            Err(WasmImageError::from(error).in_step(step))
        }
    }
}

/// An image in kpt's form: one layer with one file, a config without a platform.
fn kpt_image(
    layout: &mut ImageLayout,
    file_name: &str,
    module: &[u8],
) -> Result<Descriptor, ContentsProblem> {
    let archive = LayerBuilder::default()
        .file(file_name, 0o644, module)
        .and_then(LayerBuilder::finish)
        .map_err(std::io::Error::other)?;
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::default());
    encoder.write_all(&archive)?;
    let layer = layout.add_blob(DOCKER_LAYER, encoder.finish()?.into());
    let config = json!({
        "architecture": "",
        "os": "",
        "config": {},
        "rootfs": { "type": "layers", "diff_ids": [Digest::of(&archive)] },
    });
    let config = layout.add_blob(DOCKER_CONFIG, to_bytes(&config)?);
    add_manifest(layout, DOCKER_MANIFEST, config, layer)
}

/// An OCI artifact: the layer is the module.
fn artifact(layout: &mut ImageLayout, module: &Bytes) -> Result<Descriptor, WasmImageError> {
    let layer = layout.add_blob(WASM_LAYER, module.clone());
    let config = json!({
        "architecture": WASM,
        "os": system(module),
        "layerDigests": [layer.digest.clone()],
    });
    let bytes = to_bytes(&config).map_err(WasmImageError::Client)?;
    let config = layout.add_blob(WASM_CONFIG, bytes);
    add_manifest(layout, OCI_MANIFEST, config, layer)
        .map_err(|error| WasmImageError::Client(std::io::Error::other(error)))
}

/// What a module runs on. The name is only a description: nothing here depends on it.
fn system(module: &Bytes) -> &'static str {
    match WasmModule::parse(module.clone()) {
        Ok(module) if module.interface() == WasmInterface::GoJs => "js",
        Err(ModuleError::Component) => "wasip2",
        Ok(_) | Err(_) => "wasip1",
    }
}

fn add_manifest(
    layout: &mut ImageLayout,
    media_type: &str,
    config: Descriptor,
    layer: Descriptor,
) -> Result<Descriptor, ContentsProblem> {
    let manifest = ImageManifest {
        schema_version: 2,
        media_type: Some(media_type.to_owned()),
        config,
        layers: vec![layer],
    };
    let manifest = serde_json::to_vec(&manifest).map_err(std::io::Error::from)?;
    Ok(layout.add_blob(media_type, manifest.into()))
}

fn to_bytes(value: &Value) -> Result<Bytes, std::io::Error> {
    Ok(serde_json::to_vec(value)?.into())
}
