//! Changing a Kptfile without losing the user's text.
//!
//! These edits work on the tree: comments, order and styles of everything else stay, and an edit without effect changes
//! nothing, so that the file keeps its bytes. [`save_like_kpt`] is the exception: it rewrites the file from its decoded
//! form and then restores comments and order, as in kpt.
//!
//! Labels and annotations have edits of their own on every tree ([`kiln_yaml::NodeMut::set_annotation`]).

use kiln_go::quote;
use kiln_yaml::{
    Document, EditError, Kind, NoListKeys, Start, SyncOrderError, copy_comments, sync_order,
};

use super::{
    Condition, Function, FunctionKind, Kptfile, KptfileProblem, RenderStatus, Status, tree,
};
use crate::record::Value;

/// Why a Kptfile could not be changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KptfileEditError {
    /// It is not a valid Kptfile.
    #[error(transparent)]
    Invalid(#[from] KptfileProblem),
    /// Comments could not be restored.
    #[error("could not preserve Kptfile comments: {0}")]
    Comments(#[source] EditError),
    /// The order of fields could not be restored.
    #[error("could not preserve Kptfile field order: {0}")]
    Order(#[source] SyncOrderError),
}

/// The effect of saving a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Saved {
    Added,
    /// It replaces one with the same image or command.
    Updated,
}

impl Saved {
    /// The message for the user.
    pub fn message(self, function: &Function, kind: FunctionKind) -> String {
        let verb = match self {
            Saved::Added => "Added",
            Saved::Updated => "Updated",
        };
        let name = quote(function.image_or_exec());
        format!("{verb} {name} as {} in the Kptfile.", kind.name())
    }
}

/// Sets a condition as the last one and removes others of its type, as in kpt.
pub fn set_condition(doc: &mut Document, condition: &Condition) -> Result<(), KptfileEditError> {
    let status = Kptfile::decode(doc)?.status.unwrap_or_default();
    let is_same = |other: &Condition| other.kind == condition.kind;
    let count = status
        .conditions
        .iter()
        .filter(|other| is_same(other))
        .count();
    if count == 1 && status.conditions.last() == Some(condition) {
        return Ok(());
    }
    tree::lift_last_comments(doc, "status");
    let list = tree::collection_at(doc, &["status", "conditions"], Kind::Sequence);
    tree::put_last_item(doc, list, condition, is_same);
    Ok(())
}

/// Sets the result of the last render; `None` removes it.
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
    tree::lift_last_comments(doc, "status");
    let status = tree::collection_at(doc, &["status"], Kind::Mapping);
    let value = render_status.map(|render_status| render_status.write(doc));
    tree::put_entry(doc, status, "renderStatus", value);
    Ok(())
}

/// Saves a function in the pipeline, replacing those with the same image or command, or as the last one.
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
        let list = tree::collection_at(doc, &["pipeline", kind.list()], Kind::Sequence);
        tree::put_item(doc, list, function, is_same);
    }
    Ok(saved)
}

/// Saves a function as kpt does: from the decoded form, with comments and order of the original restored.
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
    pub(crate) fn image_or_exec(&self) -> &str {
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
