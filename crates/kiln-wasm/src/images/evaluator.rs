//! The evaluator of images that are modules.

use std::sync::Arc;

use kiln_runtime::{
    Evaluator, FindError, Found, FunctionSpec, Input, Outcome, ReproducibleCall, RunContext,
    RunError, Runner, Target,
};

use super::{Resolution, WasmImageError, WasmImages};
use crate::evaluator::{LoadedState, WasmEvaluator};
use crate::run::CallSettings;
use crate::tier::LoadedModule;

/// Runs images that are modules, and leaves all others to the next evaluator. Whether an image is one is known after the
/// first lookup.
#[derive(Clone)]
pub struct WasmImageEvaluator {
    shared: Arc<LoadedState>,
    images: Arc<WasmImages>,
}

impl WasmImageEvaluator {
    /// Runs modules like `evaluator`.
    pub fn new(evaluator: &WasmEvaluator, images: Arc<WasmImages>) -> WasmImageEvaluator {
        WasmImageEvaluator {
            shared: Arc::clone(&evaluator.shared),
            images,
        }
    }

    /// Whether an image is known to be a module. Asks no registry.
    pub fn is_known_module(&self, image: &str) -> bool {
        matches!(self.images.known(image), Some(Resolution::Module(_)))
    }

    /// The digest of the module that an image is known to be, in hexadecimal. Asks no registry.
    pub fn known_module_digest(&self, image: &str) -> Option<String> {
        match self.images.known(image) {
            Some(Resolution::Module(module)) => Some(module.digest.to_string()),
            Some(Resolution::NotWasm) | None => None,
        }
    }

    /// The digest of the module that an image is, in hexadecimal; `None` if it is not a module. Looks the image up.
    pub fn module_digest(&self, image: &str, ctx: &RunContext) -> Option<String> {
        let module = self.images.module(image, ctx).ok()?;
        Some(self.shared.keep(module).module.digest.to_string())
    }
}

impl Evaluator for WasmImageEvaluator {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        let Target::Image(image) = &function.target else {
            return Err(FindError::not_found(function));
        };
        let known = self.images.known(image);
        if let Some(Resolution::Module(module)) = &known {
            // It runs soon.
            self.shared.keep(module.clone());
        }
        let is_module = self.images.options.is_every_image_a_module;
        if !is_module && matches!(known, Some(Resolution::NotWasm)) {
            return Err(FindError::not_found(function));
        }
        let settings = self.shared.settings(image.clone(), &[], &function.env);
        Ok(Found::blocking(ImageRunner {
            shared: Arc::clone(&self.shared),
            images: Arc::clone(&self.images),
            image: image.clone(),
            is_known: is_module || known.is_some(),
            settings,
        }))
    }
}

struct ImageRunner {
    shared: Arc<LoadedState>,
    images: Arc<WasmImages>,
    image: String,
    /// Whether the image is a module for sure.
    is_known: bool,
    settings: CallSettings,
}

impl ImageRunner {
    fn load(&self, ctx: &RunContext) -> Result<Arc<LoadedModule>, WasmImageError> {
        let module = self.images.module(&self.image, ctx)?;
        Ok(self.shared.keep(module))
    }
}

impl Runner for ImageRunner {
    fn run(&self, input: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
        let loaded = self.load(ctx).map_err(|error| match error {
            WasmImageError::Cancelled => RunError::Cancelled,
            error if self.images.options.is_every_image_a_module => {
                RunError::Unavailable(Box::new(error))
            }
            // A module that cannot be run is not left to a container engine, which cannot run it either.
            error @ (WasmImageError::Module { .. } | WasmImageError::Contents { .. }) => {
                RunError::Unavailable(Box::new(error))
            }
            error => RunError::Declined(Box::new(error)),
        })?;
        self.shared.run(&loaded, &self.settings, input, ctx)
    }

    fn reproducible(&self, ctx: &RunContext) -> Option<ReproducibleCall> {
        let loaded = self.load(ctx).ok()?;
        self.settings.reproducible(&loaded.module, ctx)
    }

    fn is_native(&self) -> bool {
        self.is_known && self.shared.options.is_deterministic()
    }

    fn is_module(&self) -> bool {
        self.is_known
    }
}
