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
use crate::module::{WasmInterface, WasmModule};

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

pub(super) async fn push(
    client: &RegistryClient,
    reference: &ImageReference,
    file_name: &str,
    module: &WasmModule,
    format: ImageFormat,
) -> Result<PushedModule, WasmImageError> {
    match format {
        ImageFormat::Oci => {
            let mut layout = ImageLayout::default();
            let root = artifact(&mut layout, module)?;
            let image = client.push(reference, &layout, &root).await?;
            Ok(PushedModule { image, index: None })
        }
        ImageFormat::Kpt => {
            // Before anything is pushed, because it may be refused.
            let mut index = existing_index(client, reference).await?;
            let mut layout = ImageLayout::default();
            let mut root = kpt_image(&mut layout, file_name, module)
                .map_err(|source| contents_error(reference, source))?;
            let by_digest = reference.with_digest(root.digest.clone());
            let image = client.push(&by_digest, &layout, &root).await?;
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
            let index = client.push_index(reference, &index).await?;
            Ok(PushedModule {
                image,
                index: Some(index),
            })
        }
    }
}

fn contents_error(reference: &ImageReference, source: ContentsProblem) -> WasmImageError {
    WasmImageError::Contents {
        image: reference.to_string(),
        source,
    }
}

/// The index that the reference has now, or a new one.
async fn existing_index(
    client: &RegistryClient,
    reference: &ImageReference,
) -> Result<ImageIndex, WasmImageError> {
    match client.manifest(reference).await {
        Ok(stored) => match stored.manifest {
            Manifest::Index(index) => Ok(ImageIndex {
                media_type: Some(stored.descriptor.media_type),
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
        Err(error) => Err(error.into()),
    }
}

/// An image in kpt's form: one layer with one file, a config without a platform.
fn kpt_image(
    layout: &mut ImageLayout,
    file_name: &str,
    module: &WasmModule,
) -> Result<Descriptor, ContentsProblem> {
    let archive = LayerBuilder::default()
        .file(file_name, 0o644, &module.bytes)
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
fn artifact(layout: &mut ImageLayout, module: &WasmModule) -> Result<Descriptor, WasmImageError> {
    let layer = layout.add_blob(WASM_LAYER, module.bytes().clone());
    let os = match module.interface {
        WasmInterface::Wasi1 => "wasip1",
        WasmInterface::GoJs => "js",
    };
    let config = json!({
        "architecture": WASM,
        "os": os,
        "layerDigests": [layer.digest.clone()],
    });
    let bytes = to_bytes(&config).map_err(WasmImageError::Client)?;
    let config = layout.add_blob(WASM_CONFIG, bytes);
    add_manifest(layout, OCI_MANIFEST, config, layer)
        .map_err(|error| WasmImageError::Client(std::io::Error::other(error)))
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
