//! The `cases` suite: golden case directories against any program with the commands of `kpt fn`.
//!
//! A case is a directory with a directory `.expected` in it. It runs on a fresh copy under git, with the program under
//! test on the path as `kpt`; its output, its exit code and `git diff` of the copy must be as recorded. Nothing here is
//! specific to kiln: the originals run in the same way, and where they fail too, the case or this runner is wrong.

mod better;
mod case;
mod case_environment;
mod compare;
mod config;
mod container_calls;
mod default_mode;
mod engine;
mod gaps;
mod judge;
pub(crate) mod packed;
mod pkg_cases;
pub(crate) mod process;
pub(crate) mod values;

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, bail};
use regex::Regex;

use better::Better;
use case::Case;
use case_environment::Subject;
use gaps::{Gaps, KnownGap};
use judge::{Verdict, judge};
use pkg_cases::PkgCases;

/// The list of known gaps, from the root of the repository.
const KNOWN_GAPS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../conformance/known-gaps.yaml"
);

/// The list of cases with a different result in the default mode.
const BETTER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../conformance/better-than-kpt.yaml"
);

/// Flags of the suite.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Cases, directories of them, or trees packed into a file (.jsonl).
    #[arg(required = true, value_name = "PATH")]
    trees: Vec<PathBuf>,
    /// The program to test; the default is kiln, built now.
    #[arg(long, value_name = "PATH")]
    bin: Option<PathBuf>,
    /// Only cases whose name matches this regular expression.
    #[arg(long, value_name = "REGEX")]
    only: Option<Regex>,
    /// Number of cases to run in parallel; the default is the number of cores.
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// A container engine to put on the path as `docker`; the default is one that records its calls and has only
    /// the images that need an engine.
    #[arg(long, value_name = "PATH")]
    fake_docker: Option<PathBuf>,
    /// Let kiln run all images with the container engine.
    #[arg(long)]
    no_native: bool,
    /// Test kiln's own mode: the same resources by value, the same exit code, and no more lines changed than the
    /// original changes; deliberate differences are listed in conformance/better-than-kpt.yaml.
    #[arg(long)]
    default_mode: bool,
    /// Record the cases of `kpt pkg` again with the program, and write their files.
    #[arg(long, requires = "bin")]
    record: bool,
    /// Print complete diffs, and passed and skipped cases by name.
    #[arg(short, long)]
    verbose: bool,
}

/// Runs the cases that the command line names.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<CaseTally> {
    let bin = match &args.bin {
        Some(bin) => bin.clone(),
        None => engine::build_kiln()?,
    };
    if args.record {
        for tree in &args.trees {
            let cases =
                PkgCases::read(tree)?.context("only cases of `kpt pkg` are recorded here")?;
            cases.record(&bin, tree)?;
        }
    }
    let suite = Suite {
        bin: &bin,
        fake_docker: args.fake_docker.as_deref(),
        catalog: match args.no_native {
            true => Catalog::Engine,
            false => Catalog::BuiltIn,
        },
        only: args.only.as_ref(),
        jobs: args.jobs,
        mode: match args.default_mode {
            true => Mode::Default,
            false => Mode::Recorded,
        },
        verbose: args.verbose,
    };
    suite.run(&args.trees, out)
}

/// The requirements for the program under test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    Recorded,
    /// The same resources and exit code with no more lines changed: kiln's default mode.
    Default,
}

/// What runs the images of the catalog if the program under test is kiln.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Catalog {
    /// kiln itself if it can, except in cases that test the engine.
    BuiltIn,
    /// The engine, always.
    Engine,
}

/// How to run cases.
#[derive(Clone, Copy, Debug)]
pub struct Suite<'a> {
    /// The program to test.
    pub bin: &'a Path,
    /// A container engine to put on the path.
    pub fake_docker: Option<&'a Path>,
    /// What runs the images of the catalog.
    pub catalog: Catalog,
    /// Which cases to run, by name.
    pub only: Option<&'a Regex>,
    /// Number of cases to run in parallel.
    pub jobs: Option<usize>,
    /// The requirements for the program.
    pub mode: Mode,
    /// Whether to print passed and skipped cases too.
    pub verbose: bool,
}

