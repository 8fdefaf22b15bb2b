//! `kiln migrate check`

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use kiln_krm::kptfile::FILE_NAME;
use kiln_runtime::RunError;

use super::compare::{DifferentFile, FileDifference, different_files, only, without_status};
use super::images_of_kpt::ImagesOfKpt;
use super::kpt_program::find_kpt;
use super::rendered_copy::{CopyFailure, CopyRenderer, RenderProgram, RenderedCopy};
use crate::environment::KILN_KPT;
use crate::error::{CommandError, ErrorClass};
use crate::flag_values::go_time;
use crate::interrupt::on_interrupt;
use crate::package::root_packages::root_packages;
use crate::report::contents_diff::contents_diff;
use crate::rpkg::directory;
use crate::staging::Staging;
use crate::ui::Ui;

/// Render copies of all packages below a directory with kiln and with kpt, and print what differs
///
/// The packages themselves do not change. The status in Kptfiles does not count, and the copies have none. kpt is the one that
/// KILN_KPT names, else the one on the PATH; without it, only kiln renders. kpt needs a container engine for images, or the
/// programs of --functions; a package for which it lacks one is not compared. Exits with 1 if kiln cannot
/// render a package that kpt can, with 3 if something differs or only kpt fails, and with 4 if nothing differs and not every package
/// could be compared: there is no kpt, engine or program, kpt exceeds the time limit, or both fail.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  kiln migrate check packages\n  kiln migrate check packages --diff\n  kiln migrate check packages --functions originals"
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
    /// Directory with the original functions as programs, named NAME@TAG, or NAME for all tags: kpt runs them instead of images, as
    /// ordinary programs of this machine
    #[arg(long, value_name = "DIR")]
    functions: Option<PathBuf>,
    /// Time limit for one render of one package, such as 90s or 5m; 0 for none
    #[arg(long, value_name = "TIME", value_parser = go_time, default_value = "10m")]
    timeout: Duration,
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
    let images = ImagesOfKpt::find(args.functions.as_deref())?;
    let kpt = find_kpt(&on_interrupt())?;
    let renderer = CopyRenderer {
        allow_exec: args.allow_exec,
        timeout: Some(args.timeout).filter(|timeout| !timeout.is_zero()),
        cancel: on_interrupt(),
    };
    let check = MigrationCheck {
        kiln: &kiln,
        kpt: kpt.as_deref(),
        images: &images,
        renderer: &renderer,
    };
    let mut counts = Counts::default();
    for package in &packages {
        let verdict = check.package(package);
        if renderer.cancel.is_cancelled() {
            return Err(RunError::Cancelled.into());
        }
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
    if kpt.is_some() {
        images.print_notes(ui);
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

/// The programs of a check.
struct MigrationCheck<'a> {
    kiln: &'a Path,
    kpt: Option<&'a Path>,
    images: &'a ImagesOfKpt,
    renderer: &'a CopyRenderer,
}

impl MigrationCheck<'_> {
    fn package(&self, package: &Path) -> Result<MigrationVerdict> {
        let resolved = package.canonicalize();
        let resolved = resolved.with_context(|| format!("cannot find {}", package.display()))?;
        let name = resolved.file_name().unwrap_or(OsStr::new("package"));
        let before = without_status(directory::read(&resolved)?);
        let staging = Staging::create(false)?;
        let render = |program: RenderProgram<'_>, copy: &str| -> Result<RenderedCopy> {
            // The name of the directory is an input of some functions.
            let parent = staging.path.join(copy);
            fs::create_dir(&parent).context("cannot create a temporary directory")?;
            let rendered = self
                .renderer
                .render(&program, &before, &parent.join(name))?;
            Ok(RenderedCopy {
                contents: without_status(rendered.contents),
                ..rendered
            })
        };
        let kiln = RenderProgram {
            path: self.kiln,
            // Whatever the variable says.
            flags: &["--compat=kiln", "--no-status"],
            environment: None,
        };
        let by_kiln = render(kiln, "kiln")?;
        let kpt = self.kpt.map(|path| RenderProgram {
            path,
            flags: &[],
            environment: self.images.environment(),
        });
        let by_kpt = kpt.map(|kpt| render(kpt, "kpt")).transpose()?;
        let kpt_problem = match by_kpt.as_ref().and_then(|by_kpt| by_kpt.failure.as_ref()) {
            Some(CopyFailure::TimedOut(limit)) => {
                Some(format!("kpt did not end within {}", seconds(*limit)))
            }
            Some(CopyFailure::Failed { .. }) => self.images.problem(&before),
            None => None,
        };
        let kiln_failure = by_kiln.failure.map(|failure| match failure {
            CopyFailure::TimedOut(limit) => format!("it did not end within {}", seconds(limit)),
            CopyFailure::Failed { message, .. } => message,
        });
        Ok(match (kiln_failure, by_kpt, kpt_problem) {
            (Some(reason), _, Some(_)) => MigrationVerdict::KilnFails { reason },
            (None, _, Some(reason)) => MigrationVerdict::NotCompared { reason },
            (Some(reason), Some(by_kpt), None) => match by_kpt.failure {
                Some(_) => MigrationVerdict::BothFail { reason },
                None => MigrationVerdict::KilnFails { reason },
            },
            (Some(reason), None, None) => MigrationVerdict::KilnFails { reason },
            (None, None, None) => MigrationVerdict::Renders {
                changed: different_files(&before, &by_kiln.contents).len(),
                time: by_kiln.time,
            },
            (None, Some(by_kpt), None) => match by_kpt.failure {
                Some(failure) => MigrationVerdict::KptFails {
                    reason: failure.with_details(),
                },
                None => {
                    let files = different_files(&by_kpt.contents, &by_kiln.contents);
                    match files.is_empty() {
                        true => MigrationVerdict::Same {
                            kiln: by_kiln.time,
                            kpt: by_kpt.time,
                        },
                        false => MigrationVerdict::Different {
                            diff: contents_diff(
                                &only(&files, &by_kpt.contents),
                                &only(&files, &by_kiln.contents),
                            ),
                            files,
                        },
                    }
                }
            },
        })
    }
}
