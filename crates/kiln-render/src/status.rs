//! The status of the last render in the root Kptfile.

use kiln_krm::EditableText;
use kiln_krm::kptfile::{Condition, Kptfile, RenderStatus, Step, edit};
use kiln_krm::package::{FileAction, FileChange, PACKAGE_FILE};

use crate::options::RenderCompat;
use crate::pipeline::PipelineProgress;

/// The outcome of a render in the form of the Kptfile.
pub(crate) struct RenderOutcome {
    pub(crate) condition: Condition,
    pub(crate) render_status: Option<RenderStatus>,
}

impl RenderOutcome {
    /// `message` is the chain of causes of a failure.
    pub(crate) fn new(progress: &PipelineProgress, message: Option<&str>) -> RenderOutcome {
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

    /// The Kptfile with the outcome; `None` if it cannot be changed, which is not an error.
    fn applied_to(&self, kptfile: &[u8], compat: RenderCompat) -> Option<Vec<u8>> {
        match compat {
            RenderCompat::Kpt => {
                let mut decoded = Kptfile::read(kptfile).ok()?;
                edit::set_outcome(
                    &mut decoded,
                    self.condition.clone(),
                    self.render_status.clone(),
                );
                Some(decoded.to_struct_yaml().into_bytes())
            }
            RenderCompat::Kiln => {
                let mut text = EditableText::read_kptfile(kptfile)?;
                let document = text.document_mut();
                edit::set_condition(document, &self.condition).ok()?;
                edit::set_render_status(document, self.render_status.as_ref()).ok()?;
                text.changed()
            }
        }
    }

    /// Puts the outcome into the Kptfile as the changes leave it.
    pub(crate) fn add_to(
        &self,
        changes: &mut Vec<FileChange>,
        current: Option<Vec<u8>>,
        compat: RenderCompat,
    ) {
        let index = changes
            .iter()
            .position(|change| change.path == PACKAGE_FILE);
        let written = match index.and_then(|index| changes.get(index)) {
            Some(change) => match &change.action {
                FileAction::Write(bytes) => Some(bytes.clone()),
                FileAction::Delete => None,
            },
            None => current,
        };
        let applied = written.and_then(|bytes| self.applied_to(&bytes, compat));
        let Some(bytes) = applied else {
            return;
        };
        let action = FileAction::Write(bytes);
        match index.and_then(|index| changes.get_mut(index)) {
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
