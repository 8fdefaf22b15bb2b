//! The `packages` suite: packages made up from a seed, rendered by kpt with the original functions and by kiln with its own.
//!
//! kiln is run in both modes. In `--compat=kpt` its files have to be kpt's to the byte; by default they have to hold the
//! same values and all comments, change in no more lines than with kpt, and stay as they are when rendered again. A package
//! that fails is cut down before it is shown and kept. Differences that are known are listed with their reasons, and counted
//! as such.

mod functions;
mod generate;
mod judge;
mod known;
mod layout;
mod package;
mod peers;
mod resources;
mod shrink;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context as _;

use crate::differential::Random;
use crate::report::{Table, Tally};
use generate::Generator;
use judge::{Difference, judge};
use known::Known;
use package::Package;
use peers::Peers;
use shrink::shrink;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Directories with real packages, which are mutated
    packages: Vec<PathBuf>,
    /// kpt
    #[arg(long, value_name = "PROGRAM")]
    kpt: PathBuf,
    /// The directory with the original functions: programs named NAME@TAG
    #[arg(long, value_name = "DIRECTORY")]
    originals: PathBuf,
    /// kiln
    #[arg(long, value_name = "PROGRAM")]
    kiln: PathBuf,
    /// The first seed; package number i depends on the seeds' sum and on the real packages alone
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many packages to try
    #[arg(long, default_value_t = 200)]
    count: u64,
    /// Stop after this many differences that are unlike each other
    #[arg(long, default_value_t = 10)]
    max_failures: usize,
    /// How many smaller packages to try for each difference
    #[arg(long, default_value_t = 250)]
    shrink_tries: usize,
    /// Where to keep packages that fail, cut down; each in a directory of its own, with what differs in `difference.txt`
    #[arg(
        long,
        value_name = "DIRECTORY",
        default_value = "target/packages-differential"
    )]
    keep: PathBuf,
    /// Differences that are known, with their reasons
    #[arg(
        long,
        value_name = "FILE",
        default_value = "conformance/package-gaps.yaml"
    )]
    known: PathBuf,
}

/// Tries packages until enough have been tried or enough have differed.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<Tally> {
    let peers = Peers::new(&args.kpt, &args.originals, &args.kiln)?;
    let generator = Generator::new(&args.packages, peers.functions())?;
    let known = Known::read(&args.known)?;
    let mut table = Table::default();
    let mut known_counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut shown = BTreeSet::new();
    let last = args.seed.saturating_add(args.count);
    for seed in args.seed..last {
        if shown.len() >= args.max_failures {
            break;
        }
        let package = generator.package(&mut Random::new(seed));
        let differences = judge(&package, &peers)?;
        let mut passed = true;
        for difference in differences {
            if let Some(reason) = known.reason(&package, &difference) {
                *known_counts.entry(reason.to_owned()).or_default() += 1;
                continue;
            }
            passed = false;
            let class = class(&package, &difference);
            if shown.contains(&class) || shown.len() >= args.max_failures {
                continue;
            }
            let small = shrink(
                &package,
                difference.check,
                args.shrink_tries,
                &peers,
                &known,
            )?;
            show(args, seed, &small, out)?;
            shown.insert(class);
        }
        table.count("packages", passed);
    }
    for (reason, count) in &known_counts {
        writeln!(out, "known, {count} times: {reason}")?;
    }
    table.write(&format!("seeds {}..{last}", args.seed), out)?;
    Ok(table.total())
}

/// Packages with the same functions that fail the same check are shown once.
fn class(package: &Package, difference: &Difference) -> (String, String) {
    let steps = package.pipeline.iter();
    let functions: Vec<&str> = steps.map(|step| step.function.name).collect();
    (difference.check.to_string(), functions.join(" "))
}

fn show(
    args: &Args,
    seed: u64,
    small: &(Package, Difference),
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let (package, difference) = small;
    let name = format!("seed-{seed}-{}", difference.check);
    let directory = args.keep.join(&name);
    let cannot_keep = || format!("cannot write {}", directory.display());
    if directory.exists() {
        fs::remove_dir_all(&directory).with_context(cannot_keep)?;
    }
    package
        .write(&directory.join("package"))
        .with_context(cannot_keep)?;
    let text = format!("{}\n{}\n", difference.check, difference.text);
    fs::write(directory.join("difference.txt"), &text).with_context(cannot_keep)?;
    writeln!(out, "FAIL {name}: {text}{package}")?;
    // The first difference of a long run is of use before its end.
    out.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests;
