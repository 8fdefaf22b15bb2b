//! Removing internal annotations that a function returned in unexpected positions.
//!
//! Resources go to a function with internal annotations, one of which is a directory of the machine. They are removed
//! from `metadata.annotations` before files are written. A function that edits lines, or that puts one resource into
//! another, can return them anywhere: under another key, twice, or deep in a field. Those that the inputs have outside
//! of their annotations belong to the user and stay.

use std::collections::HashSet;
use std::sync::OnceLock;

use kiln_krm::Resource;
use kiln_krm::annotations::{
    ID, INDEX, LEGACY_ID, LEGACY_INDEX, LEGACY_PATH, MIGRATION_ID, PACKAGE_PATH, PATH, RESOURCE_ID,
    SEQINDENT,
};
use kiln_yaml::{NodeId, NodeRef};

/// The keys of all internal annotations.
const KEYS: [&str; 10] = [
    PATH,
    INDEX,
    SEQINDENT,
    PACKAGE_PATH,
    ID,
    MIGRATION_ID,
    RESOURCE_ID,
    LEGACY_PATH,
    LEGACY_INDEX,
    LEGACY_ID,
];

/// The internal annotations of a function's inputs, collected when the first output needs them.
#[derive(Default)]
pub(crate) struct GivenAnnotations {
    collected: OnceLock<Collected>,
}

/// Keys with their values.
type Pairs = HashSet<(String, String)>;

struct Collected {
    /// Those in the annotations of inputs.
    given: Pairs,
    /// Those elsewhere in the inputs.
    of_the_user: Pairs,
}

impl GivenAnnotations {
    /// Removes internal annotations that the function got and returned elsewhere.
    pub(crate) fn remove_strays(&self, output: &mut Resource, inputs: &[Resource]) {
        let found = strays(output.root());
        if found.is_empty() {
            return;
        }
        let Collected { given, of_the_user } = self.collected.get_or_init(|| Collected::of(inputs));
        let is_ours =
            |stray: &&Stray| given.contains(&stray.pair) && !of_the_user.contains(&stray.pair);
        let keys: HashSet<NodeId> = found
            .iter()
            .filter(is_ours)
            .map(|stray| stray.key)
            .collect();
        let mappings: HashSet<NodeId> = found
            .iter()
            .filter(is_ours)
            .map(|stray| stray.mapping)
            .collect();
        let mut emptied = HashSet::new();
        for mapping in mappings {
            if remove_entries(output, mapping, |key, _| keys.contains(&key.id())) {
                emptied.insert(mapping);
            }
        }
        if emptied.is_empty() {
            return;
        }
        let all: Vec<NodeId> = mappings_of(output.root())
            .map(|mapping| mapping.id())
            .collect();
        for mapping in all {
            remove_entries(output, mapping, |_, value| emptied.contains(&value.id()));
        }
    }
}

impl Collected {
    fn of(inputs: &[Resource]) -> Collected {
        let mut collected = Collected {
            given: HashSet::new(),
            of_the_user: HashSet::new(),
        };
        for input in inputs {
            let own = input.annotations().filter(|(key, _)| KEYS.contains(key));
            let own = own.map(|(key, value)| (key.to_owned(), value.to_owned()));
            collected.given.extend(own);
            let strays = strays(input.root()).into_iter();
            collected.of_the_user.extend(strays.map(|stray| stray.pair));
        }
        collected
    }
}

/// Whether a field is a mark or has one below it.
pub(crate) fn has_marks(key: NodeRef<'_>, value: NodeRef<'_>) -> bool {
    KEYS.contains(&key.value())
        || mappings_of(value)
            .flat_map(NodeRef::entries)
            .any(|(key, _)| KEYS.contains(&key.value()))
}

/// An internal annotation outside of a resource's annotations, or a second one with the same key.
struct Stray {
    mapping: NodeId,
    key: NodeId,
    pair: (String, String),
}

fn strays(root: NodeRef<'_>) -> Vec<Stray> {
    let annotations = first_entry(root, "metadata")
        .and_then(|(_, metadata)| first_entry(metadata, "annotations"))
        .map(|(_, annotations)| annotations.id());
    let mut found = Vec::new();
    for mapping in mappings_of(root) {
        let id = mapping.id();
        for (key, value) in mapping.entries() {
            if !KEYS.contains(&key.value()) {
                continue;
            }
            let is_first = || {
                let first = first_entry(mapping, key.value());
                first.is_some_and(|(first, _)| first.id() == key.id())
            };
            if annotations != Some(id) || !is_first() {
                found.push(Stray {
                    mapping: id,
                    key: key.id(),
                    pair: (key.value().to_owned(), value.value().to_owned()),
                });
            }
        }
    }
    found
}

fn first_entry<'a>(mapping: NodeRef<'a>, name: &str) -> Option<(NodeRef<'a>, NodeRef<'a>)> {
    mapping.entries().find(|(key, _)| key.value() == name)
}

/// All mappings of a tree.
fn mappings_of(root: NodeRef<'_>) -> impl Iterator<Item = NodeRef<'_>> {
    let mut pending = vec![root];
    std::iter::from_fn(move || {
        let node = pending.pop()?;
        pending.extend(node.children());
        Some(node)
    })
    .filter(|node| node.is_mapping())
}

/// Removes entries of a mapping and returns whether that removed the last one.
fn remove_entries(
    resource: &mut Resource,
    mapping: NodeId,
    is_removed: impl Fn(NodeRef<'_>, NodeRef<'_>) -> bool,
) -> bool {
    let node = resource.document().node(mapping);
    let kept: Vec<NodeId> = node
        .entries()
        .filter(|(key, value)| !is_removed(*key, *value))
        .flat_map(|(key, value)| [key.id(), value.id()])
        .collect();
    let is_changed = kept.len() < 2 * node.len();
    if is_changed {
        resource.document_mut().set_children(mapping, &kept);
    }
    is_changed && kept.is_empty()
}
