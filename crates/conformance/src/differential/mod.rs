//! The `differential` suite: new inputs, compared with Go's current output.
//!
//! Inputs are mutations of given ones and small generated documents, both determined by a seed. The oracle
//! (`tools/record`) returns Go's output; a differing input is reduced before it is printed.
//! Differences can be kept as recorded cases, to be run again with the `yaml` suite.

mod minimise;
mod mutate;
mod oracle;
mod random;
mod scratch;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::thread;

use anyhow::{Context, bail};

use crate::report::{self, Table, Tally};
use crate::yaml::case::{self, Case};
use crate::yaml::kind::Kind;
use crate::yaml::{Check, LOADER_STACK, check_all, collect_sets, load};
use minimise::minimise;
use mutate::Mutator;
use oracle::Oracle;
pub(crate) use random::Random;

/// Number of inputs per request to the oracle.
const BATCH: usize = 4096;
/// For longer inputs, windows of lines are the seeds.
const MAX_SEED_INPUT: usize = 64 << 10;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Recorded sets whose inputs are mutated.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// The built oracle.
    #[arg(long, value_name = "PROGRAM")]
    oracle: PathBuf,
    /// The first seed; input number i depends only on the sum of seed and i, and on the sets.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of inputs to try.
    #[arg(long, default_value_t = 100_000)]
    count: u64,
    /// Stop after this many distinct differing inputs, after reduction.
    #[arg(long, default_value_t = 10)]
    max_failures: usize,
    /// Only these kinds, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "KINDS")]
    kinds: Vec<Kind>,
    /// Append reduced differing inputs with Go's output to this file.
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
}

/// Tries inputs until the number of inputs or of differences is reached.
pub(crate) fn run(args: &Args, out: &mut (dyn Write + Send)) -> anyhow::Result<Tally> {
    // Answers contain trees, which are read recursively.
    thread::scope(|scope| {
        let worker = thread::Builder::new().stack_size(LOADER_STACK);
        match worker.spawn_scoped(scope, || search(args, out))?.join() {
            Ok(totals) => totals,
            Err(_) => bail!("the differential run panicked"),
        }
    })
}

fn search(args: &Args, out: &mut dyn Write) -> anyhow::Result<Tally> {
    let kinds = match args.kinds.as_slice() {
        [] => Kind::ALL.to_vec(),
        kinds => kinds.to_vec(),
    };
    let mutator = Mutator::new(seeds(args)?);
    let mut oracle = Oracle::start(&args.oracle, &kinds)?;
    let mut keep = args.keep.as_ref().map(open_for_append).transpose()?;
    let mut table = Table::default();
    let mut shown = HashSet::new();
    let last = args.seed.saturating_add(args.count);
    let mut seed = args.seed;
    while seed < last && shown.len() < args.max_failures {
        let batch_end = last.min(seed.saturating_add(BATCH as u64));
        let input = |seed| mutator.input(&mut Random::new(seed));
        let inputs: Vec<Vec<u8>> = (seed..batch_end).map(input).collect();
        let cases = oracle.ask(&inputs)?;
        for (case, checks) in cases.iter().zip(check_all(&cases, &kinds)) {
            for check in &checks {
                table.count(&check.row, check.failure.is_none());
            }
            let Some(kind) = first_failed(&checks) else {
                continue;
            };
            if shown.len() == args.max_failures {
                continue;
            }
            let id = format!("seed-{}", seed + case.id.parse::<u64>().unwrap_or(0));
            let small = minimise(&case.input, kind, &mut oracle)?;
            if shown.insert(small.input.clone()) {
                show(&id, &small, &kinds, out)?;
                if let Some(file) = &mut keep {
                    oracle.record(&id, &small.input, file)?;
                }
            }
        }
        seed = batch_end;
    }
    table.write(&format!("seeds {}..{seed}", args.seed), out)?;
    Ok(table.total())
}

fn first_failed(checks: &[Check]) -> Option<Kind> {
    let failed = checks.iter().find(|check| check.failure.is_some());
    failed.map(|check| check.kind)
}

fn show(id: &str, case: &Case, kinds: &[Kind], out: &mut dyn Write) -> anyhow::Result<()> {
    let input = String::from_utf8_lossy(&case.input);
    writeln!(out, "{id} {:?}\n{}", input, report::numbered(&input))?;
    for check in check_all(std::slice::from_ref(case), kinds)
        .iter()
        .flatten()
    {
        if let Some(failure) = &check.failure {
            writeln!(out, "FAIL {id} {}: {}", check.row, failure.summary())?;
            failure.write_diff(false, out)?;
        }
    }
    // A user may be waiting for the first difference of a long run.
    out.flush()?;
    Ok(())
}

fn seeds(args: &Args) -> anyhow::Result<Vec<Vec<u8>>> {
    let mut files = Vec::new();
    for path in &args.paths {
        collect_sets(path, &mut files)?;
    }
    let mut seeds = Vec::new();
    for file in &files {
        let inputs = load(file)?.into_iter().map(|case| case.input);
        seeds.extend(inputs.filter(|input| input.len() <= MAX_SEED_INPUT));
    }
    if seeds.is_empty() {
        bail!("no input to start from");
    }
    Ok(seeds)
}

fn open_for_append(path: &PathBuf) -> anyhow::Result<BufWriter<File>> {
    let file = fs::OpenOptions::new().create(true).append(true).open(path);
    let file = file.with_context(|| format!("cannot write {}", path.display()))?;
    Ok(BufWriter::new(file))
}

/// A request to the oracle.
fn question(id: usize, input: &[u8]) -> String {
    serde_json::json!({ "id": id.to_string(), "in": case::to_value(input) }).to_string()
}

#[cfg(test)]
mod tests;
