//! kpt's attribution annotation on resources of the Config Connector: which commands have processed them.

use kiln_krm::Resource;

const KEY: &str = "cnrm.cloud.google.com/blueprint";

/// Adds the annotation. Resources that cannot have annotations stay as they are.
pub(crate) fn attribute(resource: &mut Resource) {
    if !resource.api_version().contains(".cnrm.") {
        return;
    }
    let metadata = resource.root().get("metadata");
    if metadata.is_none_or(|metadata| metadata.is_null() || metadata.is_empty()) {
        return;
    }
    let value = with_function(resource.annotation(KEY).unwrap_or_default());
    let _ = resource.set_annotation(KEY, &value);
}

/// The new value of the annotation.
fn with_function(value: &str) -> String {
    if value.is_empty() {
        return "krm-fn".to_owned();
    }
    if !value.contains("krm-") {
        return format!("{value},krm-fn");
    }
    let mut words = vec!["krm"];
    let parts: Vec<String> = value
        .split(',')
        .map(|part| {
            if !part.contains("krm") {
                return part.to_owned();
            }
            if part.contains("pkg") {
                words.push("pkg");
            }
            words.push("fn");
            if part.contains("live") {
                words.push("live");
            }
            words.join("-")
        })
        .collect();
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::with_function;

    #[test]
    fn the_part_about_krm_is_made_anew() {
        for (before, after) in [
            ("", "krm-fn"),
            ("cnrm/x:y/v1", "cnrm/x:y/v1,krm-fn"),
            ("a,krm-pkg,b", "a,krm-pkg-fn,b"),
            ("krm-pkg-fn-live", "krm-pkg-fn-live"),
            ("krm-live", "krm-fn-live"),
        ] {
            assert_eq!(with_function(before), after);
        }
    }
}
