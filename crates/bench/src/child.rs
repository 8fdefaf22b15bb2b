//! `bench child`: runs one program and measures time and memory.
//!
//! A separate process does this, because the system reports the peak of all children of a process, not of one. The peak is
//! that of the largest process: the program or one that it started and waited for.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use serde::{Deserialize, Serialize};

use crate::chart::{Bar, MeasuredProgram};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A file for the program's standard input.
    #[arg(long)]
    stdin: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<OsString>,
}

/// Time and memory of a run.
#[derive(Serialize, Deserialize, Clone, Copy)]
pub(crate) struct Usage {
    /// Seconds from start to end.
    pub(crate) wall: f64,
    /// Seconds of processor time, including child processes.
    pub(crate) cpu: f64,
    /// Bytes of the largest process.
    pub(crate) peak: u64,
}

impl Usage {
    /// The time, for a chart.
    pub(crate) fn bar(self, program: MeasuredProgram) -> Bar {
        Bar {
            program,
            seconds: self.wall,
        }
    }
}

/// Runs a program in a measuring process.
pub(crate) fn measure(program: &[OsString]) -> anyhow::Result<Usage> {
    measure_with_input(program, None)
}

/// The same, with a file on its standard input.
pub(crate) fn measure_with_input(
    program: &[OsString],
    input: Option<&Path>,
) -> anyhow::Result<Usage> {
    let this = env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(this);
    command.arg("child");
    if let Some(input) = input {
        command.arg("--stdin").arg(input);
    }
    command.arg("--").args(program);
    let output = command.output().context("cannot start a measurement")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim_end());
    }
    serde_json::from_slice(&output.stdout).context("a measurement printed something else")
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let (program, rest) = args.command.split_first().context("no program is given")?;
    let mut command = Command::new(program);
    let stdin = match &args.stdin {
        Some(path) => File::open(path)
            .with_context(|| format!("cannot open {}", path.display()))?
            .into(),
        None => Stdio::null(),
    };
    command.args(rest).stdin(stdin);
    let start = Instant::now();
    let output = command.output();
    let wall = start.elapsed().as_secs_f64();
    let output = output.with_context(|| format!("cannot start {}", program.display()))?;
    if !output.status.success() {
        bail!(
            "{command:?} failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let usage = Usage {
        wall,
        cpu: seconds(usage.user_time()) + seconds(usage.system_time()),
        peak: u64::try_from(usage.max_rss())? * RSS_UNIT,
    };
    writeln!(out, "{}", serde_json::to_string(&usage)?)?;
    Ok(())
}

/// Linux counts in kibibytes, macOS in bytes.
const RSS_UNIT: u64 = if cfg!(target_os = "macos") { 1 } else { 1024 };

fn seconds(time: TimeVal) -> f64 {
    time.num_microseconds() as f64 / 1e6
}
