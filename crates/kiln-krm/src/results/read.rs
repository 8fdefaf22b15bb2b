//! From the `results` of a function's output to items.

use kiln_yaml::{Document, NodeRef, SequenceStyle};

use super::ResultItem;
use super::schema::yaml_text;
use crate::meta::given;
use crate::record::{DecodeError, Reader, UnknownKeys};

/// The `results` of a function's output are not results.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ResultsError {
    /// They are not valid by themselves, such as with an alias of something outside of them.
    #[error(transparent)]
    Yaml(#[from] kiln_yaml::Error),
    /// They are of another shape. Lines count from the start of the results.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// A field that holds others is a scalar or a list. Holds the wrong kind and the node's text.
    #[error("wrong node kind: expected MappingNode but got {0}: node contents:\n{1}")]
    NodeKind(&'static str, String),
}

/// Reads the `results` of a function's output.
pub fn read_results(results: NodeRef<'_>) -> Result<Vec<ResultItem>, ResultsError> {
    let is_empty = !results.is_scalar() && results.is_empty();
    if results.is_null() || is_empty {
        return Ok(Vec::new());
    }
    // The older SDK puts an object around the list.
    let list = given(results, "items").unwrap_or(results);
    // Read once more from its own text, as kpt does, so that the lines in messages are those of the results.
    let text = kiln_yaml::to_string(&Document::from_node(list), SequenceStyle::Compact);
    let Some(doc) = kiln_yaml::parse(&text)? else {
        return Ok(Vec::new());
    };
    let mut items: Vec<ResultItem> = Reader::document(&doc, UnknownKeys::Ignore)?;
    let nodes = doc.root().items().filter(|node| !node.is_null());
    for (item, node) in items.iter_mut().zip(nodes) {
        take_older_fields(item, node)?;
    }
    Ok(items)
}

/// Takes over what older functions put elsewhere. The texts are YAML: quotes stay.
fn take_older_fields(item: &mut ResultItem, node: NodeRef<'_>) -> Result<(), ResultsError> {
    if let Some(metadata) = inner(node, "resourceRef", "metadata")? {
        let resource_ref = item.resource_ref.get_or_insert_default();
        if let Some(name) = field(metadata, "name")? {
            resource_ref.name = yaml_text(name);
        }
        if let Some(namespace) = field(metadata, "namespace")? {
            let namespace = yaml_text(namespace);
            if !matches!(namespace.as_str(), "" | "''") {
                resource_ref.namespace = namespace;
            }
        }
    }
    if let Some(suggested) = inner(node, "field", "suggestedValue")? {
        item.field.get_or_insert_default().proposed_value = yaml_text(suggested);
    }
    Ok(())
}

fn inner<'a>(
    node: NodeRef<'a>,
    outer: &str,
    key: &str,
) -> Result<Option<NodeRef<'a>>, ResultsError> {
    match field(node, outer)? {
        Some(node) => field(node, key),
        None => Ok(None),
    }
}

fn field<'a>(node: NodeRef<'a>, key: &str) -> Result<Option<NodeRef<'a>>, ResultsError> {
    if node.is_null() || node.is_mapping() {
        return Ok(node.get(key));
    }
    let kind = node.kind().go_name();
    let text = kiln_yaml::to_string(&Document::from_node(node), SequenceStyle::Compact);
    Err(ResultsError::NodeKind(kind, text))
}
