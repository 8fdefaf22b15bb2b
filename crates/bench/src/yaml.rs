//! `bench yaml`: parse and emit a recorded set and a large list, kiln and go-yaml in the same run.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::generate;
use crate::measure::Report;

const LIST_BYTES: usize = 20_000_000;
const ROUNDS: &str = "5";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The recorded set of real files.
    #[arg(long)]
    set: Option<PathBuf>,
    /// The built Go peer; without it, only kiln is measured.
    #[arg(long)]
    peer: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let directory = tempfile::tempdir().context("cannot create a directory for the list")?;
    let list = directory.path().join("list.yaml");
    fs::write(&list, generate::resource_list(LIST_BYTES)).context("cannot write the list")?;

    writeln!(
        out,
        "{:14} {:9} {:>9} {:>9} {:>11} {:>12}",
        "input", "program", "MB", "MB/s", "peak MB", "peak/input"
    )?;
    let real = match &args.set {
        Some(set) => compare("real", ["set", "-set"], set, args.peer.as_deref(), out)?,
        None => {
            writeln!(out, "real           skipped: the recorded set is not there")?;
            None
        }
    };
    let large = compare(
        "list of 20 MB",
        ["file", "-file"],
        &list,
        args.peer.as_deref(),
        out,
    )?;
    if let Some(large) = large {
        writeln!(out, "ratio on the list of 20 MB: {large:.2}")?;
    }
    match real {
        Some(real) => writeln!(out, "ratio={real:.2}")?,
        None => writeln!(out, "ratio=none")?,
    }
    Ok(())
}

/// Measures both programs on one input and returns how many times faster kiln is.
///
/// `flags` are the flags of the two programs for that kind of input.
fn compare(
    name: &str,
    flags: [&str; 2],
    input: &Path,
    peer: Option<&Path>,
    out: &mut dyn Write,
) -> anyhow::Result<Option<f64>> {
    let [our_flag, peer_flag] = flags;
    let this = env::current_exe().context("cannot find this program")?;
    let ours = measure(
        Command::new(this)
            .arg("measure")
            .arg(format!("--{our_flag}"))
            .arg(input)
            .args(["--rounds", ROUNDS]),
    )?;
    write_row(name, "kiln", ours, out)?;
    let Some(peer) = peer else {
        return Ok(None);
    };
    let theirs = measure(
        Command::new(peer)
            .arg(peer_flag)
            .arg(input)
            .args(["-rounds", ROUNDS]),
    )?;
    write_row(name, "go-yaml", theirs, out)?;
    if ours.bytes != theirs.bytes {
        bail!(
            "{name}: kiln read {} bytes, go-yaml {}",
            ours.bytes,
            theirs.bytes
        );
    }
    Ok(Some(ours.mb_per_s / theirs.mb_per_s))
}

fn measure(command: &mut Command) -> anyhow::Result<Report> {
    let output = command.output().context("cannot start a measurement")?;
    if !output.status.success() {
        bail!(
            "{command:?} failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    serde_json::from_slice(&output.stdout).context("a measurement printed something else")
}

fn write_row(name: &str, program: &str, report: Report, out: &mut dyn Write) -> anyhow::Result<()> {
    let input_mb = report.bytes as f64 / 1e6;
    let peak_mb = report.peak_rss_bytes as f64 / 1e6;
    writeln!(
        out,
        "{name:14} {program:9} {input_mb:9.1} {:9.1} {peak_mb:11.1} {:11.1}x",
        report.mb_per_s,
        peak_mb / input_mb
    )?;
    Ok(())
}
