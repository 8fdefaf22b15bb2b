//! Settings of pods: flags, the pod cache config file, FunctionConfig objects and templates.

pub(crate) mod cache_config;
pub(crate) mod cache_file;
pub(crate) mod current_templates;
pub(crate) mod function_config;
pub(crate) mod overrides;
pub(crate) mod pool_specs;
pub(crate) mod template;

use serde_json::Value;

/// Parses one YAML document; an empty one is null.
pub(crate) fn read_yaml(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    serde_saphyr::from_str(text).map_err(|error| {
        // The other lines show the position.
        let text = error.to_string();
        text.lines().next().unwrap_or_default().to_owned()
    })
}
