//! The `yaml` suite: recorded pairs of YAML text and the output of Go's tools.
//!
//! A set is a file of JSON lines. A case has an input and, by [`Kind`], Go's output or the line of its error; each of these
//! is one check. No case ends the run: a panic is caught and is a failed check.

pub(crate) mod case;
pub(crate) mod kind;
mod nodes;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, bail};

use crate::report::{self, Table, Tally};
use case::{Case, Expected};
use kind::Kind;

/// Inputs up to this many bytes are shown with their failures.
const SHORT_INPUT: usize = 1200;
/// Recorded trees are nested JSON; its reader recurses and needs a large stack.
pub(crate) const LOADER_STACK: usize = 1 << 30;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Files of JSON lines, or directories of them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Only cases whose id contains this.
    #[arg(long, value_name = "ID")]
    filter: Option<String>,
    /// Only these kinds, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "KINDS")]
    kinds: Vec<Kind>,
    /// Print complete inputs and diffs, and passed cases by name.
    #[arg(short, long)]
    verbose: bool,
}

/// Runs all sets and writes the differences and a table for each set.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<Tally> {
    let mut files = Vec::new();
    for path in &args.paths {
        collect_sets(path, &mut files)?;
    }
    let mut totals = Tally::default();
    let mut all_cases = 0;
    for file in &files {
        let mut cases = load(file)?;
        if let Some(part) = &args.filter {
            cases.retain(|case| case.id.contains(part.as_str()));
        }
        all_cases += cases.len();
        if !cases.is_empty() {
            totals.add(run_set(file, &cases, args, out)?);
        }
    }
    if all_cases == 0 {
        bail!("no case to run");
    }
    Ok(totals)
}

pub(crate) fn collect_sets(path: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let cannot_read = || format!("cannot read {}", path.display());
    if !fs::metadata(path).with_context(cannot_read)?.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path).with_context(cannot_read)? {
        let entry = entry.with_context(cannot_read)?.path();
        if entry.extension().is_some_and(|end| end == "jsonl") {
            found.push(entry);
        }
    }
    if found.is_empty() {
        bail!("no .jsonl file in {}", path.display());
    }
    found.sort();
    files.append(&mut found);
    Ok(())
}

pub(crate) fn load(file: &Path) -> anyhow::Result<Vec<Case>> {
    let load = || {
        let cannot_read = || format!("cannot read {}", file.display());
        let text = fs::read_to_string(file).with_context(cannot_read)?;
        let lines = text.lines().enumerate();
        lines
            .filter(|(_, line)| !line.trim().is_empty())
            .map(|(index, line)| {
                Case::read(line).with_context(|| format!("{}:{}", file.display(), index + 1))
            })
            .collect()
    };
    thread::scope(|scope| {
        let loader = thread::Builder::new().stack_size(LOADER_STACK);
        match loader.spawn_scoped(scope, load)?.join() {
            Ok(cases) => cases,
            Err(_) => bail!("reading {} panicked", file.display()),
        }
    })
}

fn run_set(file: &Path, cases: &[Case], args: &Args, out: &mut dyn Write) -> anyhow::Result<Tally> {
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let mut table = Table::default();
    for (case, checks) in cases.iter().zip(check_all(cases, &args.kinds)) {
        let shown = args.verbose || case.input.len() <= SHORT_INPUT;
        if shown && checks.iter().any(|check| check.failure.is_some()) {
            let input = String::from_utf8_lossy(&case.input);
            writeln!(out, "{name}:{}\n{}", case.id, report::numbered(&input))?;
        }
        for check in checks {
            table.count(&check.row, check.failure.is_none());
            match check.failure {
                Some(failure) => {
                    writeln!(
                        out,
                        "FAIL {name}:{} {}: {}",
                        case.id,
                        check.row,
                        failure.summary()
                    )?;
                    failure.write_diff(args.verbose, out)?;
                }
                None if args.verbose => writeln!(out, "ok   {name}:{} {}", case.id, check.row)?,
                None => {}
            }
        }
    }
    table.write(&format!("{name} ({} cases)", cases.len()), out)?;
    Ok(table.total())
}

