//! Modules in the image store: pulled there, or imported from an archive on a machine without a registry.

use kiln_oci::{ImageReference, Manifest, Platform};
use kiln_store::{Store, StoredImage};

use super::Resolution;
use super::fetch::{DescribedModule, WASM};
use crate::module::{MAX_MODULE, WasmModule};

/// The platforms of images that are modules, kpt's first.
pub fn module_platforms() -> [Platform; 3] {
    ["js", "wasip1", "wasi"].map(|os| Platform {
        architecture: WASM.to_owned(),
        os: os.to_owned(),
        variant: None,
    })
}

/// What an image is; `None` if the store does not have it, or has a module that cannot be used. `is_asked_for` means that
/// a module is preferred to an image for this machine.
pub(super) fn resolve(
    store: &Store,
    reference: &ImageReference,
    is_asked_for: bool,
) -> Option<Resolution> {
    for platform in [Platform::this_machine()]
        .into_iter()
        .chain(module_platforms())
    {
        let Ok(Some(image)) = store.find(reference, &platform) else {
            continue;
        };
        match describe(store, &image, &platform) {
            Some(described) => {
                let module = module(store, &described)?;
                return Some(Resolution::module(module, described.command()));
            }
            None if is_asked_for => {}
            None => return Some(Resolution::NotWasm),
        }
    }
    None
}

/// `None` if the image is not a module.
fn describe(store: &Store, image: &StoredImage, platform: &Platform) -> Option<DescribedModule> {
    let meta = image.meta();
    let stored = store.manifest(&meta.manifest_digest).ok()??;
    match stored.manifest {
        Manifest::Image(manifest) => DescribedModule::of_stored(meta, manifest, platform),
        Manifest::Index(_) => None,
    }
}

fn module(store: &Store, described: &DescribedModule) -> Option<WasmModule> {
    for layer in described.layers().ok()? {
        let bytes = store.blob(&layer.digest, MAX_MODULE).ok()??;
        if let Some(module) = described.module_in(layer, bytes.into()).ok()? {
            return WasmModule::parse(module).ok();
        }
    }
    None
}
