//! Where in a tree a conflict is, kept as a chain of steps so that deep trees cost no more than flat ones.

use std::fmt::Write as _;

/// A place in a tree.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct PathId(usize);

/// One step down.
pub(super) enum Step {
    /// To a field.
    Field(String),
    /// To an item, by the values of its keys.
    Item(String),
}

/// All places that have been asked for.
#[derive(Default)]
pub(super) struct Paths {
    steps: Vec<(PathId, Step)>,
}

impl Paths {
    /// The top.
    pub(super) const ROOT: PathId = PathId(0);

    pub(super) fn add(&mut self, parent: PathId, step: Step) -> PathId {
        self.steps.push((parent, step));
        PathId(self.steps.len())
    }

    /// As people write it: `spec.containers[name=web].image`, with keys that have dots in quotes.
    pub(super) fn text(&self, place: PathId) -> String {
        let mut steps: Vec<&Step> = self.up(place).map(|(_, step)| step).collect();
        steps.reverse();
        let mut text = String::new();
        for step in steps {
            // Writing to a string does not fail.
            let _ = match step {
                Step::Item(label) => write!(text, "[{label}]"),
                Step::Field(name) if name.is_empty() || name.contains(['.', '[', ']', '"']) => {
                    write!(text, "[{}]", kiln_yaml::go_quote(name))
                }
                Step::Field(name) if text.is_empty() => write!(text, "{name}"),
                Step::Field(name) => write!(text, ".{name}"),
            };
        }
        text
    }

    /// The places that a place is in, from the inside out.
    pub(super) fn around(&self, place: PathId) -> impl Iterator<Item = PathId> {
        self.up(place).map(|(parent, _)| parent)
    }

    fn up(&self, place: PathId) -> impl Iterator<Item = (PathId, &Step)> {
        let step_to = |place: PathId| self.steps.get(place.0.checked_sub(1)?);
        std::iter::successors(step_to(place), move |(parent, _)| step_to(*parent))
            .map(|(parent, step)| (*parent, step))
    }
}
