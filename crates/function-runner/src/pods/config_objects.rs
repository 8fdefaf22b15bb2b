//! FunctionConfigs that say which program or built-in function runs an image.
//!
//! What they ask for and cannot have (the runtime is off, the program is not there, the version is not built in) is left to
//! whoever is asked next, and told in their status.

use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

use function_runner::{Config, Listed};
use kiln_functions::registry::Registry;
use kiln_pods::LocalExecutors;
use kiln_pods::function_config::FunctionConfig;

/// The FunctionConfigs in force.
pub(crate) struct ConfigObjects {
    prefix: String,
    /// Where programs are; none if none are run.
    functions: Option<PathBuf>,
    /// Whether built-in functions are run.
    has_native: bool,
    configs: RwLock<Vec<FunctionConfig>>,
}

impl ConfigObjects {
    pub(crate) fn new(config: &Config) -> ConfigObjects {
        ConfigObjects {
            prefix: config.default_image_prefix.clone(),
            functions: config.runtimes.exec.then(|| config.functions.clone()),
            has_native: config.runtimes.native,
            configs: RwLock::default(),
        }
    }

    /// The first answer that there is.
    fn first<T>(&self, answer: impl Fn(&FunctionConfig) -> Option<T>) -> Option<T> {
        let configs = self.configs.read().unwrap_or_else(PoisonError::into_inner);
        configs.iter().find_map(answer)
    }

    /// A program by itself, or below the directory of functions.
    fn program_at(&self, path: &str) -> Option<PathBuf> {
        Some(self.functions.as_ref()?.join(path))
    }

    fn program_complaint(&self, config: &FunctionConfig) -> Option<String> {
        let executor = config.spec.binary_executor.as_ref()?;
        match self.program_at(&executor.path) {
            None => Some("spec.binaryExecutor: --disable-runtimes has exec".to_owned()),
            Some(program) if program.is_file() => None,
            Some(program) => Some(format!(
                "spec.binaryExecutor.path: {} is not there",
                program.display()
            )),
        }
    }

    fn builtin_complaint(&self, config: &FunctionConfig) -> Option<String> {
        let executor = config.spec.go_executor.as_ref()?;
        if !self.has_native {
            return Some("spec.goExecutor: --disable-runtimes has native".to_owned());
        }
        let name = config.builtin_name()?;
        let unknown = executor.tags.iter().filter(|tag| !is_builtin(name, tag));
        let unknown: Vec<String> = unknown.map(|tag| format!("{name}:{tag}")).collect();
        let unknown = Some(unknown.join(", ")).filter(|unknown| !unknown.is_empty())?;
        Some(format!("spec.goExecutor: not built in: {unknown}"))
    }
}

impl LocalExecutors for ConfigObjects {
    fn set(&self, configs: Vec<FunctionConfig>) {
        *self.configs.write().unwrap_or_else(PoisonError::into_inner) = configs;
    }

    fn complaint(&self, config: &FunctionConfig) -> Option<String> {
        let complaints = [
            self.program_complaint(config),
            self.builtin_complaint(config),
        ];
        let complaints: Vec<String> = complaints.into_iter().flatten().collect();
        Some(complaints.join("; ")).filter(|complaints| !complaints.is_empty())
    }
}

impl Listed for ConfigObjects {
    fn program(&self, image: &str) -> Option<PathBuf> {
        self.first(|config| {
            let path = config.program_for(image, &self.prefix)?;
            self.program_at(path).filter(|program| program.is_file())
        })
    }

    fn builtin(&self, image: &str) -> Option<String> {
        self.first(|config| {
            let (name, tag) = config.builtin_for(image, &self.prefix)?;
            is_builtin(name, tag).then(|| format!("{name}:{tag}"))
        })
    }
}

fn is_builtin(name: &str, tag: &str) -> bool {
    let function = Registry::builtin().function(name);
    function.is_some_and(|function| function.behaviour(tag).is_some())
}

#[cfg(test)]
mod tests;
