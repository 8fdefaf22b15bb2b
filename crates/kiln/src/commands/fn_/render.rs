//! `kiln fn render`

use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use kiln_go::errno_text;
use kiln_krm::kptfile::{FILE_NAME, KptfileError, KptfileProblem};
use kiln_krm::package::FileChange;
use kiln_krm::record::UnknownKeys;
use kiln_package::{Access, ApplyOptions, DiskFiles, available_threads};
use kiln_render::{
    Emptied, ExternalFunctions, Jobs, Lost, RenderError, RenderOptions, RenderReport, Rendered,
    render,
};
use kiln_runtime::Network;

use crate::compat::Compat;
use crate::environment::is_attribution_disabled;
use crate::error::render::RenderErrors;
use crate::error::{CommandError, ErrorClass};
use crate::flag_values::go_bool;
use crate::functions::evaluators::{ContainerFlags, EvaluatorFlags, EvaluatorSetup};
use crate::functions::wasm::WasmPrograms;
use crate::package::destination::Destination;
use crate::package::write::write;
use crate::package::{self, absolute, resolve_as_named};
use crate::report::function_log::FunctionLog;
use crate::report::preview;
use crate::report::results_dir::{
    make_results_directory, report_results, results_in_package, save_results,
};
use crate::report::timings::Timings;
use crate::ui::{Record, Ui};
use crate::watch::{Round, Watch, watch};

#[derive(Args, Debug)]
#[command(override_usage = "kiln fn render [OPTIONS] [DIR]")]
pub(crate) struct RenderArgs {
    /// Package to render. Default: the current directory
    // kpt ignores all but the first.
    #[arg(value_name = "DIR")]
    dirs: Vec<String>,
    /// Where to write: `stdout` for a ResourceList, `unwrap` for plain documents, or a new directory. Default: in place
    #[arg(
        short,
        long,
        value_name = "WHERE",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    output: String,
    /// Directory for results.yaml with the results of functions
    #[arg(
        long,
        value_name = "DIR",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    results_dir: String,
    /// Allow functions that run programs of this machine
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    allow_exec: Option<bool>,
    /// Give containers access to the network
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    allow_network: Option<bool>,
    /// Print the changes as a diff and write nothing
    #[arg(long, conflicts_with = "output")]
    dry_run: bool,
    /// Write nothing, and fail if rendering would change a file
    #[arg(long, conflicts_with_all = ["output", "dry_run"])]
    check: bool,
    /// Render again whenever a file of the package changes; Ctrl-C stops
    #[arg(long, conflicts_with_all = ["output", "check"])]
    watch: bool,
    /// How many packages to render in parallel, programs and containers included. Default: one per processor, with one
    /// program or container at a time
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Print a timing breakdown
    #[arg(long)]
    timings: bool,
    /// Print errors only
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    evaluators: EvaluatorFlags,
}

impl RenderArgs {
    fn network(&self) -> Network {
        match self.allow_network {
            Some(true) => Network::Host,
            _ => Network::None,
        }
    }
}

pub(crate) fn cmd_render(ui: &Ui, args: &RenderArgs) -> Result<()> {
    let named = resolve_as_named(ui, args.dirs.first().map_or("", String::as_str))?;
    let destination = Destination::parse(ui, &args.output)?;
    make_results_directory(&args.results_dir)?;
    let container = ContainerFlags {
        network: args.network(),
        ..ContainerFlags::default()
    };
    let setup = args.evaluators.check(ui, container, WasmPrograms::All)?;
    let root = absolute(&named)?;
    if !args.watch {
        let written = &mut Vec::new();
        return render_once(ui, args, &root, &named, &setup, &destination, written);
    }
    open(ui, &root)?;
    let results_dir = args.results_dir.as_str();
    let watched = Watch {
        root: &root,
        named: &named,
        ignored: match results_dir {
            "" => None,
            results_dir => Some(absolute(results_dir)?),
        },
        cancel: setup.cancel().clone(),
    };
    watch(ui, &watched, || {
        let mut written = Vec::new();
        let result = render_once(ui, args, &root, &named, &setup, &destination, &mut written);
        Round { written, result }
    })
}

