//! `cargo xtask tidy` checks what the compiler and clippy do not, `generate` writes code from `proto/`, `images` builds images,
//! `dist` makes releases, `site` makes pages of the documentation.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tasks of the workspace
#[derive(Parser)]
#[command(name = "xtask")]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Check layers, files, manifests and names; `cargo test` does so too
    Tidy,
    /// Write the Rust code of the definitions in `proto/`; `cargo test` checks that it is current
    Generate,
    /// Make a release: archives, packages, images, checksums and lists of parts
    Dist(xtask::dist::DistArgs),
    /// Make web pages of the documentation, with mdBook
    Site,
    /// Build the images as archives, without Docker, and optionally push them to a registry
    Images(xtask::images::ImagesArgs),
}

fn main() -> ExitCode {
    let Args { task } = Args::parse();
    let root = xtask::workspace_root();
    match task {
        Task::Tidy => tidy(&root),
        Task::Generate => finish("generate", xtask::generate::write(&root)),
        Task::Dist(args) => finish("dist", xtask::dist::run(&root, &args)),
        Task::Site => finish("site", xtask::site::run(&root)),
        Task::Images(args) => finish("images", xtask::images::run(&root, &args)),
    }
}

fn tidy(root: &Path) -> ExitCode {
    let mut err = io::stderr();
    match xtask::tidy::check(root) {
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

fn finish(name: &str, result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{name}: {error:#}");
            ExitCode::from(2)
        }
    }
}
