//! Runs one case and says whether it passed.

use anyhow::Result;

use super::case::{Case, Generation};
use super::compare;
use super::engine::needed_image;
use super::values;
use super::world::{Subject, World};
use crate::report;

/// What became of a case.
#[derive(Debug)]
pub(crate) enum Verdict {
    Passed,
    Failed(Vec<Problem>),
    Skipped(String),
}

/// One thing that is not as recorded.
#[derive(Debug)]
pub(crate) enum Problem {
    /// Told in a sentence.
    Plain(String),
    /// A text that differs.
    Text {
        what: String,
        wanted: String,
        got: String,
    },
}

impl Problem {
    pub(super) fn text(what: &str, wanted: &str, got: &str) -> Problem {
        Problem::Text {
            what: what.to_owned(),
            wanted: wanted.to_owned(),
            got: got.to_owned(),
        }
    }

    /// The problem for people: a diff where texts differ.
    pub(super) fn show(&self, whole: bool) -> String {
        match self {
            Problem::Plain(sentence) => sentence.clone(),
            Problem::Text { what, wanted, got } => format!(
                "{what} (- wanted, + got)\n{}",
                report::diff(wanted, got, whole)
            ),
        }
    }
}

/// Runs a case and compares.
pub(super) fn judge(case: &Case, subject: &Subject) -> Result<Verdict> {
    if case.config.is_skipped {
        return Ok(Verdict::Skipped("the case says so".to_owned()));
    }
    if case.config.needs_wasm {
        return Ok(Verdict::Skipped("needs WebAssembly".to_owned()));
    }
    if let Some(missing) = case.missing_input() {
        return Ok(Verdict::Skipped(format!("{missing} was not recorded")));
    }
    let world = World::new(case, subject)?;
    if let Some(script) = &case.commands.setup {
        // It prepares images; where there are none, what follows shows whether that matters.
        world.shell(script)?;
        world.take_images();
    }
    let outcome = world.run(case)?;
    let mut problems = compare::ending(case, &world, &outcome)?;
    match case.generation {
        Generation::Current => {
            problems.extend(compare::streams(case, &world, &outcome)?);
            problems.extend(compare::files(case, &world)?);
        }
        Generation::Legacy => {
            problems.extend(values::streams(case, &world, &outcome));
            problems.extend(values::files(case, &world)?);
        }
    }
    if let Some(script) = &case.commands.teardown {
        world.shell(script)?;
    }
    let images = world.take_images();
    Ok(match needed_image(&images) {
        _ if problems.is_empty() => Verdict::Passed,
        Some(image) if !subject.has_engine() => {
            Verdict::Skipped(format!("needs the image {image}"))
        }
        _ => Verdict::Failed(problems),
    })
}