/// Renders, and adds the changes of the package to `written`.
fn render_once(
    ui: &Ui,
    args: &RenderArgs,
    root: &Path,
    named: &str,
    setup: &EvaluatorSetup,
    destination: &Destination,
    written: &mut Vec<FileChange>,
) -> Result<()> {
    let results = results_in_package(ui, &args.results_dir, root)?;
    let files = open(ui, root)?.without(results);
    let text = |path: &Path| {
        let text = path.to_str().map(str::to_owned);
        text.ok_or_else(|| anyhow!("the name of {} is not UTF-8", path.display()))
    };
    let working_directory = std::env::current_dir().context("cannot find the current directory")?;
    let (root_text, working_directory) = (text(root)?, text(&working_directory)?);
    let options = RenderOptions {
        functions: setup.options(args.network()),
        root: &root_text,
        working_directory: &working_directory,
        allow_exec: args.allow_exec == Some(true),
        jobs: jobs(ui.compat(), args.jobs),
        attribution: !is_attribution_disabled(),
        unknown_fields: UnknownKeys::Refuse,
    };
    let terminal = FunctionLog::new(ui).quiet(args.quiet);
    let log = Timings::new(&terminal);
    let errors = RenderErrors {
        ui,
        files: &files,
        root: &root_text,
        named,
        evaluators: setup,
    };
    let failed = |error: &RenderError| errors.command_error(error);
    let rendered = render(&files, &options, &log).map_err(|error| failed(&error))?;
    let until_rendered = log.elapsed();
    let finished = match destination {
        Destination::InPlace => finish_in_place(ui, args, root, &files, rendered, written, &failed),
        destination => package::check_read_at_once(ui, &files)
            .and_then(|()| finish_elsewhere(ui, args, destination, rendered, &failed)),
    };
    if args.timings {
        ui.print_message(&log.report(until_rendered));
    }
    finished
}

/// How many packages are rendered in parallel; kpt renders one at a time.
fn jobs(compat: Compat, given: Option<NonZeroUsize>) -> Jobs {
    match (compat, given) {
        (Compat::Kpt | Compat::KptV039, _) => Jobs::ONE,
        (Compat::Kiln, Some(count)) => Jobs {
            count,
            external: ExternalFunctions::Parallel,
        },
        (Compat::Kiln, None) => Jobs {
            count: available_threads(),
            external: ExternalFunctions::InOrder,
        },
    }
}

/// Opens a package, after recovering it if a command was interrupted. The lock is not kept, because packages are read while
/// functions run; whether another command wrote meanwhile is checked before anything is written.
fn open(ui: &Ui, root: &Path) -> Result<DiskFiles> {
    let opened = DiskFiles::open(root, ui.compat().outside_links());
    match opened {
        Ok(files) => {
            drop(package::lock(ui, root, Access::Read)?);
            Ok(files)
        }
        Err(error) => {
            let problem = format!(
                "open {}: {}",
                root.join(FILE_NAME).display(),
                errno_text(&error)
            );
            let error = KptfileError {
                path: root.display().to_string(),
                problem: KptfileProblem::Io(problem),
            };
            Err(CommandError {
                class: ErrorClass::Input,
                ..CommandError::new(format!("{error} "))
            }
            .into())
        }
    }
}

