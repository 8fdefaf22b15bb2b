//! Results as functions of kyaml's framework make them. Parts that say nothing are left out.

use kiln_krm::results::{Field, File, ResultItem, Severity};

/// A result about a field of a file.
pub(crate) fn item(message: String, field_path: &str, file_path: &str) -> ResultItem {
    let field = Field {
        path: field_path.to_owned(),
        ..Field::default()
    };
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

/// A result without a severity about nothing in particular.
pub(crate) fn note(message: impl Into<String>) -> ResultItem {
    ResultItem {
        message: message.into(),
        ..ResultItem::default()
    }
}

/// The result of a function that could not do its work.
pub(crate) fn failure(message: String) -> ResultItem {
    ResultItem {
        message,
        severity: Severity::Error.as_str().to_owned(),
        ..ResultItem::default()
    }
}
