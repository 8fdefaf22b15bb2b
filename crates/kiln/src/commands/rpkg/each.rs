//! Doing the same to several revisions: one that fails does not keep the others from it.

use anyhow::{Result, bail};

use crate::ui::{Failed, Ui};

/// Does it to each, and fails in the end if any failed.
pub(super) fn each(
    ui: &Ui,
    names: &[String],
    mut doing: impl FnMut(&str) -> Result<()>,
) -> Result<()> {
    if names.is_empty() {
        bail!("PACKAGE is a required positional argument");
    }
    let mut errors = Vec::new();
    for name in names {
        if let Err(error) = doing(name) {
            if crate::ui::is_broken_pipe(&error) {
                return Err(error);
            }
            let text = match error.downcast_ref::<Failed>() {
                Some(failed) => failed.text().unwrap_or_default(),
                None => format!("{error:#}"),
            };
            let text = text.strip_prefix("error: ").unwrap_or(&text).to_owned();
            ui.say(&format!("{name} failed ({text})"));
            errors.push(text);
        }
    }
    match errors.is_empty() {
        true => Ok(()),
        false => bail!("errors:\n  {}", errors.join("\n  ")),
    }
}
