//! Checks lists that pass through, and reads the results in them.
//!
//! Programs read and write text, so most lists are never parsed: it is plain that they are lists ([`is_plain_list`]).
//! Everything else is parsed; the error messages are those of the Go SDK that Porch uses.
//!
//! A request may be empty. An answer may not ([`read_answer`]): a caller assumes that the function removed every
//! resource that is missing from the answer. So an answer without a list, or with `items` that are not a list, is an
//! error here.

use kiln_go::quote;
use kiln_krm::results::{ResultItem, Severity, read_results};
use kiln_yaml::{Document, Kind, NodeRef, SequenceStyle, is_ordinary, parse_all, parse_first};
use memchr::memmem;

use crate::options::Words;
use plain_fields::{field_part, has_plain_fields};

mod plain_fields;

/// Why a text is not a list, in the words of the Go SDK.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum ListError {
    #[error("failed to parse input bytes: failed to parse input bytes: {0}")]
    Malformed(kiln_yaml::Error),
    #[error("failed to parse input bytes: failed to extract objects: unhandled node kind {0}")]
    NotAnObject(u8),
    #[error("failed to parse input bytes: expected exactly one object, got {0}")]
    Count(usize),
    #[error("input was of unexpected kind {}; expected ResourceList", quote(.0))]
    Kind(String),
    #[error("failed when tried to get functionConfig: wrong type, got: {0}")]
    FunctionConfig(&'static str),
    #[error("failed when tried to get items: incorrect type, was {0}")]
    Items(&'static str),
    #[error("failed to extract objects from items: unhandled node kind {0}")]
    Item(u8),
    #[error("failed when trying to get results: incorrect type, was {0}")]
    ResultsType(&'static str),
    #[error("failed to decode results: {0}")]
    Results(String),
}

/// The results that a function reported.
#[derive(Clone, Debug, Default)]
pub(crate) struct Results {
    pub(crate) items: Vec<ResultItem>,
    /// As the function wrote them.
    pub(crate) text: String,
}

impl Results {
    /// Whether a result is an error.
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

/// Whether a text has the kind of a list in the usual position. Other texts may still be lists.
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

/// Whether a text is a list, as far as that shows without parsing it. False does not mean that it is not a list.
///
/// Its results may still be malformed, see [`read`].
pub(crate) fn is_plain_list(text: &str) -> bool {
    let has_one_kind = || {
        let again = memmem::find_iter(text.as_bytes(), b"\nkind:").count();
        again + usize::from(text.starts_with("kind:")) == 1
    };
    looks_like_list(text) && has_one_kind() && is_ordinary(text)
}

/// How a text was found to be a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ListShape {
    /// By its lines, see [`is_plain_list`].
    Plain,
    /// By parsing it, or not at all.
    Unknown,
}

/// Checks that the text of a request is a list with readable results, as [`read`] does.
pub(crate) fn check(text: &str) -> Result<ListShape, ListError> {
    if is_plain_list(text) {
        return read_written(text).map(|_| ListShape::Plain);
    }
    if !text.trim().is_empty() {
        results(&only_document(text.as_bytes())?)?;
    }
    Ok(ListShape::Unknown)
}

/// The field `results` of a list that has only its fields at the beginning of lines. That holds for plain lists and for
/// what we wrote.
pub(crate) fn results_part(text: &str) -> Option<&str> {
    field_part(text, "results")
}

/// Reads the results in the list of a request. An empty text is an empty list.
pub(crate) fn read(text: &str) -> Result<Results, ListError> {
    if text.trim().is_empty() {
        return Ok(Results::default());
    }
    if is_plain_list(text) {
        return read_written(text);
    }
    results(&only_document(text.as_bytes())?)
}

/// Reads the results in the answer of a function; an error if Porch's wrapper would not accept it as a list.
///
/// The runner is more lenient than the wrapper in one point: it does not check the configuration in an answer, because
/// Porch's runner passes it on unchanged.
pub(crate) fn read_answer(answer: &[u8], words: Words) -> Result<Results, ListError> {
    if let Ok(text) = std::str::from_utf8(answer)
        && is_plain_list(text)
        && has_plain_fields(text)
    {
        return read_written(text);
    }
    let document = only_document(answer)?;
    let root = document.root();
    if let Some(config) = root.get("functionConfig")
        && words == Words::Wrapper
        && !config.is_mapping()
    {
        return Err(ListError::FunctionConfig(go_type(config)));
    }
    if let Some(items) = root.get("items") {
        if !items.is_sequence() {
            return Err(ListError::Items(go_type(items)));
        }
        if let Some(item) = items.items().find(|item| !item.is_mapping()) {
            return Err(ListError::Item(go_kind(item)));
        }
    }
    results(&document)
}

/// Whether an answer that has the kind of a list can be accepted without parsing it: its items are plainly resources,
/// and it has no results.
pub(crate) fn is_plain_answer(text: &str) -> bool {
    results_part(text).is_none() && has_plain_fields(text)
}

/// The one document of a text, if it is a list by its kind.
fn only_document(text: &[u8]) -> Result<Document, ListError> {
    let mut documents = parse_all(text).map_err(ListError::Malformed)?;
    let roots = || documents.iter().map(Document::root);
    if let Some(root) = roots().find(|root| !root.is_mapping()) {
        return Err(ListError::NotAnObject(go_kind(root)));
    }
    let count = documents.len();
    let document = documents.pop().filter(|_| count == 1);
    let document = document.ok_or(ListError::Count(count))?;
    let kind = document.root().get("kind");
    let kind = kind
        .filter(|kind| kind.tag() == "!!str")
        .map(NodeRef::value);
    match kind {
        Some("ResourceList") => Ok(document),
        kind => Err(ListError::Kind(kind.unwrap_or_default().to_owned())),
    }
}

/// The number that Go's YAML library has for a kind of node.
fn go_kind(node: NodeRef<'_>) -> u8 {
    match node.kind() {
        Kind::Sequence => 2,
        Kind::Mapping => 4,
        Kind::Scalar => 8,
        Kind::Alias => 16,
    }
}

/// The type that the Go SDK has for a kind of node.
fn go_type(node: NodeRef<'_>) -> &'static str {
    match node.kind() {
        Kind::Sequence => "*internal.SliceVariant",
        Kind::Mapping => "*internal.MapVariant",
        Kind::Scalar => "*internal.scalarVariant",
        // The SDK panics.
        Kind::Alias => "an alias",
    }
}

/// Reads the results of a list for which [`results_part`] holds.
pub(crate) fn read_written(list: &str) -> Result<Results, ListError> {
    let Some(part) = results_part(list) else {
        return Ok(Results::default());
    };
    let document = parse_first(part.as_bytes()).map_err(ListError::Malformed)?;
    document
        .as_ref()
        .map_or_else(|| Ok(Results::default()), results)
}

/// The results of a document that has them at its root. As in the SDK, a value that is neither a list nor has one in
/// `items` means no results.
fn results(document: &Document) -> Result<Results, ListError> {
    let list = match document.root().get("results") {
        Some(results) if results.is_mapping() => results.get("items"),
        results => results.filter(|results| results.is_sequence()),
    };
    let Some(list) = list else {
        return Ok(Results::default());
    };
    if !list.is_sequence() {
        return Err(ListError::ResultsType(go_type(list)));
    }
    let items = read_results(list).map_err(|error| ListError::Results(error.to_string()))?;
    let text = if items.is_empty() {
        String::new()
    } else {
        kiln_yaml::to_string(&Document::from_node(list), SequenceStyle::Compact)
    };
    Ok(Results { items, text })
}

#[cfg(test)]
mod tests;
