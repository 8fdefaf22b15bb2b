//! `cargo run -p xtask -- tidy`: what the compiler and clippy do not check.

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
}

fn main() -> ExitCode {
    let Args { chore: Chore::Tidy } = Args::parse();
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