impl Suite<'_> {
    /// Runs all cases of some trees, directories or packed files, and writes their problems.
    pub fn run(&self, trees: &[PathBuf], out: &mut dyn Write) -> anyhow::Result<CaseTally> {
        let mut cases = Vec::new();
        let mut unpacked = Vec::new();
        let mut tally = CaseTally::default();
        let mut is_pkg = false;
        for tree in trees {
            let cannot_read = || format!("cannot read the cases of {}", tree.display());
            let pkg = match tree.is_file() {
                true => PkgCases::read(tree).with_context(cannot_read)?,
                false => None,
            };
            if let Some(pkg) = pkg {
                is_pkg = true;
                tally.add(pkg.run(self.bin, self.only, out)?);
                continue;
            }
            let found = if tree.is_file() {
                let directory = packed::unpack(tree).with_context(cannot_read)?;
                let found = case::find(directory.path());
                unpacked.push(directory);
                found
            } else {
                case::find(tree)
            };
            cases.extend(found.with_context(cannot_read)?);
        }
        if let Some(only) = self.only {
            cases.retain(|case| only.is_match(&case.name));
        }
        if cases.is_empty() {
            if is_pkg {
                return Ok(tally);
            }
            bail!("no case to run");
        }
        let gaps = Gaps::read(Path::new(KNOWN_GAPS))?;
        let better = Better::read(Path::new(BETTER))?;
        let subject = Subject::new(self)?;
        for (case, verdict) in cases.iter().zip(self.judge_all(&cases, &subject)) {
            let listed = gaps.listed(case, &subject);
            let mut verdict = verdict?;
            if self.mode == Mode::Default {
                verdict = better.apply(case, verdict);
            }
            let verdict = match self.mode {
                Mode::Recorded => after_gaps(verdict, listed),
                Mode::Default => after_gaps_by_value(verdict, listed),
            };
            tally.count(&verdict);
            self.write(case, &verdict, out)?;
        }
        Ok(tally)
    }

    /// The verdicts on all cases, in the order of the cases.
    fn judge_all(&self, cases: &[Case], subject: &Subject) -> Vec<anyhow::Result<Verdict>> {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        let jobs = self.jobs.unwrap_or_else(cores).clamp(1, cases.len());
        let next = AtomicUsize::new(0);
        let verdicts = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..jobs {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(case) = cases.get(at) else { break };
                        let verdict =
                            judge(case, subject).with_context(|| format!("case {}", case.name));
                        let mut verdicts = verdicts.lock().unwrap_or_else(PoisonError::into_inner);
                        verdicts.push((at, verdict));
                    }
                });
            }
        });
        let mut verdicts = verdicts
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        verdicts.sort_by_key(|(at, _)| *at);
        verdicts.into_iter().map(|(_, verdict)| verdict).collect()
    }

    fn write(&self, case: &Case, verdict: &Verdict, out: &mut dyn Write) -> anyhow::Result<()> {
        match verdict {
            Verdict::Passed if self.verbose => writeln!(out, "ok    {}", case.name)?,
            Verdict::Skipped(reason) if self.verbose => {
                writeln!(out, "skip  {}: {reason}", case.name)?;
            }
            Verdict::Passed | Verdict::Skipped(_) => {}
            Verdict::Failed(problems) => {
                writeln!(out, "FAIL  {}", case.name)?;
                for problem in problems {
                    writeln!(out, "  {}", problem.show(self.verbose))?;
                }
                writeln!(out)?;
            }
        }
        Ok(())
    }
}

/// Number of cases that passed, failed and were skipped.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct CaseTally {
    /// As recorded.
    pub passed: usize,
    /// Not as recorded, or listed as failing and passed.
    pub failed: usize,
    /// Cannot be run here, or known to fail.
    pub skipped: usize,
}

impl CaseTally {
    fn add(&mut self, other: CaseTally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }

    fn count(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Failed(_) => self.failed += 1,
            Verdict::Skipped(_) => self.skipped += 1,
        }
    }
}

impl fmt::Display for CaseTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CaseTally {
            passed,
            failed,
            skipped,
        } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// The verdict for a case that may be listed as failing.
fn after_gaps(verdict: Verdict, listed: Option<KnownGap<'_>>) -> Verdict {
    match (verdict, listed) {
        (Verdict::Failed(_), Some(listed)) => Verdict::Skipped(listed.to_string()),
        (Verdict::Passed, Some(listed)) => Verdict::Failed(vec![listed.no_longer()]),
        (verdict, _) => verdict,
    }
}

/// The same if only values count: a listed case may pass.
fn after_gaps_by_value(verdict: Verdict, listed: Option<KnownGap<'_>>) -> Verdict {
    match verdict {
        Verdict::Passed => Verdict::Passed,
        verdict => after_gaps(verdict, listed),
    }
}

#[cfg(test)]
mod tests;
