//! The filter that follows a field spec through a resource and calls a function at its end.
//!
//! It descends into lists on the path, converts nulls to the required kind, and creates missing fields if the spec
//! says so. The filter keeps its own stack, so depth costs no call frames.

use kiln_yaml::{Document, Kind, NodeId, SequenceStyle, Style};

use super::aliases::Aliases;
use super::field_spec::{FieldSpec, split_path};
use super::round_trip::NotJson;
use super::{KustomizeRelease, resource_id_text};
use crate::budget::is_stopped;

/// What is created at the end of the path if it is missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Creation {
    /// Nothing, regardless of the spec.
    Never,
    Mapping,
    /// An empty scalar.
    Scalar,
}

/// Why a path could not be followed, in kustomize's words.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct FilterError(pub(crate) String);

impl From<NotJson> for FilterError {
    fn from(error: NotJson) -> FilterError {
        FilterError(error.to_string())
    }
}

/// The names that lead to a field, from the resource or from the last list on the path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldPath<'p> {
    elements: &'p [String],
}

impl FieldPath<'_> {
    /// The names with dots between them.
    pub(crate) fn text(self) -> String {
        let names: Vec<&str> = self.elements.iter().map(|name| list_name(name).0).collect();
        names.join(".")
    }
}

/// A node from which the rest of the path is still to be followed.
struct PendingNode {
    node: NodeId,
    /// How many elements of the path have been followed.
    at: usize,
    /// The first element of the known path to the node.
    known_from: usize,
    /// For each enclosing list, how many elements had been followed.
    lists: Vec<usize>,
}

/// Follows a spec through a document and calls `set` with every node at its end. The type is not checked.
pub(crate) fn apply_spec(
    document: &mut Document,
    spec: &FieldSpec,
    creation: Creation,
    release: KustomizeRelease,
    set: &mut dyn FnMut(&mut Document, NodeId, FieldPath<'_>) -> Result<(), FilterError>,
) -> Result<(), FilterError> {
    let path = match (release, spec.path.strip_prefix('/')) {
        (KustomizeRelease::Api0_19, Some(path)) => split_path(path, '/'),
        _ => split_path(&spec.path, '/'),
    };
    let mut walk = PathWalk {
        path: &path,
        spec,
        creation,
        release,
        aliases: Aliases::default(),
    };
    let root = PendingNode {
        node: document.root().id(),
        at: 0,
        known_from: 0,
        lists: Vec::new(),
    };
    let mut pending = vec![root];
    while let Some(step) = pending.pop() {
        if is_stopped() {
            break;
        }
        let done = walk.step(document, &step, &mut pending, set);
        if let Err(FilterError(error)) = done {
            let mut text = error;
            for at in step.lists.iter().rev() {
                let rest = path.get(*at..).unwrap_or_default().join(" ");
                text = format!("visit traversal on path: [{rest}]: {text}");
            }
            let object = || kiln_yaml::to_string(document, release.sequence_style());
            let object = match release {
                KustomizeRelease::Api0_7 | KustomizeRelease::Api0_7Kyaml0_10_20 => {
                    let path = &spec.path;
                    return Err(FilterError(format!(
                        "obj '{}' at path '{path}': {text}",
                        object()
                    )));
                }
                KustomizeRelease::Api0_8 | KustomizeRelease::Api0_10 => format!("\n{}", object()),
                KustomizeRelease::Api0_11 | KustomizeRelease::Api0_19 => {
                    format!(" {}", resource_id_text(document, release))
                }
            };
            return Err(FilterError(format!(
                "considering field '{}' of object{object}: {text}",
                spec.path
            )));
        }
    }
    Ok(())
}

struct PathWalk<'w> {
    path: &'w [String],
    spec: &'w FieldSpec,
    creation: Creation,
    release: KustomizeRelease,
    aliases: Aliases,
}

