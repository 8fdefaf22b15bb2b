//! Lists on their way through: whether they are lists, and what results are in them.
//!
//! Programs get and give text, so most lists are never parsed: that they are lists is plain to see ([`is_plain_list`]).
//! Whatever is not so plain is parsed, and the words for what is wrong are those of the Go SDK.

use kiln_krm::gotext::quote;
use kiln_krm::results::{ResultItem, Severity, read_results};
use kiln_yaml::{Document, SequenceStyle, is_ordinary, parse_all};
use memchr::memmem;

/// Why a text is no list, in the words of the Go SDK.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum ListError {
    #[error(
        "failed to parse ResourceList as a single KubeObject: failed to parse input bytes: {0}"
    )]
    Malformed(kiln_yaml::Error),
    #[error(
        "failed to parse ResourceList as a single KubeObject: expected exactly one object, got {0}"
    )]
    Count(usize),
    #[error("input was of unexpected kind {}; expected ResourceList", quote(.0))]
    Kind(String),
    #[error("failed to decode results: {0}")]
    Results(String),
}

/// What a function reported.
#[derive(Clone, Debug, Default)]
pub(crate) struct Results {
    pub(crate) items: Vec<ResultItem>,
    /// As the function wrote them.
    pub(crate) text: String,
}

impl Results {
    /// Whether the function itself says that something is wrong.
    pub(crate) fn has_errors(&self) -> bool {
        let mut items = self.items.iter();
        items.any(|item| item.known_severity() == Some(Severity::Error))
    }

    /// As the Go SDK puts them into one text.
    pub(crate) fn message(&self) -> String {
        let items: Vec<String> = self.items.iter().map(item_message).collect();
        items.join("\n\n")
    }
}

fn item_message(item: &ResultItem) -> String {
    let severity = match item.severity.as_str() {
        "" => "info",
        severity => severity,
    };
    let reference = item.resource_ref.as_ref().map(|reference| {
        let parts = [
            &reference.api_version,
            &reference.kind,
            &reference.namespace,
            &reference.name,
        ];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        parts.map(String::as_str).collect::<Vec<&str>>().join("/")
    });
    let mut text = format!("[{severity}]");
    if let Some(reference) = reference.filter(|reference| !reference.is_empty()) {
        text.push(' ');
        text.push_str(&reference);
    }
    if let Some(field) = &item.field {
        text.push(' ');
        text.push_str(&field.path);
    }
    text.push_str(": ");
    text.push_str(&item.message);
    text
}

/// Whether a text has the kind of a list where lists have it. What has not may still be one.
pub(crate) fn looks_like_list(text: &str) -> bool {
    const KIND: &str = "kind: ResourceList";
    let ends = |at: usize| {
        matches!(
            text.as_bytes().get(at + KIND.len()),
            None | Some(b'\n' | b'\r')
        )
    };
    let begins = |at: usize| at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n');
    memmem::find_iter(text.as_bytes(), KIND).any(|at| begins(at) && ends(at))
}

/// Whether a text is a list without results, as far as that can be seen without parsing it: an ordinary text has at the
/// beginning of a line nothing but the fields of its root. Nothing follows if it cannot be seen.
pub(crate) fn is_plain_list(text: &str) -> bool {
    let has_one_kind = || {
        let again = memmem::find_iter(text.as_bytes(), b"\nkind:").count();
        again + usize::from(text.starts_with("kind:")) == 1
    };
    looks_like_list(text) && !may_have_results(text) && has_one_kind() && is_ordinary(text)
}

/// Whether a text that looks like a list may have results.
pub(crate) fn may_have_results(text: &str) -> bool {
    text.starts_with("results:") || memmem::find(text.as_bytes(), b"\nresults:").is_some()
}

/// Reads a list for the results in it. Text without anything is a list without anything.
pub(crate) fn read(text: &str) -> Result<Results, ListError> {
    if is_plain_list(text) || text.trim().is_empty() {
        return Ok(Results::default());
    }
    parse(text)
}

fn parse(text: &str) -> Result<Results, ListError> {
    let documents = parse_all(text.as_bytes()).map_err(ListError::Malformed)?;
    let [document] = documents.as_slice() else {
        return Err(ListError::Count(documents.len()));
    };
    let root = document.root();
    let kind = root.get("kind").map(|kind| kind.value());
    if kind != Some("ResourceList") {
        return Err(ListError::Kind(kind.unwrap_or_default().to_owned()));
    }
    let Some(results) = root.get("results") else {
        return Ok(Results::default());
    };
    let items = read_results(results).map_err(|error| ListError::Results(error.to_string()))?;
    let text = if items.is_empty() {
        String::new()
    } else {
        kiln_yaml::to_string(&Document::from_node(results), SequenceStyle::Compact)
    };
    Ok(Results { items, text })
}

#[cfg(test)]
mod tests;
