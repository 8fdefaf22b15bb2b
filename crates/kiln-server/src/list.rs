//! Lists on their way through: whether they are lists, and what results are in them.
//!
//! Programs get and give text, so most lists are never parsed: that they are lists is plain to see ([`is_plain_list`]).
//! Whatever is not so plain is parsed, and the words for what is wrong are those of the Go SDK.

use kiln_krm::gotext::quote;
use kiln_krm::results::{ResultItem, Severity, read_results};
use kiln_yaml::{Document, SequenceStyle, is_ordinary, parse_all, parse_first};
use memchr::{memchr_iter, memmem};

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

/// Whether a text is a list, as far as that can be seen without parsing it. Nothing follows if it cannot be seen.
///
/// What it has for results may still be wrong, see [`read`].
pub(crate) fn is_plain_list(text: &str) -> bool {
    let has_one_kind = || {
        let again = memmem::find_iter(text.as_bytes(), b"\nkind:").count();
        again + usize::from(text.starts_with("kind:")) == 1
    };
    looks_like_list(text) && has_one_kind() && is_ordinary(text)
}

/// The field `results` of a list that has its fields, and nothing else, at the beginning of lines. That holds for what is
/// plainly a list and for what we wrote.
pub(crate) fn results_part(text: &str) -> Option<&str> {
    const FIELD: &str = "results:";
    let bytes = text.as_bytes();
    let is_field = |at: &usize| {
        let begins = *at == 0 || bytes.get(at - 1) == Some(&b'\n');
        begins
            && matches!(
                bytes.get(at + FIELD.len()),
                None | Some(b' ' | b'\n' | b'\r')
            )
    };
    let start = memmem::find_iter(bytes, FIELD).find(is_field)?;
    let part = text.get(start..)?;
    let ends = |at: &usize| {
        let next = part.as_bytes().get(at + 1);
        !matches!(next, None | Some(b' ' | b'-' | b'#' | b'\n' | b'\r'))
    };
    let end = memchr_iter(b'\n', part.as_bytes()).find(ends);
    part.get(..end.map_or(part.len(), |end| end + 1))
}

/// Reads a list for the results in it. Text without anything is a list without anything.
pub(crate) fn read(text: &str) -> Result<Results, ListError> {
    if text.trim().is_empty() {
        return Ok(Results::default());
    }
    if is_plain_list(text) {
        return read_written(text);
    }
    let documents = parse_all(text.as_bytes()).map_err(ListError::Malformed)?;
    let [document] = documents.as_slice() else {
        return Err(ListError::Count(documents.len()));
    };
    let root = document.root();
    let kind = root.get("kind").map(|kind| kind.value());
    if kind != Some("ResourceList") {
        return Err(ListError::Kind(kind.unwrap_or_default().to_owned()));
    }
    results(document)
}

/// Reads the results of a list of which [`results_part`] holds.
pub(crate) fn read_written(list: &str) -> Result<Results, ListError> {
    let Some(part) = results_part(list) else {
        return Ok(Results::default());
    };
    let document = parse_first(part.as_bytes()).map_err(ListError::Malformed)?;
    document
        .as_ref()
        .map_or_else(|| Ok(Results::default()), results)
}

/// The results of a document that has them at its root.
fn results(document: &Document) -> Result<Results, ListError> {
    let Some(results) = document.root().get("results") else {
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
