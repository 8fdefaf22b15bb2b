//! Errors of package revisions. Their texts are Porch's; the hints name the next command.

use std::error::Error;

use kiln_render::RenderError;
use kiln_task::git::GitIdentity;
use kiln_task::{
    AccessError, ApproveError, ChangeError, CreateError, DeleteError, Lifecycle, RenderFailure,
    UnmetGate,
};

use super::CommandError;
use super::render::RenderErrors;
use crate::compat::Compat;

/// The failed render of an operation.
pub(super) fn render_failure<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a RenderFailure> {
    // The errors are transparent, so the failure itself is not part of the chain.
    if let Some(ChangeError::Render(failure)) = error.downcast_ref() {
        return Some(failure);
    }
    match error.downcast_ref() {
        Some(CreateError::Render(failure)) => Some(failure),
        _ => None,
    }
}

/// Adds the position and the hint of a failed render to Porch's message.
pub(super) fn failed_render(plain: CommandError, failure: &RenderFailure) -> CommandError {
    let Some(failed) = &failure.failed else {
        return plain;
    };
    let RenderError::Traced(trace) = &failed.error else {
        return plain;
    };
    let files = failed.contents.to_files_below(&failed.directory);
    let errors = RenderErrors {
        compat: Compat::Kiln,
        files: &files,
        root: &failed.root,
        named: &failed.directory,
        evaluators: None,
    };
    let traced = errors.traced(trace, String::new());
    let position = traced.position;
    CommandError {
        message: plain.message,
        // Porch's message has no line of the file.
        position: position.map(|position| position.with_line(&files, &failed.directory)),
        ..traced
    }
}

/// The error about access in an error of any operation.
pub(crate) fn access_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a AccessError> {
    // The errors are transparent here too.
    if let Some(access) = error.downcast_ref::<AccessError>() {
        return Some(access);
    }
    if let Some(ChangeError::Access(access)) = error.downcast_ref() {
        return Some(access);
    }
    if let Some(ApproveError::Access(access)) = error.downcast_ref() {
        return Some(access);
    }
    if let Some(DeleteError::Access(access)) = error.downcast_ref() {
        return Some(access);
    }
    match error.downcast_ref() {
        Some(CreateError::Access(access)) => Some(access),
        _ => None,
    }
}

/// What the user can do next.
pub(super) fn hint(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(error) = error.downcast_ref::<ChangeError>() {
        return change(error);
    }
    if let Some(error) = error.downcast_ref::<ApproveError>() {
        return approve(error);
    }
    if let Some(error) = error.downcast_ref::<DeleteError>() {
        return delete(error);
    }
    create(error.downcast_ref::<CreateError>()?)
}

fn change(error: &ChangeError) -> Option<String> {
    Some(match error {
        ChangeError::NotDraft { name, lifecycle } => return not_draft(name, *lifecycle),
        ChangeError::CannotPropose { name, .. } => copy(name),
        ChangeError::CannotReject { name, lifecycle } => match lifecycle {
            Lifecycle::Draft => format!("only proposals are rejected; delete the draft with `kiln rpkg del {name}`"),
            _ => format!(
                "only proposals are rejected; propose the deletion of a published revision with `kiln rpkg propose-delete {name}`"
            ),
        },
        ChangeError::NotReady { name, gates } => unmet(name, gates),
        ChangeError::NoVersion => {
            "push a directory that `kiln rpkg pull` has written; it contains the version in the file .KptRevisionMetadata"
                .to_owned()
        }
        ChangeError::Conflict {
            name,
            lifecycle,
            author,
        } => match not_draft(name, *lifecycle) {
            Some(hint) => hint,
            None => pushed_by_another(name, author.as_ref()),
        },
        _ => return None,
    })
}

/// How a revision that is not a draft can be changed.
fn not_draft(name: &str, lifecycle: Lifecycle) -> Option<String> {
    match lifecycle {
        Lifecycle::Draft => None,
        Lifecycle::Proposed => Some(format!(
            "turn the proposal back into a draft with `kiln rpkg reject {name}`"
        )),
        Lifecycle::Published | Lifecycle::DeletionProposed => Some(copy(name)),
    }
}

/// A draft that has changed since it was pulled.
fn pushed_by_another(name: &str, author: Option<&GitIdentity>) -> String {
    let author = author.map_or_else(String::new, |author| {
        format!(
            "{} <{}> pushed the present version; ",
            author.name, author.email
        )
    });
    format!(
        "{author}`kiln rpkg log {name}` lists the commits with their authors; pull the revision to another directory, repeat your change there and push it"
    )
}

fn copy(name: &str) -> String {
    format!(
        "published revisions do not change; create a draft with `kiln rpkg copy {name} --workspace NAME`"
    )
}

fn approve(error: &ApproveError) -> Option<String> {
    Some(match error {
        ApproveError::NotReady { name, gates } => unmet(name, gates),
        ApproveError::NotProposed(Lifecycle::Draft) => {
            "propose the draft first, with `kiln rpkg propose`".to_owned()
        }
        ApproveError::Overwrites { .. } => {
            "copy the latest revision and repeat the change there, or approve with --force"
                .to_owned()
        }
        ApproveError::NotAtomic => "approve with --no-atomic".to_owned(),
        ApproveError::NoBranch(_) => {
            "create the branch, or register the repository with `kiln repo register --create-branch`"
                .to_owned()
        }
        _ => return None,
    })
}

fn delete(error: &DeleteError) -> Option<String> {
    Some(match error {
        DeleteError::Published => {
            "propose the deletion with `kiln rpkg propose-delete`, then delete the revision"
                .to_owned()
        }
        DeleteError::NotPublished(name) => {
            format!("delete the draft or proposal with `kiln rpkg del {name}`")
        }
        DeleteError::Referenced(_) => {
            "upgrade or delete the packages that have it as upstream".to_owned()
        }
        _ => return None,
    })
}

fn create(error: &CreateError) -> Option<String> {
    Some(match error {
        CreateError::WorkspaceExists { .. } | CreateError::WorkspaceIsBranch(_) => {
            "choose another name with --workspace".to_owned()
        }
        CreateError::Exists { .. } => {
            "create another revision of the package with `kiln rpkg copy`; `kiln rpkg get` lists its revisions"
                .to_owned()
        }
        _ => return None,
    })
}

/// The readiness gates that hold a revision back.
fn unmet(name: &str, gates: &[UnmetGate]) -> String {
    let texts = gates.iter().map(|gate| {
        let kind = &gate.condition_type;
        let message = match gate.message.as_str() {
            "" => String::new(),
            message => format!(" ({message})"),
        };
        match gate.status.as_str() {
            "" => format!("there is no condition {kind:?}"),
            status => format!("condition {kind:?} is {status}{message}"),
        }
    });
    let texts: Vec<String> = texts.collect();
    let first = gates.first().map_or("", |gate| &gate.condition_type);
    format!(
        "{}; when it is met, run `kiln rpkg update {name} --condition {first}=True`",
        texts.join(", ")
    )
}
