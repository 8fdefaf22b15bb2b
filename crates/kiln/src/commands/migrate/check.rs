//! `kiln migrate check`

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use kiln_krm::kptfile::FILE_NAME;
use kiln_task::Contents;

use super::compare::{DifferentFile, FileDifference, different_files};
use crate::environment::{KILN_COMPAT, KILN_KPT, KRM_FN_RUNTIME};
use crate::error::{CommandError, ErrorClass};
use crate::package::root_packages::root_packages;
use crate::real_program;
use crate::report::contents_diff::contents_diff;
use crate::rpkg::directory;
use crate::staging::Staging;
use crate::ui::Ui;

/// Render copies of all packages below a directory with kiln and with kpt, and print what differs
///
/// The packages themselves do not change. kpt is the one that KILN_KPT names, else the one on the PATH; without it, only kiln
/// renders. kpt needs a container engine for images. Exits with 1 if kiln cannot render a package that kpt can, with 3 if
/// something differs or only kpt fails, and with 4 if nothing differs and not every package could be compared: there is no kpt, or
/// both fail.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  kiln migrate check packages\n  kiln migrate check packages --diff"
)]
pub(super) struct MigrateCheckArgs {
    /// Directory with packages
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Print the differences, from kpt's files to kiln's
    #[arg(long)]
    diff: bool,
    /// Allow functions that run programs on this machine
    #[arg(long)]
    allow_exec: bool,
}

pub(super) fn cmd_check(ui: &Ui, args: &MigrateCheckArgs) -> Result<()> {
    let packages = root_packages(&args.dir)?;
    if packages.is_empty() {
        bail!(
            "{} has no packages: no directory has a {FILE_NAME}",
            args.dir.display()
        );
    }
    let kiln = std::env::current_exe().context("cannot find the path of the kiln executable")?;
    let kpt = real_program::find("kpt", KILN_KPT);
    let mut counts = Counts::default();
    for package in &packages {
        let verdict = check_package(package, &kiln, kpt.as_deref(), args);
        let verdict = verdict.unwrap_or_else(|error| MigrationVerdict::NotCompared {
            reason: format!("{error:#}"),
        });
        counts.add(&verdict);
        let name = package.display();
        ui.write_data(format!("{name}: {}\n", verdict.text()).as_bytes())?;
        if let (true, MigrationVerdict::Different { diff, .. }) = (args.diff, &verdict) {
            ui.write_data(diff.as_bytes())?;
        }
    }
    ui.write_data(format!("{}\n", counts.text(packages.len())).as_bytes())?;
    let engine = std::env::var(KRM_FN_RUNTIME).unwrap_or_default();
    let engine = if engine.is_empty() { "docker" } else { &engine };
    if kpt.is_some() && real_program::is_first_on_path(engine) {
        ui.warn(&format!(
            "{engine} on the PATH is a link to kiln, so kpt ran kiln's functions, and only the rendering was compared"
        ));
    }
    if kpt.is_none() {
        ui.print_message(&format!(
            "kpt was not found, so nothing was compared with it; install kpt, or set {KILN_KPT} to its path"
        ));
    }
    counts.outcome()
}

/// What became of a package.
enum MigrationVerdict {
    /// kiln renders it, and there is no kpt.
    Renders {
        changed: usize,
        time: Duration,
    },
    Same {
        kiln: Duration,
        kpt: Duration,
    },
    Different {
        files: Vec<DifferentFile>,
        diff: String,
    },
    /// It cannot be copied.
    NotCompared {
        reason: String,
    },
    /// Both fail.
    BothFail {
        reason: String,
    },
    /// Only kpt fails.
    KptFails {
        reason: String,
    },
    /// kiln fails, and kpt does not or is not there.
    KilnFails {
        reason: String,
    },
}

impl MigrationVerdict {
    fn text(&self) -> String {
        match self {
            MigrationVerdict::Renders { changed: 0, time } => {
                format!("kiln renders it in {}, no file changes", seconds(*time))
            }
            MigrationVerdict::Renders { changed, time } => {
                format!(
                    "kiln renders it in {}, {changed} file(s) change",
                    seconds(*time)
                )
            }
            MigrationVerdict::Same { kiln, kpt } => {
                let (kiln, kpt) = (seconds(*kiln), seconds(*kpt));
                format!("same files as kpt (kiln {kiln}, kpt {kpt})")
            }
            MigrationVerdict::Different { files, .. } => {
                let names: Vec<String> = files.iter().map(DifferentFile::text).collect();
                format!("differs from kpt in {}", names.join(", "))
            }
            MigrationVerdict::NotCompared { reason } => format!("not compared: {reason}"),
            MigrationVerdict::BothFail { reason } => format!("kiln and kpt both fail: {reason}"),
            MigrationVerdict::KptFails { reason } => {
                format!("kiln renders it, kpt fails: {reason}")
            }
            MigrationVerdict::KilnFails { reason } => format!("kiln fails: {reason}"),
        }
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.2}s", time.as_secs_f64())
}

#[derive(Default)]
struct Counts {
    same: usize,
    layout: usize,
    content: usize,
    kpt_failed: usize,
    kiln_failed: usize,
    both_failed: usize,
    /// Only kiln rendered them, or none did.
    alone: usize,
}

