//! Reading the output of a function so that no resource is lost silently.
//!
//! kpt reads an empty output, and a list whose `items` is not a list, as a list without resources: all resources of the
//! input are then removed. Here a function that removes everything has to print an empty list.

use kiln_go::quote;
use kiln_yaml::{Kind, NodeRef};

use super::{Marks, Pieces, ReadError, TrailingText, is_wrapper, unwrap};
use crate::dialect::Dialect;
use crate::list::ResourceList;
use crate::resource::Resource;

/// How much of an output an error shows, in bytes.
const SHOWN: usize = 60;

/// Why the output of a function is not a list of resources.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AnswerError {
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It has no document. Holds the text.
    #[error("it printed {0} instead of a ResourceList")]
    Nothing(String),
    /// It is a list without any field: the Go SDK prints at least a `functionConfig`.
    #[error("it printed a ResourceList without items")]
    NoItems,
    /// A ResourceList is one of several documents, so that it is unclear which resources to keep.
    #[error("it printed a ResourceList as one of {0} documents instead of one alone")]
    NotAlone(usize),
    /// It is a list that has `items` more than once.
    #[error("it printed a {0} that has items more than once")]
    RepeatedItems(String),
    /// It is a list whose `items` is not a list.
    #[error("it printed a {kind} whose items are {found} instead of a list")]
    Items {
        /// `ResourceList` or `List`
        kind: String,
        /// The kind of the items.
        found: &'static str,
    },
}

/// Reads the output of a function: a ResourceList, a List or plain documents, at least one.
pub fn read_answer(bytes: Vec<u8>, dialect: Dialect) -> Result<ResourceList, AnswerError> {
    let marks = Marks {
        path: None,
        package_path: None,
        style: false,
        trailing_text: TrailingText::Refused,
    };
    let mut pieces = Pieces::read(&bytes, dialect, &marks)?;
    if pieces.documents.is_empty() {
        return Err(AnswerError::Nothing(shown(&bytes)));
    }
    drop(bytes);
    let mut items: Vec<Resource> = pieces.documents.drain(..).map(Resource::new).collect();
    let is_only = pieces.count == 1;
    let Some(wrapper) = items.pop_if(|resource| is_only && is_wrapper(resource)) else {
        if items.iter().any(|item| item.kind() == "ResourceList") {
            return Err(match is_only {
                true => AnswerError::NoItems,
                false => AnswerError::NotAlone(pieces.count),
            });
        }
        return Ok(ResourceList {
            items,
            ..ResourceList::default()
        });
    };
    let is_items = |(key, _): &(NodeRef<'_>, NodeRef<'_>)| key.value() == "items";
    if wrapper.root().entries().filter(is_items).count() > 1 {
        return Err(AnswerError::RepeatedItems(wrapper.kind().to_owned()));
    }
    // The Go SDK prints a list without the field when no resource is left.
    match wrapper.root().get("items") {
        Some(found) if !found.is_sequence() => Err(AnswerError::Items {
            kind: wrapper.kind().to_owned(),
            found: described(found),
        }),
        _ => Ok(unwrap(wrapper)),
    }
}

fn described(node: NodeRef<'_>) -> &'static str {
    match node.kind() {
        Kind::Scalar if node.is_null() => "null",
        Kind::Scalar => "a scalar",
        Kind::Mapping => "a mapping",
        Kind::Sequence => "a list",
        Kind::Alias => "an alias",
    }
}

/// The beginning of an output, for an error.
fn shown(bytes: &[u8]) -> String {
    let start = bytes.get(..SHOWN).unwrap_or(bytes);
    let text = quote(&String::from_utf8_lossy(start));
    match bytes.len() {
        0 => "nothing".to_owned(),
        length if length > SHOWN => format!("{text}... ({length} bytes)"),
        _ => text,
    }
}
