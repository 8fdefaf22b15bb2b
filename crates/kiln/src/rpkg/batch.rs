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
    let mut hints: Vec<String> = Vec::new();
    for name in names {
        let Err(error) = act(name).map_err(CommandError::from) else {
            continue;
        };
        if error.class == ErrorClass::OutputClosed {
            return Err(error.into());
        }
        let message = error.plain_message().to_owned();
        ui.print_message(&format!("{name} failed ({message})"));
        errors.push(message);
        hints.extend(error.hint.filter(|hint| !hints.contains(hint)));
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(CommandError {
        hint: (!hints.is_empty()).then(|| hints.join("; ")),
        ..CommandError::new(format!("error: errors:\n  {}", errors.join("\n  ")))
    }
    .into())
}
