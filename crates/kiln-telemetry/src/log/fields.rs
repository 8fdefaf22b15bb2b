//! Names and values of a record.

use std::error::Error;
use std::fmt;

use tracing::field::{Field, Visit};

/// Values beyond so many bytes are cut: a log is not the place for a function's whole output.
const MAX_VALUE: usize = 8 * 1024;

/// What a record says, in the order in which it was said.
#[derive(Clone, Default, Debug)]
pub(super) struct Fields {
    pub(super) message: String,
    pub(super) named: Vec<(&'static str, Value)>,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Value {
    Text(String),
    /// A number or a truth value, as it is written.
    Bare(String),
}

impl Fields {
    pub(super) fn set_message(&mut self, message: String) {
        self.message = message;
    }

    pub(super) fn set_number(&mut self, name: &'static str, number: u64) {
        self.set(name, Value::Bare(number.to_string()));
    }

    pub(super) fn set_text(&mut self, name: &'static str, text: &str) {
        self.set(name, Value::Text(cut(text)));
    }

    /// Takes over what others say; what is said twice is said as they do.
    pub(super) fn merge(&mut self, other: &Fields) {
        for (name, value) in &other.named {
            self.set(name, value.clone());
        }
    }

    fn set(&mut self, name: &'static str, value: Value) {
        // Those are for the exporter of traces.
        if name.starts_with("otel.") {
            return;
        }
        match self.named.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.named.push((name, value)),
        }
    }

    fn set_field(&mut self, field: &Field, value: Value) {
        match value {
            Value::Text(text) | Value::Bare(text) if field.name() == "message" => {
                self.message = text;
            }
            value => self.set(field.name(), value),
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.set_field(field, Value::Text(cut(&format!("{value:?}"))));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set_field(field, Value::Text(cut(value)));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set_field(field, Value::Bare(value.to_string()));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set_field(field, Value::Bare(value.to_string()));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set_field(field, Value::Bare(value.to_string()));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        let text = value.to_string();
        // JSON has no word for the others.
        let value = if value.is_finite() {
            Value::Bare(text)
        } else {
            Value::Text(text)
        };
        self.set_field(field, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        let mut text = value.to_string();
        let mut source = value.source();
        while let Some(cause) = source {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            source = cause.source();
        }
        self.set_field(field, Value::Text(cut(&text)));
    }
}

/// The text, or its beginning with a note of how long it is.
fn cut(text: &str) -> String {
    if text.len() <= MAX_VALUE {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(MAX_VALUE);
    let (kept, _) = text.split_at(end);
    format!("{kept}… ({} bytes)", text.len())
}
