//! Golden-case runner: `conformance <suite> PATH…` runs recorded cases and reports what differs.
//!
//! Every suite is a sub-command with a module of its own; all of them report through [`report`]. The last line of a
//! suite's run is `N passed, N failed`. Exit code 0: all passed; 1: some failed; 2: the run could not be made.

mod differential;
mod inputs;
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
    /// Pairs of YAML input and what Go makes of it, one JSON object a line.
    Yaml(yaml::Args),
    /// Mutated inputs, compared with what Go makes of them at this moment.
    Differential(differential::Args),
    /// Writes the inputs of recorded sets to files.
    Inputs(inputs::Args),
}

fn main() -> ExitCode {
    let args = Args::parse();
    let mut out = io::BufWriter::new(io::stdout());
    let outcome = match &args.command {
        Command::Yaml(args) => yaml::run(args, &mut out).map(Some),
        Command::Differential(args) => differential::run(args, &mut out).map(Some),
        Command::Inputs(args) => inputs::run(args).map(|()| None),
    };
    let outcome = outcome.and_then(|totals| {
        if let Some(totals) = totals {
            writeln!(out, "{totals}")?;
        }
        out.flush()?;
        Ok(totals.is_none_or(|totals| totals.failed == 0))
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

/// Whoever reads our output has seen enough.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
