//! Golden-case runner: `conformance <suite> PATH…` runs recorded cases and reports what differs.
//!
//! Every suite is a sub-command with a module of its own; all of them report through [`report`]. The last line of a
//! run is `N passed, N failed`. Exit code 0: all passed; 1: some failed; 2: the run could not be made.

mod differential;
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
    suite: Suite,
}

#[derive(Subcommand)]
enum Suite {
    /// Pairs of YAML input and what Go makes of it, one JSON object a line.
    Yaml(yaml::Args),
    /// Mutated inputs, compared with what Go makes of them at this moment.
    Differential(differential::Args),
}

fn main() -> ExitCode {
    let args = Args::parse();
    let mut out = io::BufWriter::new(io::stdout());
    let outcome = match &args.suite {
        Suite::Yaml(args) => yaml::run(args, &mut out),
        Suite::Differential(args) => differential::run(args, &mut out),
    };
    let outcome = outcome.and_then(|totals| {
        writeln!(out, "{totals}")?;
        out.flush()?;
        Ok(totals)
    });
    match outcome {
        Ok(totals) if totals.failed == 0 => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "conformance: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Whoever reads our output has seen enough.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
