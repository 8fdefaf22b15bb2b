//! Images whose evaluator is configured by a table of this machine or by FunctionConfig objects of a cluster.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kiln_exec::{ExecEvaluator, WatchedTable};
use kiln_functions::NativeEvaluator;
use kiln_krm::image::with_prefix;
use kiln_runtime::{Evaluator, FindError, Found, FunctionSpec, Target};

use crate::function_links::linked_function;

/// The programs and built-in functions that FunctionConfig objects of the cluster map images to. The objects come,
/// change and go. Images are full names.
pub trait FunctionConfigs: Send + Sync {
    /// The program that runs an image, if the program exists.
    fn program(&self, image: &str) -> Option<PathBuf>;

    /// The built-in function of an image, as `NAME:VERSION`.
    fn builtin(&self, image: &str) -> Option<String>;
}

/// Programs, and images that FunctionConfigs or else a table map to programs.
pub(crate) struct ConfiguredPrograms {
    pub(crate) programs: ExecEvaluator,
    pub(crate) table: Option<WatchedTable>,
    pub(crate) prefix: String,
    pub(crate) configs: Option<Arc<dyn FunctionConfigs>>,
    pub(crate) own_program: Option<PathBuf>,
}

impl ConfiguredPrograms {
    fn program(&self, image: &str) -> Option<PathBuf> {
        let configs = self.configs.as_ref();
        let configured = configs.and_then(|it| it.program(&with_prefix(&self.prefix, image)));
        configured.or_else(|| self.table.as_ref()?.program(image))
    }

    fn run(&self, program: &Path, image: &str) -> Result<Found, FindError> {
        if let Some(function) = linked_function(program, image, self.own_program.as_deref()) {
            return Ok(self.programs.find_as(program, function));
        }
        let program = program.to_string_lossy().into_owned();
        self.programs
            .find(&FunctionSpec::new(Target::Program(program)))
    }
}

impl Evaluator for ConfiguredPrograms {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        let Target::Image(image) = &function.target else {
            return self.programs.find(function);
        };
        match self.program(image) {
            Some(program) => self.run(&program, image),
            None => Err(FindError::not_found(function)),
        }
    }
}

/// Built-in functions: those that FunctionConfigs map images to, then those with the image's own name, full or short.
pub(crate) struct ConfiguredNative {
    pub(crate) native: NativeEvaluator,
    pub(crate) prefix: String,
    pub(crate) configs: Option<Arc<dyn FunctionConfigs>>,
}

impl Evaluator for ConfiguredNative {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        let Target::Image(image) = &function.target else {
            return Err(FindError::not_found(function));
        };
        let image = with_prefix(&self.prefix, image);
        let builtin = self
            .configs
            .as_ref()
            .and_then(|configs| configs.builtin(&image));
        self.native
            .find(&FunctionSpec::image(builtin.unwrap_or(image)))
    }
}

/// Images by their full names, where callers send short ones.
pub(crate) struct PrefixedImages {
    pub(crate) image: Arc<dyn Evaluator>,
    pub(crate) prefix: String,
}

impl Evaluator for PrefixedImages {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        let Target::Image(image) = &function.target else {
            return Err(FindError::not_found(function));
        };
        let target = Target::Image(with_prefix(&self.prefix, image));
        self.image.find(&FunctionSpec {
            target,
            ..function.clone()
        })
    }
}
