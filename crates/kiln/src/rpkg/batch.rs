//! Verbs that take several revisions: a failure does not stop the others.

use anyhow::{Result, bail};

use super::hint::with_timeout_hint;
use crate::ui::{Details, Failed, Ui, is_broken_pipe};

/// Runs `act` on each revision, and fails at the end if any of them failed.
pub(crate) fn for_each_revision(
    ui: &Ui,
    names: &[String],
    mut act: impl FnMut(&str) -> Result<()>,
) -> Result<()> {
    if names.is_empty() {
        bail!("PACKAGE_REVISION is a required positional argument");
    }
    let mut errors = Vec::new();
    let mut hints: Vec<String> = Vec::new();
    for name in names {
        let Err(error) = act(name).map_err(with_timeout_hint) else {
            continue;
        };
        if is_broken_pipe(&error) {
            return Err(error);
        }
        let (text, hint) = match error.downcast_ref::<Failed>() {
            Some(failed) => (failed.message.clone(), failed.details.hint.clone()),
            None => (Some(format!("{error:#}")), None),
        };
        let text = text.unwrap_or_default();
        let text = text.strip_prefix("error: ").unwrap_or(&text).to_owned();
        ui.print_message(&format!("{name} failed ({text})"));
        errors.push(text);
        hints.extend(hint.filter(|hint| !hints.contains(hint)));
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(Failed {
        message: Some(format!("error: errors:\n  {}", errors.join("\n  "))),
        details: Details {
            hint: (!hints.is_empty()).then(|| hints.join("; ")),
            ..Details::default()
        },
    }
    .into())
}
