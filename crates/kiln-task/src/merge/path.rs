//! Paths of conflicts in a tree, stored as chains of steps, so that deep trees cost no more than flat ones.

use std::fmt::Write as _;

/// A path in a tree.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct PathId(usize);

pub(super) enum ConflictStep {
    Field(String),
    /// An item, by the values of its keys.
    Item(String),
}

/// All paths of a merge.
#[derive(Default)]
pub(super) struct Paths {
    steps: Vec<(PathId, ConflictStep)>,
}

impl Paths {
    pub(super) const ROOT: PathId = PathId(0);

    pub(super) fn add(&mut self, parent: PathId, step: ConflictStep) -> PathId {
        self.steps.push((parent, step));
        PathId(self.steps.len())
    }

    /// The path as text: `spec.containers[name=web].image`. Keys with dots are quoted.
    pub(super) fn text(&self, path: PathId) -> String {
        let mut steps: Vec<&ConflictStep> = self.up(path).map(|(_, step)| step).collect();
        steps.reverse();
        let mut text = String::new();
        for step in steps {
            // Writing to a string does not fail.
            let _ = match step {
                ConflictStep::Item(label) => write!(text, "[{label}]"),
                ConflictStep::Field(name)
                    if name.is_empty() || name.contains(['.', '[', ']', '"']) =>
                {
                    write!(text, "[{}]", kiln_go::quote(name))
                }
                ConflictStep::Field(name) if text.is_empty() => write!(text, "{name}"),
                ConflictStep::Field(name) => write!(text, ".{name}"),
            };
        }
        text
    }

    /// The parents of a path, from the inside out.
    pub(super) fn parents(&self, path: PathId) -> impl Iterator<Item = PathId> {
        self.up(path).map(|(parent, _)| parent)
    }

    fn up(&self, path: PathId) -> impl Iterator<Item = (PathId, &ConflictStep)> {
        let step_to = |path: PathId| self.steps.get(path.0.checked_sub(1)?);
        std::iter::successors(step_to(path), move |(parent, _)| step_to(*parent))
            .map(|(parent, step)| (*parent, step))
    }
}
