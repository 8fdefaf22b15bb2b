//! Speed and memory of kiln, beside the Go libraries where they are at hand. Called by `bench/run`.
//!
//! Whatever is compared runs in a process of its own, so that peak memory is that of the work and nothing else.

mod child;
mod functions;
mod generate;
mod inputs;
mod limits;
mod measure;
mod packages;
mod pods;
mod read;
mod render;
mod rpkg;
mod runner;
mod sandbox;
mod yaml;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measures kiln.
#[derive(Parser)]
#[command(name = "bench")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Parse and emit, ours and go-yaml's.
    Yaml(yaml::Args),
    /// A package of 5,000 files read and written unchanged.
    Read,
    /// Inputs made to be slow: time at 12.5, 25 and 50 MB.
    Limits(limits::Args),
    /// Packages rendered, by kiln and by kpt.
    Render(render::Args),
    /// Functions of the catalog: built in, as a program, and the originals.
    Functions(functions::Args),
    /// Calls of functions over gRPC, by the function runner and by one in Go.
    Runner(runner::Args),
    /// Calls of functions in pods of a cluster, through the function runner and past it.
    Pods(pods::Args),
    /// Steps in the life of package revisions, by kiln and by hand.
    Rpkg(rpkg::Args),
    /// A program run with and without the sandbox, on a machine as it is and on a busy one.
    Sandbox(sandbox::Args),
    /// One function run in this process, as a line of JSON.
    Native(functions::NativeArgs),
    /// One measurement in this process, as a line of JSON.
    Measure(measure::Args),
    /// One program run to its end, and what it took as a line of JSON.
    Child(child::Args),
}

fn main() -> ExitCode {
    let mut out = io::stdout();
    let done = match &Args::parse().command {
        Command::Yaml(args) => yaml::run(args, &mut out),
        Command::Read => read::run(&mut out),
        Command::Limits(args) => limits::run(args, &mut out),
        Command::Render(args) => render::run(args, &mut out),
        Command::Functions(args) => functions::run(args, &mut out),
        Command::Runner(args) => runner::run(args, &mut out),
        Command::Pods(args) => pods::run(args, &mut out),
        Command::Rpkg(args) => rpkg::run(args, &mut out),
        Command::Sandbox(args) => sandbox::run(args, &mut out),
        Command::Native(args) => functions::run_native(args, &mut out),
        Command::Measure(args) => measure::run(args, &mut out),
        Command::Child(args) => child::run(args, &mut out),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "bench: {error:#}");
            ExitCode::from(1)
        }
    }
}
