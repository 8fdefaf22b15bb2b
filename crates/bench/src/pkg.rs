//! `bench pkg`: kiln and kpt fetch and update a package from a repository on this machine.
//!
//! Each program has its own empty cache. kiln runs in its default mode and, for comparison, in kpt's.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use tempfile::TempDir;

use crate::child::{Usage, measure};
use crate::packages::Shape;
use crate::render::{best, geometric_mean};

const RESOURCES: usize = 200;
const ROUNDS: usize = 5;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The kiln to measure.
    #[arg(long)]
    kiln: PathBuf,
    /// The kpt to compare with; without it, only kiln is measured.
    #[arg(long)]
    kpt: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(
        out,
        "{RESOURCES} resources in {RESOURCES} files, file:// repository, empty cache; best of {ROUNDS}"
    )?;
    writeln!(
        out,
        "{:14} {:>10} {:>10} {:>10} {:>8}",
        "program", "verb", "wall s", "CPU s", "ratio"
    )?;
    let repository = make_repository()?;
    let mut programs: Vec<(&str, &Path, &[&str])> = vec![
        ("kiln", &args.kiln, &[]),
        ("kiln as kpt", &args.kiln, &["--compat=kpt"]),
    ];
    if let Some(kpt) = &args.kpt {
        programs.push(("kpt", kpt, &[]));
    }
    let mut own: Option<(f64, f64)> = None;
    let mut ratios = Vec::new();
    for (name, program, flags) in programs {
        let get = best(ROUNDS, || Ok(round(repository.path(), program, flags)?.0))?;
        let update = best(ROUNDS, || Ok(round(repository.path(), program, flags)?.1))?;
        for (verb, usage, base) in [
            ("get", get, own.map(|own| own.0)),
            ("update", update, own.map(|own| own.1)),
        ] {
            let ratio = base.map(|base| usage.wall / base);
            let shown = ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
            writeln!(
                out,
                "{name:14} {verb:>10} {:>10.3} {:>10.3} {shown:>8}",
                usage.wall, usage.cpu
            )?;
            if name == "kpt" {
                ratios.extend(ratio);
            }
        }
        own.get_or_insert((get.wall, update.wall));
    }
    match geometric_mean(&ratios) {
        Some(ratio) => writeln!(out, "ratio={ratio:.2}")?,
        None => writeln!(out, "ratio=none")?,
    }
    Ok(())
}

/// A bare repository with two versions of a package.
fn make_repository() -> anyhow::Result<TempDir> {
    let directory = tempfile::tempdir().context("cannot create a directory for the repository")?;
    let work = directory.path().join("work");
    let package = work.join("package");
    fs::create_dir_all(&package)?;
    let shape = Shape::Flat {
        resources: RESOURCES,
        per_file: 1,
    };
    shape.write(&package, "")?;
    git(&work, &["init", "--quiet", "--initial-branch=main"])?;
    commit(&work, "v1")?;
    // A label in every second file.
    for file in resource_files(&package)?.iter().step_by(2) {
        let text = fs::read_to_string(file)?;
        fs::write(
            file,
            text.replacen("  labels:\n", "  labels:\n    tier: new\n", 1),
        )?;
    }
    commit(&work, "v2")?;
    let bare = directory.path().join("packages.git");
    git(
        directory.path(),
        &[
            "clone",
            "--quiet",
            "--bare",
            "work",
            &bare.display().to_string(),
        ],
    )?;
    Ok(directory)
}

/// The files with resources, which are in directories of the package.
fn resource_files(package: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(package)? {
        let directory = entry?.path();
        if directory.is_dir() {
            for file in fs::read_dir(directory)? {
                files.push(file?.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

fn commit(work: &Path, tag: &str) -> anyhow::Result<()> {
    git(work, &["add", "--all"])?;
    git(
        work,
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.com",
            "commit",
            "--quiet",
            "-m",
            tag,
        ],
    )?;
    git(work, &["tag", tag])
}

fn git(directory: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(directory)
        .output()?;
    match output.status.success() {
        true => Ok(()),
        false => bail!(
            "git {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        ),
    }
}

/// Fetches the package and updates it, in a directory and with a cache of its own.
fn round(repository: &Path, program: &Path, flags: &[&str]) -> anyhow::Result<(Usage, Usage)> {
    let directory = tempfile::tempdir().context("cannot create a directory for the package")?;
    let here = directory.path().display();
    let address = format!("file://{}/packages.git/package@v1", repository.display());
    let command = |line: &str| -> Vec<OsString> {
        // Both caches are empty, and the directory is the current one.
        let flags = flags.join(" ");
        let program = program.display();
        let script = format!(
            "cd '{here}' && export HOME='{here}/home' KPT_CACHE_DIR='{here}/cache' XDG_CACHE_HOME='{here}/cache' && exec '{program}' {flags} pkg {line} 2>/dev/null"
        );
        ["sh", "-c", &script].map(OsString::from).to_vec()
    };
    let get = measure(&command(&format!("get '{address}' package")))?;
    let update = measure(&command("update package@v2"))?;
    let kptfile = fs::read_to_string(directory.path().join("package/Kptfile"))?;
    if !kptfile.contains("ref: v2") {
        bail!("{} did not update the package", program.display());
    }
    Ok((get, update))
}
