//! What is wrong with a value of a record: in go-yaml's words, which name Go's types, and in plain words.

use kiln_go::quote;

use crate::similar::similar_name;

/// What is wrong with a value. Displayed in go-yaml's words.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MisfitProblem {
    /// The value is of another type.
    #[error("cannot unmarshal {tag}{shown} into {type_name}")]
    WrongType {
        /// The type of the value, such as `!!seq`.
        tag: String,
        /// The beginning of a scalar after a space.
        shown: String,
        /// What Go calls the expected type.
        type_name: String,
    },
    /// The record has no such field.
    #[error("field {key} not found in type {type_name}")]
    UnknownField {
        /// The key in the file.
        key: String,
        /// What Go calls the record.
        type_name: String,
        /// The fields of the record.
        known: &'static [&'static str],
    },
    /// The field is set twice, the second time by a merge key.
    #[error("field {key} already set in type {type_name}")]
    RepeatedField {
        /// The key in the file.
        key: String,
        /// What Go calls the record.
        type_name: String,
    },
    /// A mapping has the same key twice.
    #[error("mapping key {} already defined at line {first_line}", quote(key))]
    DuplicateKey {
        /// The key in the file.
        key: String,
        /// The line of the first one.
        first_line: usize,
    },
}

impl MisfitProblem {
    /// The problem without the names of Go's types.
    pub fn plain_text(&self) -> String {
        match self {
            MisfitProblem::WrongType {
                tag,
                shown,
                type_name,
            } => {
                let found = match (tag.as_str(), shown.trim_start()) {
                    ("!!seq", _) => "a list".to_owned(),
                    ("!!map", _) => "a mapping".to_owned(),
                    (_, shown) => shown.to_owned(),
                };
                format!("expected {}, not {found}", expected(type_name))
            }
            MisfitProblem::UnknownField { key, .. } => format!("unknown field {}", quote(key)),
            MisfitProblem::RepeatedField { key, .. } => {
                format!("field {} is set twice", quote(key))
            }
            MisfitProblem::DuplicateKey { key, first_line } => {
                format!("key {} is already set at line {first_line}", quote(key))
            }
        }
    }

    /// What the user can do: the field that was meant, or all fields that exist.
    pub fn hint(&self) -> String {
        match self {
            MisfitProblem::UnknownField { key, known, .. } => {
                match similar_name(key, known.iter().copied()) {
                    Some(similar) => format!("did you mean {}?", quote(similar)),
                    None => format!("the fields here are {}", known.join(", ")),
                }
            }
            MisfitProblem::WrongType { .. } => "fix the value".to_owned(),
            MisfitProblem::RepeatedField { .. } | MisfitProblem::DuplicateKey { .. } => {
                "remove one of the two".to_owned()
            }
        }
    }
}

/// A type of Go as a phrase.
fn expected(type_name: &str) -> &'static str {
    /// Texts that have a type of their own in Go.
    const TEXTS: &[&str] = &[
        "ConditionStatus",
        "OriginType",
        "Severity",
        "UpdateStrategyType",
        "string",
    ];
    let name = type_name.trim_start_matches('*');
    let without_package = name.rsplit('.').next().unwrap_or(name);
    match name {
        "int" => "an integer",
        "bool" => "true or false",
        "map[string]string" => "a mapping of texts",
        _ if name.starts_with("[]") => "a list",
        _ if TEXTS.contains(&without_package) => "a text",
        _ => "a mapping",
    }
}