impl PathWalk<'_> {
    fn step(
        &mut self,
        document: &mut Document,
        step: &PendingNode,
        pending: &mut Vec<PendingNode>,
        set: &mut dyn FnMut(&mut Document, NodeId, FieldPath<'_>) -> Result<(), FilterError>,
    ) -> Result<(), FilterError> {
        let Some(element) = self.path.get(step.at) else {
            return set(document, step.node, self.known_path(step));
        };
        let node = document.node(step.node);
        if node.is_null() {
            return Ok(());
        }
        match node.kind() {
            Kind::Mapping => {
                if let Some(node) = self.field(document, step, element)? {
                    pending.push(PendingNode {
                        node,
                        at: step.at + 1,
                        known_from: step.known_from,
                        lists: step.lists.clone(),
                    });
                }
                Ok(())
            }
            Kind::Sequence => {
                let known_from = match self.release {
                    KustomizeRelease::Api0_11 | KustomizeRelease::Api0_19 => step.known_from,
                    _ => step.at,
                };
                let mut lists = step.lists.clone();
                lists.push(step.at);
                let items = document.child_ids(step.node);
                pending.extend(items.into_iter().rev().map(|node| PendingNode {
                    node,
                    at: step.at,
                    known_from,
                    lists: lists.clone(),
                }));
                Ok(())
            }
            Kind::Alias => {
                let target = self.aliases.target(document, step.node);
                pending.extend(target.map(|node| PendingNode {
                    node,
                    at: step.at,
                    known_from: step.at,
                    lists: step.lists.clone(),
                }));
                Ok(())
            }
            Kind::Scalar => Err(FilterError("expected sequence or mapping node".to_owned())),
        }
    }

    fn known_path(&self, step: &PendingNode) -> FieldPath<'_> {
        let elements = self.path.get(step.known_from..step.at).unwrap_or_default();
        FieldPath { elements }
    }

    /// The next field of the path in a mapping, created if requested.
    fn field(
        &self,
        document: &mut Document,
        step: &PendingNode,
        element: &str,
    ) -> Result<Option<NodeId>, FilterError> {
        let (name, is_list) = list_name(element);
        if name.is_empty() {
            return Err(FilterError(
                "cannot set or create an empty field name".to_owned(),
            ));
        }
        let is_last = step.at + 1 == self.path.len();
        let may_create = self.spec.create && self.creation != Creation::Never && !is_list;
        let wanted = match (may_create, is_last, self.creation) {
            (false, ..) => is_list.then_some(Kind::Sequence),
            (true, true, Creation::Scalar) => Some(Kind::Scalar),
            (true, ..) => Some(Kind::Mapping),
        };
        let found = self
            .find(document, step, name)
            .map_err(|FilterError(error)| FilterError(format!("fieldName: {name}: {error}")))?;
        let Some(found) = found else {
            let Some(kind) = wanted.filter(|_| may_create) else {
                return Ok(None);
            };
            let key = document.new_scalar(name, "");
            let value = new_of_kind(document, kind);
            document.push_entry(step.node, key, value);
            return Ok(Some(value));
        };
        match wanted {
            Some(kind) if kind != Kind::Scalar && document.node(found).is_null() => {
                let value = new_of_kind(document, kind);
                document.replace_child(step.node, found, value);
                Ok(Some(value))
            }
            _ => Ok(Some(found)),
        }
    }

    /// Looks up a field of a mapping as kyaml does: spaces are ignored, and an element that looks like a list item is
    /// not a field.
    fn find(
        &self,
        document: &Document,
        step: &PendingNode,
        name: &str,
    ) -> Result<Option<NodeId>, FilterError> {
        let name = name.trim();
        let node = document.node(step.node);
        let is_item = name == "-" || (name.starts_with('[') && name.ends_with(']'));
        match name.parse::<i64>() {
            _ if name.is_empty() => Ok(Some(step.node)),
            Ok(index) if index < 0 => Err(FilterError(format!(
                "array index {index} cannot be negative"
            ))),
            _ if name == "*" && self.release == KustomizeRelease::Api0_19 => Err(FilterError(
                "wildcard is not supported in PathGetter".to_owned(),
            )),
            Err(_) if !is_item => {
                let mut entries = node.entries();
                let entry = entries.find(|(key, _)| key.value() == name);
                Ok(entry.map(|(_, value)| value.id()))
            }
            _ => Err(kind_error(
                document,
                step.node,
                Kind::Sequence,
                &self.known_path(step).text(),
                self.release,
            )),
        }
    }
}

