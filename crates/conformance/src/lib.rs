//! Golden-case runner: `conformance <suite> PATH…` runs recorded cases and reports what differs.
//!
//! Every suite is a sub-command with its own module; all of them report through [`report`]. The last line of a
//! suite's run is `N passed, N failed`, with `N skipped` if a suite may skip. Exit code 0: none failed; 1: some
//! failed; 2: the run could not be made.

pub mod cases;
mod differential;
mod inputs;
mod packages;
mod report;
mod yaml;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Runs recorded cases against kiln and reports what differs.
#[derive(Parser)]
#[command(name = "conformance", version)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Pairs of YAML input and Go's output, one JSON object per line.
    Yaml(yaml::Args),
    /// Mutated inputs, compared with Go's current output.
    Differential(differential::Args),
    /// Random packages, rendered by kpt with the original functions and by kiln.
    Packages(packages::Args),
    /// Golden case directories, against any program with the commands of `kpt fn`.
    Cases(cases::Args),
    /// Packs a tree of golden cases into one file.
    Pack(cases::packed::Args),
    /// Writes the inputs of recorded sets to files.
    Inputs(inputs::Args),
}

/// The program: parses its command line, runs a suite and prints the outcome.
pub fn main() -> ExitCode {
    let args = Args::parse();
    let mut out = io::BufWriter::new(io::stdout());
    let outcome = match &args.command {
        Command::Yaml(args) => yaml::run(args, &mut out).map(closing),
        Command::Differential(args) => differential::run(args, &mut out).map(closing),
        Command::Packages(args) => packages::run(args, &mut out).map(closing),
        Command::Cases(args) => {
            cases::run(args, &mut out).map(|tally| Some((tally.to_string(), tally.failed == 0)))
        }
        Command::Pack(args) => cases::packed::run(args).map(|()| None),
        Command::Inputs(args) => inputs::run(args).map(|()| None),
    };
    let outcome = outcome.and_then(|totals| {
        if let Some((line, _)) = &totals {
            writeln!(out, "{line}")?;
        }
        out.flush()?;
        Ok(totals.is_none_or(|(_, is_good)| is_good))
    });
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "conformance: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// The last line of a suite, and whether it succeeded.
fn closing(tally: report::Tally) -> Option<(String, bool)> {
    Some((tally.to_string(), tally.failed == 0))
}

/// The reader has closed our output.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
