//! `cargo xtask tidy` checks what the compiler and clippy do not, `generate` writes code from `proto/`, `images` makes images.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Chores of the workspace.
#[derive(Parser)]
#[command(name = "xtask")]
struct Args {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Checks layers, files and manifests; `cargo test` does so too.
    Tidy,
    /// Writes the Rust code of the definitions in `proto/`; `cargo test` checks that it is current.
    Generate,
    /// Makes the images as archives, without Docker, and pushes them to a registry if told to.
    Images(xtask::images::ImagesArgs),
}

fn main() -> ExitCode {
    let Args { chore } = Args::parse();
    match chore {
        Chore::Tidy => tidy(),
        Chore::Generate => generate(),
        Chore::Images(args) => images(&args),
    }
}

fn tidy() -> ExitCode {
    let mut err = io::stderr();
    match xtask::tidy::check(&xtask::workspace_root()) {
        Ok(violations) => {
            for violation in &violations {
                let _ = writeln!(err, "{violation}");
            }
            let _ = writeln!(err, "tidy: {} violations", violations.len());
            ExitCode::from(u8::from(!violations.is_empty()))
        }
        Err(error) => {
            let _ = writeln!(err, "tidy: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn generate() -> ExitCode {
    match xtask::generate::write(&xtask::workspace_root()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "generate: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn images(args: &xtask::images::ImagesArgs) -> ExitCode {
    match xtask::images::run(&xtask::workspace_root(), args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "images: {error:#}");
            ExitCode::from(2)
        }
    }
}
