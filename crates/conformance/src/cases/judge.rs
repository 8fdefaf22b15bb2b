//! Runs one case and returns the verdict.

use std::fmt;

use anyhow::Result;

use super::Mode;
use super::case::{Case, KptRelease};
use super::case_environment::{CaseEnvironment, Subject};
use super::compare;
use super::container_calls;
use super::default_mode;
use super::engine::needed_image;
use super::values;
use crate::report;

/// The verdict on a case.
#[derive(Debug)]
pub(crate) enum Verdict {
    Passed,
    Failed(Vec<Problem>),
    Skipped(String),
}

/// One difference to the recording.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(super) about: About,
    detail: Detail,
}

/// The part of a case that differs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum About {
    ExitCode,
    Stdout,
    Stderr,
    Results,
    Files,
    /// The calls of a container engine.
    Engine,
    /// More changed lines than with the original.
    Lines,
    /// The entry of the case in a list.
    List,
}

#[derive(Debug)]
enum Detail {
    Plain(String),
    /// A text that differs.
    Text {
        what: String,
        wanted: String,
        got: String,
    },
}

impl About {
    /// All parts that lists can name.
    pub(super) const NAMES: [(&'static str, About); 7] = [
        ("exit code", About::ExitCode),
        ("stdout", About::Stdout),
        ("stderr", About::Stderr),
        ("results", About::Results),
        ("files", About::Files),
        ("engine", About::Engine),
        ("lines", About::Lines),
    ];
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = About::NAMES.iter();
        let name = names.find(|(_, about)| about == self);
        f.write_str(name.map_or("list", |(name, _)| name))
    }
}

impl Problem {
    pub(super) fn plain(about: About, sentence: String) -> Problem {
        Problem {
            about,
            detail: Detail::Plain(sentence),
        }
    }

    pub(super) fn text(about: About, what: &str, wanted: &str, got: &str) -> Problem {
        Problem {
            about,
            detail: Detail::Text {
                what: what.to_owned(),
                wanted: wanted.to_owned(),
                got: got.to_owned(),
            },
        }
    }

    /// The problem as text: a diff if texts differ.
    pub(super) fn show(&self, whole: bool) -> String {
        match &self.detail {
            Detail::Plain(sentence) => sentence.clone(),
            Detail::Text { what, wanted, got } => format!(
                "{what} (- wanted, + got)\n{}",
                report::diff(wanted, got, whole)
            ),
        }
    }
}

/// Runs and compares a case as often as the original runner.
pub(super) fn judge(case: &Case, subject: &Subject) -> Result<Verdict> {
    for _ in 1..case.run_count() {
        match judge_once(case, subject)? {
            Verdict::Passed => {}
            verdict => return Ok(verdict),
        }
    }
    judge_once(case, subject)
}

fn judge_once(case: &Case, subject: &Subject) -> Result<Verdict> {
    if case.config.is_skipped {
        return Ok(Verdict::Skipped("the case says so".to_owned()));
    }
    if case.config.needs_wasm {
        return Ok(Verdict::Skipped("needs WebAssembly".to_owned()));
    }
    if subject.mode == Mode::Default && case.is_of_older_verb() {
        let reason = "in the default mode source and sink are today's";
        return Ok(Verdict::Skipped(reason.to_owned()));
    }
    if let Some(missing) = case.missing_input() {
        return Ok(Verdict::Skipped(format!("{missing} was not recorded")));
    }
    let environment = CaseEnvironment::new(case, subject)?;
    if let Some(script) = &case.commands.setup {
        environment.prepare(script)?;
    }
    let outcome = environment.run(case)?;
    let outcome = match subject.mode {
        Mode::Default => default_mode::with_code_of_kpt(outcome),
        Mode::Recorded => outcome,
    };
    let mut problems = compare::ending(case, &outcome);
    match (subject.mode, case.release) {
        (Mode::Default, _) => problems.extend(default_mode::compare(case, &environment, &outcome)?),
        (Mode::Recorded, KptRelease::Current) => {
            problems.extend(compare::results(case, &environment)?);
            problems.extend(compare::streams(case, &environment, &outcome)?);
            problems.extend(compare::files(case, &environment)?);
        }
        (Mode::Recorded, KptRelease::Legacy) => {
            problems.extend(compare::results(case, &environment)?);
            problems.extend(values::streams(case, &environment, &outcome));
            let is_same = |_: &str, wanted: &str, got: &str| values::are_same(wanted, got);
            problems.extend(values::files(case, &environment, is_same)?);
        }
    }
    if let Some(script) = &case.commands.teardown {
        environment.shell(script)?;
    }
    let [program, engine] = environment.calls();
    let miscalled = container_calls::check(&program, &engine, &case.dir, subject.mode)?;
    let images = environment.missing_images();
    Ok(match needed_image(&images) {
        _ if !miscalled.is_empty() => {
            problems.extend(miscalled);
            Verdict::Failed(problems)
        }
        _ if problems.is_empty() => Verdict::Passed,
        Some(image) if !subject.has_engine() => {
            Verdict::Skipped(format!("needs the image {image}"))
        }
        _ => Verdict::Failed(problems),
    })
}
