//! `ResourceList`: the wire format of functions.
//!
//! It is always written in compact style, whatever style a resource's own document has.

use std::num::NonZeroUsize;

use kiln_yaml::{Document, Encoder, NodeRef};

use crate::dialect::Dialect;
use crate::resource::Resource;

/// The kind of a function's input and output.
pub const RESOURCE_LIST_KIND: &str = "ResourceList";
/// The current apiVersion.
const RESOURCE_LIST_API_VERSION: &str = "config.kubernetes.io/v1";
/// The apiVersion of the older command.
pub const LEGACY_RESOURCE_LIST_API_VERSION: &str = "config.kubernetes.io/v1alpha1";

/// Resources, and the other fields of the list.
#[derive(Clone, Debug, Default)]
pub struct ResourceList {
    /// The object around the items; `None` for plain documents.
    pub wrapper: Option<Wrapper>,
    pub items: Vec<Resource>,
    pub function_config: Option<Document>,
    /// The results of a function, as it wrote them.
    pub results: Option<Document>,
}

/// The type of a list. No version is preferred when reading; `v1alpha1` and `v1beta1` read like `v1`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrapper {
    pub api_version: String,
    /// `kind`: `ResourceList` or `List`
    pub kind: String,
}

impl Wrapper {
    /// The list that functions get.
    pub fn resource_list(dialect: Dialect) -> Wrapper {
        let api_version = match dialect {
            Dialect::Current => RESOURCE_LIST_API_VERSION,
            Dialect::Legacy => LEGACY_RESOURCE_LIST_API_VERSION,
        };
        Wrapper {
            api_version: api_version.to_owned(),
            kind: RESOURCE_LIST_KIND.to_owned(),
        }
    }
}

/// A list as text: `apiVersion`, `kind`, `items`, then `functionConfig` and `results` if there are any.
pub fn write_list(
    wrapper: &Wrapper,
    items: &[Resource],
    function_config: Option<&Document>,
    results: Option<&Document>,
) -> String {
    write_list_on(NonZeroUsize::MIN, wrapper, items, function_config, results)
}

/// The same on several threads, with the same result.
pub fn write_list_on(
    threads: NonZeroUsize,
    wrapper: &Wrapper,
    items: &[Resource],
    function_config: Option<&Document>,
    results: Option<&Document>,
) -> String {
    let encoder = Encoder::new();
    encode_list(encoder, threads, wrapper, items, function_config, results).finish()
}

/// The same, but `None` if the text is longer than `limit` bytes, without building all of it.
pub fn write_list_within(
    limit: usize,
    threads: NonZeroUsize,
    wrapper: &Wrapper,
    items: &[Resource],
    function_config: Option<&Document>,
    results: Option<&Document>,
) -> Option<String> {
    let encoder = Encoder::with_limit(limit);
    let encoder = encode_list(encoder, threads, wrapper, items, function_config, results);
    (!encoder.is_over_limit()).then(|| encoder.finish())
}

fn encode_list(
    mut encoder: Encoder,
    threads: NonZeroUsize,
    wrapper: &Wrapper,
    items: &[Resource],
    function_config: Option<&Document>,
    results: Option<&Document>,
) -> Encoder {
    let mut list = Document::new_mapping();
    let root = list.root().id();
    for (key, value) in [
        ("apiVersion", &wrapper.api_version),
        ("kind", &wrapper.kind),
    ] {
        let key = list.new_scalar(key, "");
        let value = list.new_scalar(value, "");
        list.push_entry(root, key, value);
    }
    let key = list.new_scalar("items", "");
    let sequence = list.new_sequence_node();
    list.push_entry(root, key, sequence);
    for (key, part) in [("functionConfig", function_config), ("results", results)] {
        if let Some(part) = part {
            let key = list.new_scalar(key, "");
            let value = list.import(part.root());
            list.push_entry(root, key, value);
        }
    }
    let items: Vec<NodeRef<'_>> = items.iter().map(Resource::root).collect();
    encoder.document_with_items(threads, &list, sequence, &items);
    encoder
}

#[cfg(test)]
mod tests;
