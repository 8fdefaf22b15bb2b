//! Changing a Kptfile without losing what people wrote into it.
//!
//! These edits work on the tree: comments, order and styles of everything else stay, and what is already as wanted
//! is not touched at all, so that the file keeps its bytes. [`save_like_kpt`] is the exception: it rewrites the file
//! from its decoded form and then brings back comments and order, which is what kpt does.
//!
//! Labels and annotations have edits of their own on every tree ([`kiln_yaml::NodeMut::set_annotation`]).

use kiln_yaml::{
    Document, EditError, Kind, NoListKeys, NodeId, Slot, Start, SyncOrderError, copy_comments,
    sync_order,
};

use super::{
    Condition, Function, FunctionKind, Kptfile, KptfileProblem, ReadinessGate, RenderStatus, Status,
};
use crate::gotext::quote;
use crate::record::{Value, alias_target, read_node};

/// Why a Kptfile could not be changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KptfileEditError {
    /// It is not a valid Kptfile to begin with.
    #[error(transparent)]
    Invalid(#[from] KptfileProblem),
    /// The tree has no place for the change.
    #[error(transparent)]
    Tree(#[from] EditError),
    /// Comments could not be brought back.
    #[error("could not preserve Kptfile comments: {0}")]
    Comments(#[source] EditError),
    /// The order of fields could not be brought back.
    #[error("could not preserve Kptfile field order: {0}")]
    Order(#[source] SyncOrderError),
}

/// What saving a function did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Saved {
    /// It is new.
    Added,
    /// It replaces one with the same image or command.
    Updated,
}

impl Saved {
    /// The line that tells the user.
    pub fn message(self, function: &Function, kind: FunctionKind) -> String {
        let verb = match self {
            Saved::Added => "Added",
            Saved::Updated => "Updated",
        };
        let name = quote(function.image_or_exec());
        format!("{verb} {name} as {} in the Kptfile.", kind.name())
    }
}

/// Sets a condition in the place of the one of its type, or last.
pub fn set_condition(doc: &mut Document, condition: &Condition) -> Result<(), KptfileEditError> {
    let status = Kptfile::decode(doc)?.status.unwrap_or_default();
    let mut same_type = status
        .conditions
        .iter()
        .filter(|other| other.kind == condition.kind);
    let present = (same_type.next(), same_type.next());
    if present == (Some(condition), None) {
        return Ok(());
    }
    let list = list_at(doc, &["status", "conditions"]);
    put_item(doc, list, condition, |item| item.kind == condition.kind);
    Ok(())
}

/// Sets how the last render went; none removes it.
pub fn set_render_status(
    doc: &mut Document,
    render_status: Option<&RenderStatus>,
) -> Result<(), KptfileEditError> {
    let present = Kptfile::decode(doc)?
        .status
        .and_then(|status| status.render_status);
    if present.as_ref() == render_status {
        return Ok(());
    }
    let path = ["status", "renderStatus"];
    match render_status {
        None => {
            doc.root_mut().remove(&path)?;
        }
        Some(render_status) => {
            let value = render_status.write(doc);
            doc.root_mut().set(&path, value)?;
        }
    }
    Ok(())
}

/// Adds a condition that must be true for the package to be ready, unless it is there.
pub fn add_readiness_gate(
    doc: &mut Document,
    condition_type: &str,
) -> Result<(), KptfileEditError> {
    let gate = ReadinessGate {
        condition_type: condition_type.to_owned(),
    };
    let info = Kptfile::decode(doc)?.info.unwrap_or_default();
    if !info.readiness_gates.contains(&gate) {
        let list = list_at(doc, &["info", "readinessGates"]);
        let item = gate.write(doc);
        doc.push_item(list, item);
    }
    Ok(())
}

/// Saves a function in the pipeline, in the place of those with the same image or command, or last.
pub fn save_function(
    doc: &mut Document,
    kind: FunctionKind,
    function: &Function,
) -> Result<Saved, KptfileEditError> {
    let pipeline = Kptfile::decode(doc)?.pipeline.unwrap_or_default();
    let functions = match kind {
        FunctionKind::Mutator => &pipeline.mutators,
        FunctionKind::Validator => &pipeline.validators,
    };
    let is_same = |other: &Function| other.is_saved_as(function);
    let same: Vec<&Function> = functions.iter().filter(|other| is_same(other)).collect();
    let saved = if same.is_empty() {
        Saved::Added
    } else {
        Saved::Updated
    };
    if same != [function] {
        let list = list_at(doc, &["pipeline", kind.list()]);
        put_item(doc, list, function, is_same);
    }
    Ok(saved)
}

/// Saves a function as kpt does: from the decoded form, with comments and order of the original brought back.
///
/// Each function with the same image or command is replaced. Styles are normalised, and so are the comments that
/// belong to the document rather than to its fields.
pub fn save_like_kpt(
    original: &Document,
    kind: FunctionKind,
    function: &Function,
) -> Result<(Document, Saved), KptfileEditError> {
    let mut kptfile = Kptfile::decode(original)?;
    let pipeline = kptfile.pipeline.get_or_insert_default();
    let functions = match kind {
        FunctionKind::Mutator => &mut pipeline.mutators,
        FunctionKind::Validator => &mut pipeline.validators,
    };
    let mut saved = Saved::Added;
    for other in functions
        .iter_mut()
        .filter(|other| other.is_saved_as(function))
    {
        function.clone_into(other);
        saved = Saved::Updated;
    }
    if saved == Saved::Added {
        functions.push(function.clone());
    }
    let mut doc = kptfile.to_document();
    let from = (original, Start::Document);
    copy_comments(from, (&mut doc, Start::Document), &NoListKeys)
        .map_err(KptfileEditError::Comments)?;
    sync_order(original.root(), &mut doc, Start::Document).map_err(KptfileEditError::Order)?;
    Ok((doc, saved))
}

/// Sets the outcome of a render in the decoded form, as kpt does before it writes the file from it.
pub fn set_outcome(
    kptfile: &mut Kptfile,
    condition: Condition,
    render_status: Option<RenderStatus>,
) {
    let status = kptfile.status.get_or_insert_with(Status::default);
    status.replace_condition(condition);
    status.render_status = render_status;
}

impl Function {
    /// The image, or else the command line.
    pub fn image_or_exec(&self) -> &str {
        match self.image.as_str() {
            "" => &self.exec,
            image => image,
        }
    }

    /// Whether saving `new` replaces this one.
    fn is_saved_as(&self, new: &Function) -> bool {
        let is_same = |one: &str, other: &str| !one.is_empty() && one == other;
        is_same(&self.image, &new.image) || is_same(&self.exec, &new.exec)
    }
}

/// The sequence at a path, created where it is missing.
fn list_at(doc: &mut Document, path: &[&str]) -> NodeId {
    let mut at = doc.root().id();
    for (depth, key) in path.iter().enumerate() {
        let kind = if depth + 1 == path.len() {
            Kind::Sequence
        } else {
            Kind::Mapping
        };
        at = child(doc, at, key, kind);
    }
    at
}

/// The value of a key, created where it is missing. An alias is replaced by a copy of what it stands for, so that
/// the change does not show elsewhere.
fn child(doc: &mut Document, mapping: NodeId, key: &str, kind: Kind) -> NodeId {
    let Some(old) = doc.node(mapping).get(key).map(|value| value.id()) else {
        let (key, value) = (doc.new_string(key), new_collection(doc, kind));
        doc.push_entry(mapping, key, value);
        return value;
    };
    let new = match doc.node(old).kind() {
        present if present == kind => return old,
        Kind::Alias => match alias_target(doc, old) {
            Some(target) => {
                let copy = Document::from_node(doc.node(target));
                let copy = doc.import(copy.root());
                doc.set_anchor(copy, "");
                copy
            }
            None => new_collection(doc, kind),
        },
        // Null, or nothing that a valid Kptfile has here.
        _ => new_collection(doc, kind),
    };
    doc.replace_child(mapping, old, new);
    new
}

fn new_collection(doc: &mut Document, kind: Kind) -> NodeId {
    match kind {
        Kind::Sequence => doc.new_sequence_node(),
        _ => doc.new_mapping_node(),
    }
}

/// Puts a record into a list: over the first item that `is_same`, or last. Further items that are the same go.
fn put_item<R: Value>(doc: &mut Document, list: NodeId, record: &R, is_same: impl Fn(&R) -> bool) {
    let new = record.write(doc);
    let is_same_item = |doc: &Document, item: NodeId| {
        read_node::<R>(doc, item).is_some_and(|present| is_same(&present))
    };
    let mut place = None;
    let mut items = Vec::new();
    for item in doc.child_ids(list) {
        if !is_same_item(doc, item) {
            items.push(item);
        } else if place.is_none() {
            place = Some(items.len());
            let is_mapping = doc.node(item).is_mapping();
            items.push(if is_mapping { item } else { new });
            if is_mapping {
                become_like(doc, item, new);
            }
        }
    }
    if place.is_none() {
        items.push(new);
    }
    doc.set_children(list, &items);
}

/// Gives a mapping the fields of another, and keeps what is equal with its comments.
fn become_like(doc: &mut Document, mapping: NodeId, wanted: NodeId) {
    let wanted_entries: Vec<(NodeId, NodeId)> = entry_ids(doc, wanted);
    let mut entries = Vec::new();
    for (key, value) in entry_ids(doc, mapping) {
        let same_key =
            |(other, _): &&(NodeId, NodeId)| doc.node(*other).value() == doc.node(key).value();
        let Some((_, new)) = wanted_entries.iter().find(same_key).copied() else {
            continue;
        };
        entries.push(key);
        entries.push(if means_same_text(doc, value, new) {
            value
        } else {
            for slot in [Slot::Head, Slot::Line, Slot::Foot] {
                let comment = doc.node(value).comment(slot).to_owned();
                doc.set_comment(new, slot, &comment);
            }
            new
        });
    }
    for (key, value) in wanted_entries {
        let is_there = entries
            .iter()
            .step_by(2)
            .any(|present| doc.node(*present).value() == doc.node(key).value());
        if !is_there {
            entries.extend([key, value]);
        }
    }
    doc.set_children(mapping, &entries);
}

/// Whether two values decode to the same: scalars by their text, whatever their style.
fn means_same_text(doc: &Document, one: NodeId, other: NodeId) -> bool {
    let (one, other) = (doc.node(one), doc.node(other));
    if one.is_scalar() && other.is_scalar() {
        return one.as_text() == other.as_text();
    }
    one.value_eq(other)
}

fn entry_ids(doc: &Document, mapping: NodeId) -> Vec<(NodeId, NodeId)> {
    let entries = doc.node(mapping).entries();
    entries.map(|(key, value)| (key.id(), value.id())).collect()
}
