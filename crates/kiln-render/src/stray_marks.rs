//! Removing marks that a function returned where nothing else removes them.
//!
//! Resources go to a function with annotations about their place, one of which is a directory of the machine. They are
//! removed from `metadata.annotations` before files are written. A function that edits lines, or that puts one resource
//! into another, can return them anywhere: under another key, twice, or deep in a field. What the inputs themselves have
//! outside of their annotations belongs to the user and stays.

use std::collections::HashSet;
use std::sync::OnceLock;

use kiln_krm::Resource;
use kiln_krm::annotations::{
    ID, INDEX, LEGACY_ID, LEGACY_INDEX, LEGACY_PATH, MIGRATION_ID, PACKAGE_PATH, PATH, RESOURCE_ID,
    SEQINDENT,
};
use kiln_yaml::{NodeId, NodeRef};

/// The keys of all marks.
const MARKS: [&str; 10] = [
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

/// The marks of a function's inputs, collected when the first output needs them.
#[derive(Default)]
pub(crate) struct GivenMarks {
    marks: OnceLock<Marks>,
}

/// Keys with their values.
type Pairs = HashSet<(String, String)>;

struct Marks {
    /// Those that the function got as marks.
    given: Pairs,
    /// Those that stand elsewhere in the user's own text.
    of_the_user: Pairs,
}

impl GivenMarks {
    /// Removes from an output what the function got as marks and returned elsewhere.
    pub(crate) fn remove_strays(&self, output: &mut Resource, inputs: &[Resource]) {
        let found = strays(output.root());
        if found.is_empty() {
            return;
        }
        let Marks { given, of_the_user } = self.marks.get_or_init(|| Marks::of(inputs));
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

impl Marks {
    fn of(inputs: &[Resource]) -> Marks {
        let mut marks = Marks {
            given: HashSet::new(),
            of_the_user: HashSet::new(),
        };
        for input in inputs {
            let own = input.annotations().filter(|(key, _)| MARKS.contains(key));
            let own = own.map(|(key, value)| (key.to_owned(), value.to_owned()));
            marks.given.extend(own);
            let strays = strays(input.root()).into_iter();
            marks.of_the_user.extend(strays.map(|stray| stray.pair));
        }
        marks
    }
}

/// A mark outside of a resource's annotations, or one that is there a second time.
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
            if !MARKS.contains(&key.value()) {
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

/// Removes entries of a mapping; true if that left none.
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
