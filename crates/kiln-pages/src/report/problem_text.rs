//! A problem or a result as one text, for formats that show no more than a text and a place.

use super::model::{ReportProblem, ResultReport};

impl ReportProblem {
    /// `Kind namespace/name field: message`
    pub(super) fn text(&self) -> String {
        text(&self.resource, &self.field, &self.message)
    }

    /// The text, and the hint in its own line.
    pub(super) fn text_and_hint(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}\n{hint}", self.text()),
            None => self.text(),
        }
    }

    /// `Kind namespace/name field`; empty if the problem is about none.
    pub(super) fn subject(&self) -> String {
        subject(&self.resource, &self.field)
    }
}

impl ResultReport {
    /// As [`ReportProblem::text`].
    pub(super) fn text(&self) -> String {
        text(&self.resource, &self.field, &self.message)
    }
}

/// Readers of reports refuse a problem without a text.
fn text(resource: &str, field: &str, message: &str) -> String {
    let subject = subject(resource, field);
    match (subject.as_str(), message.trim()) {
        ("", "") => "(no message)".to_owned(),
        ("", _) => message.to_owned(),
        (_, "") => subject,
        _ => format!("{subject}: {message}"),
    }
}

fn subject(resource: &str, field: &str) -> String {
    let parts = [resource.trim(), field.trim()];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}
