//! Who runs functions besides pods, as FunctionConfigs say.
//!
//! This crate watches these objects and knows nothing of programs and built-in functions: whoever has those is told here,
//! and says what of an object cannot be done.

use crate::function_config::FunctionConfig;

/// Whoever runs functions without pods.
pub trait LocalExecutors: Send + Sync {
    /// The FunctionConfigs in force from now on, by name.
    fn set(&self, configs: Vec<FunctionConfig>);

    /// What one asks for that cannot be done here; none if all of it can.
    fn complaint(&self, config: &FunctionConfig) -> Option<String>;
}

/// There is nobody: everything but pods is a reason to complain.
pub struct NoLocalExecutors;

impl LocalExecutors for NoLocalExecutors {
    fn set(&self, _configs: Vec<FunctionConfig>) {}

    fn complaint(&self, config: &FunctionConfig) -> Option<String> {
        let spec = &config.spec;
        let asked = [
            spec.binary_executor.as_ref().map(|_| "spec.binaryExecutor"),
            spec.go_executor.as_ref().map(|_| "spec.goExecutor"),
        ];
        let asked = asked.into_iter().flatten().collect::<Vec<_>>();
        (!asked.is_empty()).then(|| format!("{}: not available here", asked.join(", ")))
    }
}
