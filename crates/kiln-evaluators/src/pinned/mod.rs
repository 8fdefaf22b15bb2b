//! Functions with a pin: an evaluator is asked for exactly the version that the pin names.
//!
//! A built-in function runs only if its identity is the one of the pin. All other evaluators of images get the image by its
//! digest, and do not get an image without one. Programs have no pins.

use std::sync::Arc;

use kiln_functions::registry::Registry;
use kiln_krm::image::{ImageRef, with_digest};
use kiln_policy::RunWay;
use kiln_runtime::{Evaluator, FindError, Found, FunctionPin, FunctionSpec, Target};

pub(crate) struct PinnedEvaluator {
    pub(crate) evaluator: Arc<dyn Evaluator>,
    pub(crate) way: RunWay,
}

impl Evaluator for PinnedEvaluator {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        let (Target::Image(image), Some(pin)) = (&function.target, &function.pin) else {
            return self.evaluator.find(function);
        };
        let exact = match self.way {
            // An image that the user maps to a program runs as that program.
            RunWay::Exec => Some(image.clone()),
            RunWay::Native => is_native(image, pin).then(|| image.clone()),
            _ => pin
                .digest
                .as_ref()
                .and_then(|digest| by_digest(image, digest)),
        };
        let exact = exact.ok_or_else(|| FindError::not_found(function))?;
        self.evaluator.find(&FunctionSpec {
            target: Target::Image(exact),
            // A policy that requires a digest sees that the built-in function is the one of the lock file.
            pin: function.pin.clone().filter(|_| self.way == RunWay::Native),
            ..function.clone()
        })
    }

    fn may_deny(&self) -> bool {
        self.evaluator.may_deny()
    }
}

/// Whether the built-in function of an image is the one of the pin.
fn is_native(image: &str, pin: &FunctionPin) -> bool {
    let identity = Registry::builtin().identity(image);
    let identity = identity.as_ref().map(|identity| identity.as_str());
    let native = identity.and_then(|identity| identity.strip_prefix("native:"));
    native.is_some() && native == pin.native.as_deref()
}

/// The name by which evaluators get an image with a pin: `REPOSITORY@DIGEST`; `None` if the image is not a reference.
pub fn by_digest(image: &str, digest: &str) -> Option<String> {
    ImageRef::parse(image).ok()?;
    Some(with_digest(image, digest))
}

#[cfg(test)]
mod tests;
