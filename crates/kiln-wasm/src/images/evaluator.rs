//! The evaluator of images that are modules.

use std::ffi::OsString;
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
            Some(Resolution::Module(image)) => Some(image.module.digest.to_string()),
            Some(Resolution::NotWasm) | None => None,
        }
    }

    /// The digest of the module that an image is, in hexadecimal; `None` if it is not a module. Looks the image up.
    pub fn module_digest(&self, image: &str, ctx: &RunContext) -> Option<String> {
        let module = self.images.module(image, ctx).ok()?;
        Some(self.shared.keep(module).module.digest.to_string())
    }
}

/// Why an image was not loaded, with all causes.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct ImageNotLoaded(String);

impl WasmImageEvaluator {
    /// Loads a module when its function is found, as kpt does: an error ends the pipeline before its first function runs.
    fn load_for_kpt(&self, image: &str) -> Result<(), FindError> {
        let ctx = RunContext {
            cancel: self.images.options.cancel.clone(),
            ..RunContext::default()
        };
        match self.images.module(image, &ctx) {
            Ok(module) => {
                self.shared.keep(module);
                Ok(())
            }
            Err(error) => {
                let chain = kiln_go::error_chain(&error);
                Err(FindError::refused(ImageNotLoaded(chain)))
            }
        }
    }
}

impl Evaluator for WasmImageEvaluator {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        let Target::Image(image) = &function.target else {
            return Err(FindError::not_found(function));
        };
        let is_module = self.images.options.is_every_image_a_module;
        if is_module {
            self.load_for_kpt(image)?;
        }
        let known = self.images.known(image);
        if let Some(Resolution::Module(image)) = &known {
            // It runs soon.
            self.shared.keep(image.module.clone());
        }
        if !is_module && matches!(known, Some(Resolution::NotWasm)) {
            return Err(FindError::not_found(function));
        }
        let environment = with_values(&function.env, &self.images.options.environment);
        let settings = self.shared.settings(image.clone(), &[], &environment);
        Ok(Found::blocking(ImageRunner {
            shared: Arc::clone(&self.shared),
            images: Arc::clone(&self.images),
            image: image.clone(),
            is_known: is_module || known.is_some(),
            settings,
        }))
    }
}

/// The variables of a function, `NAME=value`. One that is only a name gets our value, or is dropped if we have none.
fn with_values(variables: &[String], ours: &[(OsString, OsString)]) -> Vec<String> {
    let variables = variables.iter();
    let variables = variables.filter_map(|variable| match variable.contains('=') {
        true => Some(variable.clone()),
        false => {
            let mut ours = ours.iter();
            let (_, value) = ours.find(|(name, _)| name == variable.as_str())?;
            Some(format!("{variable}={}", value.to_string_lossy()))
        }
    });
    variables.collect()
}

struct ImageRunner {
    shared: Arc<LoadedState>,
    images: Arc<WasmImages>,
    image: String,
    /// Whether the image is a module for sure.
    is_known: bool,
    /// Those of the image are added to them.
    settings: CallSettings,
}

impl ImageRunner {
    /// The module, and the settings of its call.
    fn load(&self, ctx: &RunContext) -> Result<(Arc<LoadedModule>, CallSettings), WasmImageError> {
        let image = self.images.image_module(&self.image, ctx)?;
        let settings = image.command.settings(&self.settings);
        Ok((self.shared.keep(image.module), settings))
    }
}

impl Runner for ImageRunner {
    fn run(&self, input: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
        let (loaded, settings) = self.load(ctx).map_err(|error| match error {
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
        self.shared.run(&loaded, &settings, input, ctx)
    }

    fn reproducible(&self, ctx: &RunContext) -> Option<ReproducibleCall> {
        let (loaded, settings) = self.load(ctx).ok()?;
        settings.reproducible(&loaded.module, ctx)
    }

    fn is_native(&self) -> bool {
        self.is_known && self.shared.options.is_deterministic()
    }

    fn is_module(&self) -> bool {
        self.is_known
    }
}