/// One check: `compact`, `refused.kio` and so on.
pub(crate) struct Check {
    pub(crate) kind: Kind,
    pub(crate) row: String,
    pub(crate) failure: Option<PairFailure>,
}

pub(crate) enum PairFailure {
    Differs { wanted: String, got: String },
    Refused { message: String },
    NotRefused { wanted: String },
    OtherLine { wanted: String, got: String },
    Panicked { message: String },
}

impl PairFailure {
    pub(crate) fn summary(&self) -> String {
        match self {
            PairFailure::Differs { .. } => "differs".to_owned(),
            PairFailure::Refused { message } => format!("refused: {message}"),
            PairFailure::NotRefused { wanted } => format!("accepted, but Go says: {wanted}"),
            PairFailure::OtherLine { wanted, got } => {
                format!("refused on another line: wanted {wanted:?}, got {got:?}")
            }
            PairFailure::Panicked { message } => format!("PANIC: {message}"),
        }
    }

    /// Details that do not fit into one line.
    pub(crate) fn write_diff(&self, all_lines: bool, out: &mut dyn Write) -> io::Result<()> {
        if let PairFailure::Differs { wanted, got } = self {
            let diff = report::diff(wanted, got, all_lines);
            writeln!(out, "  - wanted, + got:\n{diff}")?;
        }
        Ok(())
    }
}

/// The checks of every case, in the order of the cases, computed in parallel.
pub(crate) fn check_all(cases: &[Case], kinds: &[Kind]) -> Vec<Vec<Check>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(cases.len()));
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((index, case)) = take(cases, &next) {
                    let checks = check(case, kinds);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.push((index, checks));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, checks)| checks).collect()
}

fn take<'a>(cases: &'a [Case], next: &AtomicUsize) -> Option<(usize, &'a Case)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    cases.get(index).map(|case| (index, case))
}

fn check(case: &Case, kinds: &[Kind]) -> Vec<Check> {
    let wanted = |kind: Kind| kinds.is_empty() || kinds.contains(&kind);
    let mut checks = Vec::new();
    for (kind, expected) in &case.expected {
        if !wanted(*kind) {
            continue;
        }
        let row = match expected {
            Expected::Output(_) => kind.name().to_owned(),
            Expected::Refused(_) => format!("refused.{}", kind.name()),
        };
        let failure = match kind.run_guarded(&case.input) {
            Err(message) => Some(PairFailure::Panicked { message }),
            Ok(got) => compare(expected, got),
        };
        checks.push(Check {
            kind: *kind,
            row,
            failure,
        });
    }
    checks
}

fn compare(expected: &Expected, got: Result<String, String>) -> Option<PairFailure> {
    match (expected, got) {
        (Expected::Output(wanted), Ok(got)) if *wanted == got.as_bytes() => None,
        (Expected::Output(wanted), Ok(got)) => Some(PairFailure::Differs {
            wanted: String::from_utf8_lossy(wanted).into_owned(),
            got,
        }),
        (Expected::Output(_), Err(message)) => Some(PairFailure::Refused { message }),
        (Expected::Refused(wanted), Ok(_)) => Some(PairFailure::NotRefused {
            wanted: wanted.clone(),
        }),
        (Expected::Refused(wanted), Err(got)) if go_line(wanted) == go_line(&got) => None,
        (Expected::Refused(wanted), Err(got)) => Some(PairFailure::OtherLine {
            wanted: wanted.clone(),
            got,
        }),
    }
}

/// The number in `yaml: line N:`, if the message has one.
fn go_line(message: &str) -> Option<usize> {
    let (_, rest) = message.split_once("yaml: line ")?;
    let (number, _) = rest.split_once(':')?;
    number.parse().ok()
}

#[cfg(test)]
mod tests;
