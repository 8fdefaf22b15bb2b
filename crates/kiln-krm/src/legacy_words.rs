//! The older command's messages about nodes of the wrong kind.

use kiln_yaml::{EditError, NodeRef};

/// An error of an edit in the older words; `path` leads to the node in question.
pub fn wrong_kind(error: &EditError, path: &str) -> String {
    match error {
        EditError::WrongKind {
            expected,
            found,
            contents,
        } => format!(
            "wrong Node Kind for {path} expected: {} was {}: value: {{{}}}",
            expected.go_name(),
            found.go_name(),
            contents.trim()
        ),
        other => other.to_string(),
    }
}

/// The path of the node that prevents annotations.
pub fn path_to_annotations(resource: NodeRef<'_>) -> &'static str {
    match resource.get("metadata") {
        _ if !resource.is_mapping() => "",
        Some(metadata) if metadata.is_mapping() => "metadata.annotations",
        _ => "metadata",
    }
}
