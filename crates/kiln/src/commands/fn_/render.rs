//! `kiln fn render`

use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use kiln_evaluators::WasmPrograms;
use kiln_go::errno_text;
use kiln_krm::check::ListKind;
use kiln_krm::kptfile::{FILE_NAME, KptfileError, KptfileProblem};
use kiln_krm::package::{FileChange, FileSource};
use kiln_krm::record::UnknownKeys;
use kiln_krm::results::FunctionResultList;
use kiln_oci::PullPolicy;
use kiln_package::{Access, ApplyOptions, DiskFiles, available_threads};
use kiln_pages::report::{ConfigValues, ReportAction};
use kiln_render::{
    Emptied, ExternalFunctions, Failure, FunctionOptions, Jobs, Lost, Pins, RenderError,
    RenderOptions, RenderReport, Rendered, render,
};
use kiln_runtime::Network;

use crate::compat::Compat;
use crate::environment::is_attribution_disabled;
use crate::error::render::RenderErrors;
use crate::error::{CommandError, ErrorClass, bail_usage};
use crate::flag_values::go_bool;
use crate::functions::cache::KeptResults;
use crate::functions::evaluators::{ContainerFlags, EvaluatorFlags, EvaluatorSetup};
use crate::functions::lock::{LockFlags, LockUse};
use crate::log_format::LogFormat;
use crate::package::changed_since::changed_packages;
use crate::package::destination::Destination;
use crate::package::write::write;
use crate::package::{self, absolute, package_directory};
use crate::report::changes::{self, Made};
use crate::report::function_log::FunctionLog;
use crate::report::preview;
use crate::report::result_position::ReportedFiles;
use crate::report::results_dir::{
    make_results_directory, report_results, results_in_package, save_results,
};
use crate::report::run_report::{
    EarlyEnd, ReportFlags, ReportedRun, RunRecorder, report_early_end,
};
use crate::report::settled::changes_only_results;
use crate::report::timings::Timings;
use crate::ui::{Record, Ui};
use crate::unchanged::{
    FinishedRender, KeptEvents, RenderChanges, RenderNote, RenderNotes, RenderSettings, TracedFiles,
};
use crate::watch::{Round, Watch, watch};

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n\
        \x20 kiln fn render\n\
        \x20 kiln fn render app db --check\n\
        \x20 kiln fn render --check --changed-since origin/main\n\
        \x20 kiln fn render app --dry-run\n\
        \x20 kiln fn render app -o objects | kubectl apply -f -")]
pub(crate) struct RenderArgs {
    /// Packages to render. Default: the current directory
    // kpt ignores all but the first.
    #[arg(value_name = "DIR")]
    dirs: Vec<String>,
    /// Where to write: `stdout` for a ResourceList, `unwrap` for plain documents, `objects` for the resources to apply (no
    /// Kptfiles, configurations of functions and local-config), or a new directory. Default: in place
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
    /// Allow functions that run programs on this machine
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    allow_exec: Option<bool>,
    /// Give containers access to the network
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    allow_network: Option<bool>,
    /// Print the changes as a diff and write nothing
    #[arg(long, conflicts_with = "output")]
    dry_run: bool,
    /// Write nothing, and fail if rendering would change a file; new messages of functions in the status do not count
    #[arg(long, conflicts_with_all = ["output", "dry_run"])]
    check: bool,
    /// Render again whenever a file of the package changes; Ctrl-C stops
    #[arg(long, conflicts_with_all = ["output", "check"])]
    watch: bool,
    /// Render only the packages below DIR that contain files that changed since this commit, branch or tag of git
    #[arg(long, value_name = "COMMIT", conflicts_with_all = ["output", "results_dir", "watch"])]
    changed_since: Option<String>,
    /// How many packages to render in parallel, programs and containers included. Default: one per processor, with one
    /// program or container at a time
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Do not write the status of the render into the Kptfile; with --check, do not compare it
    #[arg(long)]
    no_status: bool,
    /// Print a timing breakdown
    #[arg(long)]
    timings: bool,
    /// Print errors only
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    reports: ReportFlags,
    #[command(flatten)]
    lock: LockFlags,
    #[command(flatten)]
    evaluators: EvaluatorFlags,
}