impl Counts {
    fn add(&mut self, verdict: &MigrationVerdict) {
        let counter = match verdict {
            MigrationVerdict::Renders { .. } | MigrationVerdict::NotCompared { .. } => {
                &mut self.alone
            }
            MigrationVerdict::Same { .. } => &mut self.same,
            MigrationVerdict::BothFail { .. } => &mut self.both_failed,
            MigrationVerdict::Different { files, .. } => {
                let is_layout = |file: &DifferentFile| file.difference == FileDifference::Layout;
                match files.iter().all(is_layout) {
                    true => &mut self.layout,
                    false => &mut self.content,
                }
            }
            MigrationVerdict::KptFails { .. } => &mut self.kpt_failed,
            MigrationVerdict::KilnFails { .. } => &mut self.kiln_failed,
        };
        *counter += 1;
    }

    fn text(&self, packages: usize) -> String {
        let Counts {
            same,
            layout,
            content,
            kpt_failed,
            kiln_failed,
            both_failed,
            alone,
        } = self;
        let mut text = format!(
            "{packages} package(s): {same} without differences, {layout} that differ only in layout, \
             {content} that differ, {kiln_failed} that kiln cannot render"
        );
        // What was not compared proves nothing, and is not usual.
        for (count, what) in [
            (kpt_failed, "that kpt cannot render"),
            (both_failed, "that neither can render"),
            (alone, "not compared with kpt"),
        ] {
            if *count > 0 {
                text.push_str(&format!(", {count} {what}"));
            }
        }
        text
    }

    fn outcome(&self) -> Result<()> {
        let class = if self.kiln_failed > 0 {
            ErrorClass::Function
        } else if self.layout + self.content + self.kpt_failed > 0 {
            ErrorClass::Differences
        } else if self.both_failed + self.alone > 0 {
            ErrorClass::NotCompared
        } else {
            return Ok(());
        };
        Err(CommandError {
            class,
            ..CommandError::default()
        }
        .into())
    }
}

fn check_package(
    package: &Path,
    kiln: &Path,
    kpt: Option<&Path>,
    args: &MigrateCheckArgs,
) -> Result<MigrationVerdict> {
    let resolved = package.canonicalize();
    let resolved = resolved.with_context(|| format!("cannot find {}", package.display()))?;
    let name = resolved.file_name().unwrap_or(OsStr::new("package"));
    let before = directory::read(&resolved)?;
    let staging = Staging::create(false)?;
    let render = |program: &Path, copy: &str| -> Result<RenderedCopy> {
        // The name of the directory is an input of some functions.
        let parent = staging.path.join(copy);
        fs::create_dir(&parent).context("cannot create a temporary directory")?;
        render_copy(program, &before, &parent.join(name), args)
    };
    let by_kiln = render(kiln, "kiln")?;
    let by_kpt = match kpt {
        Some(kpt) => Some(render(kpt, "kpt")?),
        None => None,
    };
    Ok(match (by_kiln.failure, by_kpt) {
        (
            Some(reason),
            Some(RenderedCopy {
                failure: Some(_), ..
            }),
        ) => MigrationVerdict::BothFail { reason },
        (Some(reason), _) => MigrationVerdict::KilnFails { reason },
        (None, None) => MigrationVerdict::Renders {
            changed: different_files(&before, &by_kiln.contents).len(),
            time: by_kiln.time,
        },
        (None, Some(by_kpt)) => match by_kpt.failure {
            Some(reason) => MigrationVerdict::KptFails { reason },
            None => {
                let files = different_files(&by_kpt.contents, &by_kiln.contents);
                match files.is_empty() {
                    true => MigrationVerdict::Same {
                        kiln: by_kiln.time,
                        kpt: by_kpt.time,
                    },
                    false => MigrationVerdict::Different {
                        diff: contents_diff(&by_kpt.contents, &by_kiln.contents),
                        files,
                    },
                }
            }
        },
    })
}

/// A copy of a package after a program rendered it.
struct RenderedCopy {
    contents: Contents,
    time: Duration,
    /// The last line that the program wrote, if it failed.
    failure: Option<String>,
}

fn render_copy(
    program: &Path,
    package: &Contents,
    copy: &Path,
    args: &MigrateCheckArgs,
) -> Result<RenderedCopy> {
    directory::write(package, copy)?;
    let mut command = Command::new(program);
    command
        .args(["fn", "render"])
        .arg(copy)
        // Each program in its own mode.
        .env_remove(KILN_COMPAT)
        .stdin(Stdio::null());
    if args.allow_exec {
        command.arg("--allow-exec");
    }
    let began = Instant::now();
    let output = command.output();
    let time = began.elapsed();
    let output = output.with_context(|| format!("cannot run {}", program.display()))?;
    let failure = (!output.status.success()).then(|| {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let lines = stderr
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty());
        let mut reasons = lines.filter(|line| !line.starts_with("hint: "));
        let reason = reasons.find(|line| line.to_lowercase().starts_with("error"));
        let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
        let reason = reason.or(last).unwrap_or("no reason given");
        reason
            .trim()
            .replace(&copy.display().to_string(), "the package")
    });
    Ok(RenderedCopy {
        contents: directory::read(copy)?,
        time,
        failure,
    })
}
