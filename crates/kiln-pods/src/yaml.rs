//! YAML that people write into settings, as JSON.

use serde_json::Value;

/// Reads one document; what is empty is null.
pub(crate) fn read(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    serde_saphyr::from_str(text).map_err(|error| {
        // The rest is a drawing of the place.
        let text = error.to_string();
        text.lines().next().unwrap_or_default().to_owned()
    })
}