impl RenderArgs {
    /// Checks the flags for a render of several packages.
    fn check_several(&self) -> Result<()> {
        let given = [
            ("--output", !self.output.is_empty()),
            ("--results-dir", !self.results_dir.is_empty()),
            ("--watch", self.watch),
            ("--report", self.reports.is_wanted()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((flag, _)) => bail_usage!("{flag} takes one package, not several"),
            None => Ok(()),
        }
    }

    /// The end of a command that renders none of these packages.
    fn early_end<'a>(&'a self, dirs: &'a [String]) -> EarlyEnd<'a> {
        EarlyEnd {
            flags: &self.reports,
            action: self.action(),
            named: dirs.first().map_or(".", String::as_str),
        }
    }

    fn action(&self) -> ReportAction {
        match (self.check, self.dry_run) {
            (true, _) => ReportAction::Check,
            (_, true) => ReportAction::DryRun,
            _ => ReportAction::Render,
        }
    }

    /// Where the result of the render is kept, if it only changes files of the package. Results and reports need the data of
    /// every call, and a function with network may return something else each time.
    fn kept_renders<'a>(
        &self,
        setup: &'a EvaluatorSetup,
        destination: &Destination,
    ) -> Option<&'a KeptResults> {
        let is_in_place = matches!(destination, Destination::InPlace);
        let is_plain = self.results_dir.is_empty()
            && !self.reports.is_wanted()
            && self.network() == Network::None;
        setup.kept_renders().filter(|_| is_in_place && is_plain)
    }

    /// All flags and variables that can change the result.
    fn fingerprint(&self, setup: &EvaluatorSetup, attribution: bool) -> String {
        format!(
            "{} {:?} {:?} {} {attribution}",
            self.evaluators.fingerprint(),
            setup.prefix(),
            self.allow_exec,
            self.no_status,
        )
    }

    fn network(&self) -> Network {
        match self.allow_network {
            Some(true) => Network::Host,
            _ => Network::None,
        }
    }
}

pub(crate) fn cmd_render(ui: &Ui, args: &RenderArgs) -> Result<()> {
    let changed = match &args.changed_since {
        None => None,
        Some(commit) => {
            let changed = changed_packages(&args.dirs, commit)?;
            if changed.is_empty() {
                if !args.quiet {
                    ui.print_message(&format!("no package has changed since {commit}"));
                }
                return args.early_end(&args.dirs).report(ui, Ok(()));
            }
            Some(changed)
        }
    };
    let dirs = changed.as_ref().unwrap_or(&args.dirs);
    let (first, destination, setup) = match start(ui, args, dirs) {
        Ok(started) => started,
        Err(error) => return args.early_end(dirs).report(ui, Err(error)),
    };
    match (ui.compat(), dirs.get(1..)) {
        (Compat::Kiln, Some(others @ [_, ..])) => {
            args.check_several()?;
            let others = others.iter().map(|dir| package_directory(ui, dir));
            let others: Vec<String> = others.collect::<Result<_>>()?;
            let all = std::iter::once(first).chain(others);
            render_all(ui, all, |named| {
                render_package(ui, args, &named, &setup, &destination)
            })
        }
        _ => render_package(ui, args, &first, &setup, &destination),
    }
}

/// Checks the flags, and returns the first package, where its result goes, and what runs functions.
fn start(
    ui: &Ui,
    args: &RenderArgs,
    dirs: &[String],
) -> Result<(String, Destination, EvaluatorSetup)> {
    let first = dirs.first().map_or("", String::as_str);
    let first = package_directory(ui, first)?;
    let destination = Destination::parse(ui, &args.output)?;
    make_results_directory(&args.results_dir)?;
    let container = ContainerFlags {
        network: args.network(),
        ..ContainerFlags::default()
    };
    args.lock.check(ui, args.evaluators.has_runner())?;
    let setup = match args.lock.is_frozen() {
        false => args.evaluators.check(ui, container, WasmPrograms::All)?,
        true => {
            let (modules, pull) = (WasmPrograms::All, PullPolicy::Never);
            args.evaluators.check_as(ui, container, modules, pull)?
        }
    };
    Ok((first, destination, setup))
}