impl KustomizeRelease {
    pub(crate) fn sequence_style(self) -> SequenceStyle {
        match self {
            KustomizeRelease::Api0_7Kyaml0_10_20 | KustomizeRelease::Api0_8 => SequenceStyle::Wide,
            _ => SequenceStyle::Compact,
        }
    }
}

/// A path element without its list marker, and whether it had one.
fn list_name(element: &str) -> (&str, bool) {
    match element.strip_suffix("[]") {
        Some(name) => (name, true),
        None => (element, false),
    }
}

pub(super) fn new_of_kind(document: &mut Document, kind: Kind) -> NodeId {
    match kind {
        Kind::Mapping => document.new_mapping_node(),
        Kind::Sequence => document.new_sequence_node(),
        Kind::Scalar | Kind::Alias => document.new_scalar("", ""),
    }
}

/// Fails unless a node is a scalar.
pub(crate) fn expect_scalar(
    document: &Document,
    node: NodeId,
    path: FieldPath<'_>,
    release: KustomizeRelease,
) -> Result<(), FilterError> {
    match document.node(node).is_scalar() {
        true => Ok(()),
        false => {
            let path = path.text();
            Err(kind_error(document, node, Kind::Scalar, &path, release))
        }
    }
}

/// The error for a node of the wrong kind.
pub(crate) fn kind_error(
    document: &Document,
    node: NodeId,
    expected: Kind,
    path: &str,
    release: KustomizeRelease,
) -> FilterError {
    let node = document.node(node);
    let contents = Document::from_node(node);
    let contents = kiln_yaml::to_string(&contents, release.sequence_style());
    let (expected, found) = (expected.go_name(), node.kind().go_name());
    FilterError(match release {
        KustomizeRelease::Api0_19 => format!(
            "wrong node kind: expected {expected} but got {found}: node contents:\n{contents}"
        ),
        _ => format!(
            "wrong Node Kind for {path} expected: {expected} was {found}: value: {{{}}}",
            contents.trim()
        ),
    })
}

/// Sets an entry of one resource's mappings. The original inserts the same node wherever the entry is new, so that
/// all of these get the style of the last existing entry.
pub(crate) struct EntrySetter<'e> {
    key: &'e str,
    value: &'e str,
    style: Style,
    made: Vec<NodeId>,
}

/// Sets `key` to a string.
pub(crate) fn entry_setter<'e>(key: &'e str, value: &'e str) -> EntrySetter<'e> {
    let is_quoted = kiln_yaml::is_yaml_1_1_non_string(value);
    EntrySetter {
        key,
        value,
        style: match is_quoted {
            true => Style::DOUBLE_QUOTED,
            false => Style::NONE,
        },
        made: Vec::new(),
    }
}

impl EntrySetter<'_> {
    /// Sets the entry of the mapping at a path.
    pub(crate) fn set(
        &mut self,
        document: &mut Document,
        mapping: NodeId,
        path: FieldPath<'_>,
        release: KustomizeRelease,
    ) -> Result<(), FilterError> {
        let node = document.node(mapping);
        if node.is_null() {
            // An entry of a null is lost.
            return Ok(());
        }
        if !node.is_mapping() {
            return Err(kind_error(
                document,
                mapping,
                Kind::Mapping,
                &path.text(),
                release,
            ));
        }
        let existing = node.entries().find(|(key, _)| key.value() == self.key);
        let existing = existing.map(|(_, value)| (value.id(), value.style()));
        let value = document.new_string(self.value);
        match existing {
            Some((_, style)) => {
                self.style = style;
                // Setting fails only for a node that is not a mapping.
                let _ = document.node_mut(mapping).set(&[self.key], value);
                for made in &self.made {
                    document.set_style(*made, style);
                }
            }
            None => {
                document.set_style(value, self.style);
                let key = document.new_scalar(self.key, "");
                document.push_entry(mapping, key, value);
                self.made.push(value);
            }
        }
        Ok(())
    }
}
