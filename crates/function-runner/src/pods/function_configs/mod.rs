//! FunctionConfigs that map images to programs and built-in functions.
//!
//! A mapping that this process cannot serve (the evaluator is disabled, the program is missing, the version is not
//! built in) is reported in the status of the FunctionConfig; the image goes to the next evaluator.

use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

use kiln_evaluators::FunctionConfigs;
use kiln_functions::registry::{FunctionInfo, Registry};
use kiln_pods::{FunctionConfig, LocalExecutors, tag_matches};

use crate::config::RunnerConfig;

/// The FunctionConfigs in force.
pub(crate) struct ClusterFunctionConfigs {
    prefix: String,
    /// Directory of programs; `None` if the exec evaluator is disabled.
    functions: Option<PathBuf>,
    /// Whether the native evaluator is enabled.
    has_native: bool,
    configs: RwLock<Vec<FunctionConfig>>,
}

impl ClusterFunctionConfigs {
    pub(crate) fn new(config: &RunnerConfig) -> ClusterFunctionConfigs {
        ClusterFunctionConfigs {
            prefix: config.default_image_prefix.clone(),
            functions: config.evaluators.exec.then(|| config.functions.clone()),
            has_native: config.evaluators.native,
            configs: RwLock::default(),
        }
    }

    /// The result for the first FunctionConfig that has one.
    fn first<T>(&self, lookup: impl Fn(&FunctionConfig) -> Option<T>) -> Option<T> {
        let configs = self.configs.read().unwrap_or_else(PoisonError::into_inner);
        configs.iter().find_map(lookup)
    }

    /// Resolves a path relative to the directory of programs.
    fn program_at(&self, path: &str) -> Option<PathBuf> {
        Some(self.functions.as_ref()?.join(path))
    }

    fn unsupported_program(&self, config: &FunctionConfig) -> Option<String> {
        let executor = config.spec.binary_executor.as_ref()?;
        match self.program_at(&executor.path) {
            None => Some("spec.binaryExecutor: --disable-runtimes has exec".to_owned()),
            Some(program) if program.is_file() => None,
            Some(program) => Some(format!(
                "spec.binaryExecutor.path: {} does not exist",
                program.display()
            )),
        }
    }

    fn unsupported_builtin(&self, config: &FunctionConfig) -> Option<String> {
        let executor = config.spec.go_executor.as_ref()?;
        if !self.has_native {
            return Some("spec.goExecutor: --disable-runtimes has native".to_owned());
        }
        let name = config.builtin_name()?;
        let unknown = executor.tags.iter().filter(|tag| !has_version(name, tag));
        let unknown: Vec<String> = unknown.map(|tag| format!("{name}:{tag}")).collect();
        let unknown = Some(unknown.join(", ")).filter(|unknown| !unknown.is_empty())?;
        Some(format!("spec.goExecutor: not built in: {unknown}"))
    }
}

impl LocalExecutors for ClusterFunctionConfigs {
    fn set(&self, configs: Vec<FunctionConfig>) {
        *self.configs.write().unwrap_or_else(PoisonError::into_inner) = configs;
    }

    fn unsupported(&self, config: &FunctionConfig) -> Option<String> {
        let reasons = [
            self.unsupported_program(config),
            self.unsupported_builtin(config),
        ];
        let reasons: Vec<String> = reasons.into_iter().flatten().collect();
        Some(reasons.join("; ")).filter(|reasons| !reasons.is_empty())
    }

    fn runs(&self, image: &str) -> bool {
        let is_native = || Registry::builtin().find_image(image).is_some();
        self.program(image).is_some()
            || self.has_native && (self.builtin(image).is_some() || is_native())
    }
}

impl FunctionConfigs for ClusterFunctionConfigs {
    fn program(&self, image: &str) -> Option<PathBuf> {
        self.first(|config| {
            let path = config.program_for(image, &self.prefix)?;
            self.program_at(path).filter(|program| program.is_file())
        })
    }

    fn builtin(&self, image: &str) -> Option<String> {
        self.first(|config| {
            let (name, tag) = config.builtin_for(image, &self.prefix)?;
            is_builtin(name, &tag).then(|| format!("{name}:{tag}"))
        })
    }
}

fn is_builtin(name: &str, tag: &str) -> bool {
    let function = Registry::builtin().function(name);
    function.is_some_and(|function| function.version(tag).is_some())
}

/// Whether a version of a built-in function satisfies a constraint.
fn has_version(name: &str, constraint: &str) -> bool {
    let function = Registry::builtin().function(name);
    let mut tags = function.into_iter().flat_map(FunctionInfo::version_tags);
    is_builtin(name, constraint) || tags.any(|tag| tag_matches(constraint, tag))
}

#[cfg(test)]
mod tests;
