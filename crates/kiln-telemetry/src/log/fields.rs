//! Fields of a log record.

use std::error::Error;
use std::fmt;

use tracing::field::{Field, Visit};

/// Longer values are truncated: a value may be the whole output of a function.
const MAX_VALUE: usize = 8 * 1024;

/// Message and fields, in the order in which they were recorded.
#[derive(Clone, Default, Debug)]
pub(super) struct RecordFields {
    pub(super) message: String,
    pub(super) named: Vec<(&'static str, FieldValue)>,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum FieldValue {
    Text(String),
    /// A number or boolean, written without quotes.
    Bare(String),
}

impl RecordFields {
    pub(super) fn set_message(&mut self, message: String) {
        self.message = message;
    }

    pub(super) fn set_number(&mut self, name: &'static str, number: u64) {
        self.set(name, FieldValue::Bare(number.to_string()));
    }

    pub(super) fn set_text(&mut self, name: &'static str, text: &str) {
        self.set(name, FieldValue::Text(truncated(text)));
    }

    /// Adds the fields of `other`, which replace fields of the same name.
    pub(super) fn merge(&mut self, other: &RecordFields) {
        for (name, value) in &other.named {
            self.set(name, value.clone());
        }
    }

    fn set(&mut self, name: &'static str, value: FieldValue) {
        // Fields for the exporter of traces.
        if name.starts_with("otel.") {
            return;
        }
        match self.named.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.named.push((name, value)),
        }
    }

    fn set_field(&mut self, field: &Field, value: FieldValue) {
        match value {
            FieldValue::Text(text) | FieldValue::Bare(text) if field.name() == "message" => {
                self.message = text;
            }
            value => self.set(field.name(), value),
        }
    }
}

impl Visit for RecordFields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.set_field(field, FieldValue::Text(truncated(&format!("{value:?}"))));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set_field(field, FieldValue::Text(truncated(value)));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set_field(field, FieldValue::Bare(value.to_string()));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set_field(field, FieldValue::Bare(value.to_string()));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set_field(field, FieldValue::Bare(value.to_string()));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        let text = value.to_string();
        // JSON has no infinity and no NaN.
        let value = if value.is_finite() {
            FieldValue::Bare(text)
        } else {
            FieldValue::Text(text)
        };
        self.set_field(field, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        let text = kiln_go::error_chain(value);
        self.set_field(field, FieldValue::Text(truncated(&text)));
    }
}

/// The text, or its beginning with the length of the whole.
fn truncated(text: &str) -> String {
    if text.len() <= MAX_VALUE {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(MAX_VALUE);
    let (kept, _) = text.split_at(end);
    format!("{kept}… ({} bytes)", text.len())
}
