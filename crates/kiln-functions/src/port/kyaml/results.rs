//! Results of kyaml's framework. Empty parts are omitted.

use kiln_krm::results::{Field, File, ResultItem, Severity};

/// A result about a field of a file.
pub(crate) fn item(message: String, field_path: &str, file_path: &str) -> ResultItem {
    let field = Field::at(field_path);
    let file = File {
        path: file_path.to_owned(),
        ..File::default()
    };
    ResultItem {
        message,
        field: (!field_path.is_empty()).then_some(field),
        file: (!file_path.is_empty()).then_some(file),
        ..ResultItem::default()
    }
}

/// A result without a severity that concerns no particular resource.
pub(crate) fn note(message: impl Into<String>) -> ResultItem {
    ResultItem {
        message: message.into(),
        ..ResultItem::default()
    }
}

/// The result of a function that failed.
pub(crate) fn failure(message: String) -> ResultItem {
    ResultItem::new(Severity::Error, message)
}
