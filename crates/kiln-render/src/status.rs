//! What the root Kptfile says about the last render.

use kiln_krm::kptfile::{Condition, Kptfile, KptfileText, RenderStatus, Step, edit};
use kiln_krm::package::{FileAction, FileChange, PACKAGE_FILE};

use crate::options::Behaviour;
use crate::pipeline::Progress;

/// The outcome of a render as the Kptfile tells it.
pub(crate) struct RenderOutcome {
    pub(crate) condition: Condition,
    pub(crate) render_status: Option<RenderStatus>,
}

impl RenderOutcome {
    /// `message` is the chain of causes of a failure.
    pub(crate) fn new(progress: &Progress, message: Option<&str>) -> RenderOutcome {
        let (mutation_steps, validation_steps) =
            (&progress.mutation_steps, &progress.validation_steps);
        let has_steps = !mutation_steps.is_empty() || !validation_steps.is_empty();
        let render_status = has_steps.then(|| {
            let steps = mutation_steps.iter().chain(validation_steps);
            let lines: Vec<String> = steps.filter_map(error_line).collect();
            RenderStatus {
                mutation_steps: mutation_steps.clone(),
                validation_steps: validation_steps.clone(),
                error_summary: match message {
                    Some(_) => lines.join("\n"),
                    None => String::new(),
                },
            }
        });
        RenderOutcome {
            condition: match message {
                Some(message) => Condition::render_failed(message),
                None => Condition::render_succeeded(),
            },
            render_status,
        }
    }

    /// The Kptfile with the outcome in it; none if it cannot be changed, which is no reason to fail.
    fn applied_to(&self, kptfile: &[u8], behaviour: Behaviour) -> Option<Vec<u8>> {
        match behaviour {
            Behaviour::Kpt => {
                let mut decoded = Kptfile::read(kptfile).ok()?;
                edit::set_outcome(
                    &mut decoded,
                    self.condition.clone(),
                    self.render_status.clone(),
                );
                Some(decoded.to_struct_yaml().into_bytes())
            }
            Behaviour::Kiln => {
                let mut text = KptfileText::read(kptfile)?;
                let document = text.document_mut();
                edit::set_condition(document, &self.condition).ok()?;
                edit::set_render_status(document, self.render_status.as_ref()).ok()?;
                text.changed()
            }
        }
    }

    /// Puts the outcome into the Kptfile that the changes leave behind.
    pub(crate) fn add_to(
        &self,
        changes: &mut Vec<FileChange>,
        current: Option<Vec<u8>>,
        behaviour: Behaviour,
    ) {
        let place = changes
            .iter()
            .position(|change| change.path == PACKAGE_FILE);
        let written = match place.and_then(|place| changes.get(place)) {
            Some(change) => match &change.action {
                FileAction::Write(bytes) => Some(bytes.clone()),
                FileAction::Delete => None,
            },
            None => current,
        };
        let applied = written.and_then(|bytes| self.applied_to(&bytes, behaviour));
        let Some(bytes) = applied else {
            return;
        };
        let action = FileAction::Write(bytes);
        match place.and_then(|place| changes.get_mut(place)) {
            Some(change) => change.action = action,
            None => {
                changes.push(FileChange {
                    path: PACKAGE_FILE.to_owned(),
                    action,
                });
                changes.sort_by(|a, b| a.path.cmp(&b.path));
            }
        }
    }
}

fn error_line(step: &Step) -> Option<String> {
    let name = [&step.name, &step.image, &step.exec]
        .into_iter()
        .find(|name| !name.is_empty())
        .map_or("", String::as_str);
    if !step.execution_error.is_empty() {
        Some(format!("{name}: {}", step.execution_error))
    } else if step.exit_code != 0 {
        Some(format!("{name}: exit code {}", step.exit_code))
    } else {
        None
    }
}