fn finish_in_place(
    ui: &Ui,
    args: &RenderArgs,
    root: &Path,
    files: &DiskFiles,
    rendered: Rendered,
    written: &mut Vec<FileChange>,
    failed: &ToCommandError<'_>,
) -> Result<()> {
    let Rendered { report, output } = rendered;
    let mut plan = output
        .plan(files)
        .map_err(|error| not_saved(&report, &error.to_string()))?;
    if args.dry_run || args.check {
        package::check_read_at_once(ui, files)?;
        return finish_preview(ui, args, files, &plan.changes, &report, failed);
    }
    let results = results_file(args, &report);
    if let Err(error) = &results {
        plan.note_failure(&format!("{error:#}"), files);
    }
    if let Err(error) = write(
        ui,
        root,
        Some(files),
        &plan.changes,
        ApplyOptions::default(),
    ) {
        return Err(not_saved(&report, &format!("{error:#}")));
    }
    written.extend(plan.changes);
    if plan.has_resources && !args.quiet {
        let message = summary(&report);
        let record = Record {
            event: "summary",
            functions: Some(report.functions),
            packages: Some(report.packages),
            message: Some(&message),
            ..Record::default()
        };
        ui.log(&record, &message);
    }
    warn_about_emptied(ui, &report);
    if let Some(path) = results? {
        report_results(ui, &path, "");
    }
    outcome(&report, failed)
}

/// Prints the changes, or fails if there are any. Writes nothing.
fn finish_preview(
    ui: &Ui,
    args: &RenderArgs,
    files: &DiskFiles,
    changes: &[FileChange],
    report: &RenderReport,
    failed: &ToCommandError<'_>,
) -> Result<()> {
    outcome(report, failed)?;
    warn_about_emptied(ui, report);
    if args.dry_run {
        return preview::show(ui, files, changes);
    }
    match changes {
        [] => Ok(()),
        changes => Err(CommandError::new(preview::list(changes)).into()),
    }
}

fn finish_elsewhere(
    ui: &Ui,
    args: &RenderArgs,
    destination: &Destination,
    rendered: Rendered,
    failed: &ToCommandError<'_>,
) -> Result<()> {
    let Rendered { report, output } = rendered;
    if let Some(path) = results_file(args, &report)? {
        report_results(ui, &path, "");
    }
    outcome(&report, failed)?;
    warn_about_emptied(ui, &report);
    let resources = output.resources.unwrap_or_default();
    destination.write(ui, resources, &output.read)
}

/// Warns about functions that removed all resources of a package, or its Kptfile. kpt does not.
fn warn_about_emptied(ui: &Ui, report: &RenderReport) {
    if ui.compat() != Compat::Kiln {
        return;
    }
    for emptied in &report.emptied {
        let Emptied {
            function,
            package,
            lost,
        } = emptied;
        ui.warn(&match lost {
            Lost::Resources(count) => {
                format!(
                    "function {function:?} removed all {count} resource(s) of package {package:?}"
                )
            }
            Lost::Kptfile => {
                format!("function {function:?} removed the Kptfile of package {package:?}")
            }
        });
    }
}

/// Writes the results file and returns its path, if there is one.
fn results_file(args: &RenderArgs, report: &RenderReport) -> Result<Option<String>> {
    if matches!(report.error, Some(RenderError::Plain(_))) {
        return Ok(None);
    }
    match save_results(&args.results_dir, &report.results) {
        // The error of the render matters more.
        Err(_) if report.error.is_some() => Ok(None),
        saved => saved,
    }
}

fn outcome(report: &RenderReport, failed: &ToCommandError<'_>) -> Result<()> {
    match &report.error {
        None => Ok(()),
        Some(error) => Err(failed(error)),
    }
}

/// Converts the error of a render.
type ToCommandError<'a> = dyn Fn(&RenderError) -> anyhow::Error + 'a;

fn not_saved(report: &RenderReport, text: &str) -> anyhow::Error {
    match &report.error {
        None => anyhow!("failed to save resources: {text}"),
        Some(error) => {
            anyhow!("failed to save resources: {text} (original render error: {error})")
        }
    }
}

fn summary(report: &RenderReport) -> String {
    let (functions, packages) = (report.functions, report.packages);
    match (&report.error, functions) {
        (None, _) => {
            format!("Successfully executed {functions} function(s) in {packages} package(s).")
        }
        (Some(_), 0) => format!("Failed to execute any functions in {packages} package(s)."),
        (Some(_), _) => {
            format!("Partially executed {functions} function(s) in {packages} package(s).")
        }
    }
}