/// Renders each package; a failure does not stop the others.
fn render_all(
    ui: &Ui,
    packages: impl Iterator<Item = String>,
    mut render: impl FnMut(String) -> Result<()>,
) -> Result<()> {
    let mut failed: Option<ErrorClass> = None;
    for named in packages {
        let Err(error) = render(named).map_err(CommandError::from) else {
            continue;
        };
        ui.print_error(&error);
        // A failure matters more than a difference.
        failed = match failed {
            None | Some(ErrorClass::Differences) => Some(error.class),
            failed => failed,
        };
    }
    match failed {
        None => Ok(()),
        Some(class) => Err(CommandError {
            class,
            ..CommandError::default()
        }
        .into()),
    }
}

fn render_package(
    ui: &Ui,
    args: &RenderArgs,
    named: &str,
    setup: &EvaluatorSetup,
    destination: &Destination,
) -> Result<()> {
    let root = absolute(named)?;
    if !args.watch {
        let written = &mut Vec::new();
        return render_once(ui, args, &root, named, setup, destination, written);
    }
    open(ui, &root)?;
    let results_dir = args.results_dir.as_str();
    let watched = Watch {
        root: &root,
        named,
        ignored: match results_dir {
            "" => None,
            results_dir => Some(absolute(results_dir)?),
        },
        cancel: setup.cancel().clone(),
    };
    watch(ui, &watched, || {
        let mut written = Vec::new();
        let result = render_once(ui, args, &root, named, setup, destination, &mut written);
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
    if args.dry_run || destination.is_standard_output() {
        args.reports.check_stdout()?;
    }
    let reports = args.reports.targets(ui, Some(root))?;
    let files = results_in_package(ui, &args.results_dir, root)
        .and_then(|results| Ok(open(ui, root)?.without(results)));
    let files = match files {
        Ok(files) => files,
        Err(error) => return args.early_end(&[named.to_owned()]).report(ui, Err(error)),
    };
    let text = |path: &Path| {
        let text = path.to_str().map(str::to_owned);
        text.ok_or_else(|| anyhow!("the name of {} is not UTF-8", path.display()))
    };
    let working_directory = std::env::current_dir().context("cannot find the current directory")?;
    let (root_text, working_directory) = (text(root)?, text(&working_directory)?);
    let lock = match LockUse::prepare(ui, &args.lock, named, &files, setup) {
        Ok(lock) => lock,
        Err(error) => {
            let run = ReportedRun {
                action: args.action(),
                directory: named,
                root: &root_text,
                files: Some(&files),
                is_written_elsewhere: false,
                lock: None,
                config_values: ConfigValues::Show,
            };
            return report_early_end(ui, &reports, run, Err(error));
        }
    };
    let options = RenderOptions {
        functions: FunctionOptions {
            pins: lock.as_ref().map(|lock| lock as &dyn Pins),
            touched: reports.touched(),
            wants_identity: args.timings
                || !args.results_dir.is_empty()
                || args.reports.is_wanted()
                || ui.log_format() == LogFormat::Json,
            ..setup.options(args.network())
        },
        root: &root_text,
        working_directory: &working_directory,
        allow_exec: args.allow_exec == Some(true),
        jobs: jobs(ui.compat(), args.jobs),
        attribution: !is_attribution_disabled(),
        unknown_fields: UnknownKeys::Refuse,
    };
    let reported = ReportedFiles::new(&files, named);
    let terminal = FunctionLog::new(ui).quiet(args.quiet).with_files(reported);
    let log = Timings::new(&terminal);
    let errors = RenderErrors {
        compat: ui.compat(),
        files: &files,
        root: &root_text,
        named,
        evaluators: Some(setup),
    };
    let recorder = RunRecorder::new(&log, &reports);
    let settings = RenderSettings {
        root: &root_text,
        working_directory: &working_directory,
        flags: args.fingerprint(setup, options.attribution),
        accepts_results: args.check,
        lock_file: lock.as_ref().and_then(LockUse::file),
    };
    let notes = args.kept_renders(setup, destination);
    let notes = notes.and_then(|kept| RenderNotes::new(kept.clone(), &settings, &files));
    let earlier = notes.as_ref().and_then(|notes| {
        let find = || notes.find(&files);
        recorder.interruptible(find)
    });
    let traced = TracedFiles::new(&files);
    let events = KeptEvents::new(&recorder);
    let source: &dyn FileSource = match notes {
        Some(_) => &traced,
        None => &files,
    };
    let failed = |error: &RenderError| errors.command_error(error);
    let end = RenderEnd {
        recorder: &recorder,
        failed: &failed,
        lock: lock.as_ref(),
        files: &traced,
        events: &events,
        notes: notes.as_ref(),
        earlier: earlier.as_ref(),
    };
    let mut finish = || {
        let is_lock_written = end.lock.is_some_and(|lock| lock.change().is_some());
        let unchanged = earlier.as_ref();
        let unchanged = unchanged.filter(|_| !is_lock_written && !end.is_verifying());
        let rendered = match unchanged {
            Some(note) => {
                note.replay(&recorder);
                None
            }
            None => {
                let rendered = recorder.interruptible(|| render(source, &options, &events));
                Some(rendered.map_err(|error| failed(&error))?)
            }
        };
        let until_rendered = log.elapsed();
        let finished = match (destination, rendered) {
            (_, None) => finish_unchanged(ui, args, root, &end),
            (Destination::InPlace, Some(rendered)) => {
                finish_in_place(ui, args, root, &files, rendered, written, &end)
            }
            (destination, Some(rendered)) => package::check_read_at_once(ui, &files)
                .and_then(|()| finish_elsewhere(ui, args, destination, rendered, &end)),
        };
        if args.timings {
            let isolation = |image: &str| match &lock {
                Some(lock) => setup.isolation(&lock.exact_name(image)),
                None => setup.isolation(image),
            };
            ui.print_message(&log.report(until_rendered, isolation, &setup.wasm_steps()));
        }
        finished
    };
    let done = finish();
    let run = ReportedRun {
        action: args.action(),
        directory: named,
        root: &root_text,
        files: Some(&files),
        is_written_elsewhere: *destination != Destination::InPlace,
        lock: lock.as_ref().map(LockUse::reported),
        config_values: ConfigValues::Show,
    };
    recorder.finish(ui, run, done)
}

/// What the end of a render needs besides its result.
struct RenderEnd<'a> {
    recorder: &'a RunRecorder<'a>,
    failed: &'a ToCommandError<'a>,
    lock: Option<&'a LockUse>,
    files: &'a TracedFiles<'a>,
    events: &'a KeptEvents<'a>,
    /// Where renders that change nothing are noted.
    notes: Option<&'a RenderNotes>,
    /// The note of an earlier render of the same files.
    earlier: Option<&'a RenderNote>,
}

impl RenderEnd<'_> {
    /// Whether to render although there is a note.
    fn is_verifying(&self) -> bool {
        self.notes.is_some_and(RenderNotes::is_verifying)
    }

    /// Notes a render, if it changes nothing.
    fn note(&self, ui: &Ui, report: &RenderReport, changes: RenderChanges) {
        if let Some(notes) = self.notes {
            let render = FinishedRender {
                files: self.files,
                report,
                events: self.events,
                changes,
            };
            notes.keep(ui, &render, self.earlier);
        }
    }
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
    end: &RenderEnd<'_>,
) -> Result<()> {
    let Rendered { report, output } = rendered;
    let is_refused = is_denied(&report) || ui.compat() == Compat::Kiln && is_refused(&report);
    let output = match args.no_status || is_refused {
        true => output.without_status(),
        false => output,
    };
    let planned = end.recorder.interruptible(|| output.plan(end.files));
    let mut plan = planned.map_err(|error| {
        let error = package::unless_changed(ui, files, error);
        not_saved(&report, &format!("{error:#}"))
    })?;
    if report.error.is_none() {
        // With the other files or not at all.
        let lock = end.lock.and_then(LockUse::change);
        plan.changes.extend(lock);
    }
    let is_settled = |change: &FileChange| changes_only_results(files, change);
    let changes = match plan.changes.as_slice() {
        [] => RenderChanges::None,
        changes if args.check && changes.iter().all(is_settled) => RenderChanges::Results,
        _ => RenderChanges::Files,
    };
    if plan.has_resources {
        end.note(ui, &report, changes);
    }
    if changes == RenderChanges::Results {
        plan.changes.clear();
    }
    end.recorder.note_changes(files, &plan.read, &plan.changes);
    if args.dry_run || args.check {
        package::check_read_at_once(ui, files)?;
        return finish_preview(ui, args, files, &plan.changes, &report, end.failed);
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
    let has_changes = !plan.changes.is_empty();
    if plan.has_resources && !args.quiet {
        print_summary(ui, &report);
    }
    if !args.quiet && (has_changes || report.error.is_none()) {
        changes::report(ui, &plan.changes, Made::Yes);
    }
    written.extend(plan.changes);
    warn_about_emptied(ui, &report);
    if let Some(path) = results? {
        report_results(ui, &path, "");
    }
    outcome(&report, end.failed)
}

/// The end of a render that an earlier one of the same files shows to change nothing.
fn finish_unchanged(ui: &Ui, args: &RenderArgs, root: &Path, end: &RenderEnd<'_>) -> Result<()> {
    let files = end.files.disk();
    let report = RenderReport {
        error: None,
        results: FunctionResultList::new(),
        functions: end.earlier.map_or(0, |note| note.functions),
        packages: end.earlier.map_or(0, |note| note.packages),
        emptied: Vec::new(),
    };
    if args.dry_run || args.check {
        package::check_read_at_once(ui, files)?;
        return finish_preview(ui, args, files, &[], &report, end.failed);
    }
    if let Err(error) = write(ui, root, Some(files), &[], ApplyOptions::default()) {
        return Err(not_saved(&report, &format!("{error:#}")));
    }
    if !args.quiet {
        print_summary(ui, &report);
        changes::report(ui, &[], Made::Yes);
    }
    Ok(())
}

/// Whether the policy refused a function: then the package does not change, whichever functions ran before.
fn is_denied(report: &RenderReport) -> bool {
    match &report.error {
        Some(RenderError::Traced(trace)) => matches!(trace.failure(), Failure::Denied(_)),
        _ => false,
    }
}

/// Whether the package was refused before any function ran: then it does not change. kpt writes the status.
fn is_refused(report: &RenderReport) -> bool {
    let Some(RenderError::Traced(trace)) = &report.error else {
        return false;
    };
    let has_run = match trace.failure() {
        Failure::Exit(_)
        | Failure::BadOutput(_)
        | Failure::NoItems(_)
        | Failure::ReportedErrors { .. }
        | Failure::Text(_) => true,
        Failure::NotKrm(error) => error.list == ListKind::Output,
        Failure::Kptfile(_)
        | Failure::Pipeline(_)
        | Failure::PipelineAtRun(_)
        | Failure::File(_)
        | Failure::ExecNotAllowed
        | Failure::NotFound(_)
        | Failure::Denied(_)
        | Failure::NotStarted(_)
        | Failure::Unavailable(_)
        | Failure::Remote { .. }
        | Failure::NoMatchingTag(_) => false,
    };
    report.functions == 0 && !has_run
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
    if changes.is_empty() {
        if !args.quiet {
            changes::report(ui, changes, Made::No);
        }
        return Ok(());
    }
    let names: Vec<String> = changes.iter().map(changes::name).collect();
    let hint =
        "run the command without --check to write the changes, or with --dry-run to print them";
    Err(CommandError {
        class: ErrorClass::Differences,
        hint: Some(hint.to_owned()),
        ..CommandError::new(changes::text(&names, Made::No))
    }
    .into())
}

fn finish_elsewhere(
    ui: &Ui,
    args: &RenderArgs,
    destination: &Destination,
    rendered: Rendered,
    end: &RenderEnd<'_>,
) -> Result<()> {
    let Rendered { report, output } = rendered;
    if let Some(path) = results_file(args, &report)? {
        report_results(ui, &path, "");
    }
    outcome(&report, end.failed)?;
    warn_about_emptied(ui, &report);
    let files = end.files.disk();
    let recorder = end.recorder;
    recorder.note_differences(files, &output.read, || output.differences(files));
    let resources = output.resources.unwrap_or_default();
    destination.write(ui, resources, &output.read, Some(files))
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

fn print_summary(ui: &Ui, report: &RenderReport) {
    let message = summary(report);
    let record = Record {
        event: "summary",
        functions: Some(report.functions),
        packages: Some(report.packages),
        message: Some(&message),
        ..Record::default()
    };
    ui.log(&record, &message);
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
