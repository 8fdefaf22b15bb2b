//! Speed and memory of kiln, compared with the Go libraries if they are available. Called by `bench/run`.
//!
//! Each measured program runs in its own process, so that peak memory is that of the work only.

mod chart;
mod child;
mod functions;
mod generate;
mod images;
mod inputs;
mod instructions;
mod limits;
mod measure;
mod packages;
mod pkg;
mod pods;
mod program_image;
mod read;
mod render;
mod report;
mod rpkg;
mod runner;
mod sandbox;
mod scale;
mod wasm;
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
    /// Parse and emit, kiln and go-yaml.
    Yaml(yaml::Args),
    /// Read a package of 5,000 files and write it unchanged.
    Read,
    /// Pathological inputs: time at 12.5, 25 and 50 MB.
    Limits(limits::Args),
    /// Render packages with kiln, with kpt and with kustomize.
    Render(render::Args),
    /// What a report adds to a render.
    Report(report::Args),
    /// Functions of the catalog: built in, as a program, and the originals.
    Functions(functions::Args),
    /// Calls of functions over gRPC, with kiln's function runner and with one in Go.
    Runner(runner::Args),
    /// Calls of functions in pods of a cluster, through the function runner and directly.
    Pods(pods::Args),
    /// Fetch and update a package with kiln and with kpt.
    Pkg(pkg::Args),
    /// Operations on package revisions, with kiln and by hand.
    Rpkg(rpkg::Args),
    /// Run a program with and without the sandbox, on the idle machine and under load.
    Sandbox(sandbox::Args),
    /// Run images in namespaces, by podman, crun and runc.
    Images(images::Args),
    /// A function in WebAssembly and as an executable.
    Wasm(wasm::Args),
    /// Clusters of up to 10,000 pods in virtual time.
    Scale(scale::Args),
    /// Count the instructions of fixed pieces of work.
    Instructions(instructions::Args),
    /// Run one function in this process; print a line of JSON.
    Native(functions::NativeArgs),
    /// One measurement in this process; print a line of JSON.
    Measure(measure::Args),
    /// Run one program; print time and memory as a line of JSON.
    Child(child::Args),
}

fn main() -> ExitCode {
    let mut out = io::stdout();
    let done = match &Args::parse().command {
        Command::Yaml(args) => yaml::run(args, &mut out),
        Command::Read => read::run(&mut out),
        Command::Limits(args) => limits::run(args, &mut out),
        Command::Render(args) => render::run(args, &mut out),
        Command::Report(args) => report::run(args, &mut out),
        Command::Functions(args) => functions::run(args, &mut out),
        Command::Runner(args) => runner::run(args, &mut out),
        Command::Pods(args) => pods::run(args, &mut out),
        Command::Pkg(args) => pkg::run(args, &mut out),
        Command::Rpkg(args) => rpkg::run(args, &mut out),
        Command::Sandbox(args) => sandbox::run(args, &mut out),
        Command::Images(args) => images::run(args, &mut out),
        Command::Wasm(args) => wasm::run(args, &mut out),
        Command::Scale(args) => scale::run(args, &mut out),
        Command::Instructions(args) => instructions::run(args, &mut out),
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
