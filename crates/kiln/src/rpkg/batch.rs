//! Verbs that take several revisions: a failure does not stop the others.

use anyhow::Result;

use crate::error::{CommandError, ErrorClass, bail_usage};
use crate::ui::Ui;

/// Runs `act` on each revision, and fails at the end if any of them failed.
pub(crate) fn for_each_revision(
    ui: &Ui,
    names: &[String],
    mut act: impl FnMut(&str) -> Result<()>,
) -> Result<()> {
    if names.is_empty() {
        bail_usage!("PACKAGE_REVISION is a required positional argument");
    }
    let mut errors = Vec::new();
    for name in names {
        let Err(error) = act(name).map_err(CommandError::from) else {
            continue;
        };
        if error.class == ErrorClass::OutputClosed {
            return Err(error.into());
        }
        ui.print_message(&format!("{name} failed ({})", error.plain_message()));
        errors.push(error);
    }
    match errors.len() {
        0 => Ok(()),
        1 => {
            // The position and the hint of the only error are those of the command.
            let error = errors.remove(0);
            let message = format!("error: errors:\n  {}", error.plain_message());
            Err(CommandError {
                message: Some(message),
                ..error
            }
            .into())
        }
        _ => {
            let texts: Vec<String> = errors.iter().map(with_context).collect();
            Err(CommandError::new(format!("error: errors:\n  {}", texts.join("\n  "))).into())
        }
    }
}

/// The message with position and hint.
fn with_context(error: &CommandError) -> String {
    format!("{}{}", error.plain_message(), error.context())
}
