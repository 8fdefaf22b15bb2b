//! The reports of `--report` and `--report-data`: collects what a command does, and writes the files at its end, also after a
//! failure.

use std::cell::{LazyCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::mem;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use kiln_krm::kptfile::FunctionKind;
use kiln_krm::package::{EntryKind, FileAction, FileChange, FileSource, ReadSet};
use kiln_krm::paths;
use kiln_krm::results::{File, FunctionResult, ResourceRef, ResultItem, Severity};
use kiln_pages::report::{
    self, ChangedFile, ConfigValues, LockInput, PhaseTime, ReportAction, ReportFormat, ReportInput,
    ReportModel, ReportProblem, SecretValues, StepInput, StepKind, StepPosition, StepStatus,
    Verdict,
};
use kiln_render::{CallRecord, Event, Log, Silent, TouchedResources};

use super::report_file::{ReportTarget, check_place, has_resources};
use super::repository::repository_directory;
use super::result_position::{ResourcePlaces, resource_files};
use crate::error::{CommandError, bail_usage};
use crate::interrupt::interruptible;
use crate::log_format::LogFormat;
use crate::package::absolute;
use crate::ui::Ui;

#[derive(Args, Debug, Default)]
pub(crate) struct ReportFlags {
    /// Write a report: FILE ends in .html, .md, .sarif, .junit.xml, .codequality.json, .trace.json or .json; `-` prints
    /// HTML. Can be repeated
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    report: Vec<String>,
    /// Write the data of the report as JSON
    #[arg(long, value_name = "FILE")]
    report_data: Option<String>,
}

impl ReportFlags {
    /// Whether a file is to be written.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.report.is_empty() || self.report_data.is_some()
    }

    /// Refuses a report on standard output, where the command writes something else.
    pub(crate) fn check_stdout(&self) -> Result<()> {
        if let Some((flag, _)) = self.named().find(|(_, name)| *name == "-") {
            bail_usage!(
                "`{flag} -` prints to standard output, where this command prints its result; name a file"
            );
        }
        Ok(())
    }

    /// The flags that name a file, with the file.
    fn named(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let reports = self.report.iter().map(|name| ("--report", name.as_str()));
        let data = self.report_data.iter();
        reports.chain(data.map(|name| ("--report-data", name.as_str())))
    }

    /// The reports to write. Formats and places are checked before anything runs. `root` is the package.
    pub(crate) fn targets(&self, ui: &Ui, root: Option<&Path>) -> Result<ReportTargets> {
        let mut names = HashSet::new();
        if let Some((flag, name)) = self.named().find(|(_, name)| !names.insert(*name)) {
            bail_usage!("`{flag} {name}` would replace another report; use another name");
        }
        let mut targets = Vec::new();
        for name in &self.report {
            let format = match name.as_str() {
                "-" => ReportFormat::Html,
                name => ReportFormat::of_file(name).map_err(|error| {
                    let endings: Vec<&str> = ReportFormat::endings().collect();
                    let hint = format!("use a name that ends in {}", endings.join(", "));
                    CommandError::with_hint(error, hint)
                })?,
            };
            targets.push(ReportTarget {
                name: name.clone(),
                format,
            });
        }
        targets.extend(self.report_data.iter().map(|name| ReportTarget {
            name: name.clone(),
            format: ReportFormat::Data,
        }));
        for target in &targets {
            check_place(ui, &target.name, root)?;
        }
        Ok(ReportTargets {
            targets,
            annotates: ui.log_format() == LogFormat::Github,
        })
    }
}

/// All reports of a command.
pub(crate) struct ReportTargets {
    targets: Vec<ReportTarget>,
    /// Whether problems are printed as workflow commands of GitHub.
    annotates: bool,
}

impl ReportTargets {
    fn is_empty(&self) -> bool {
        self.targets.is_empty() && !self.annotates
    }

    /// Does work that a signal may end at once, unless a report is to be written then.
    pub(crate) fn interruptible<T>(&self, work: impl FnOnce() -> T) -> T {
        match self.is_empty() {
            true => interruptible(work),
            false => work(),
        }
    }

    /// Whether calls record the resources that they touch.
    pub(crate) fn touched(&self) -> TouchedResources {
        match self.is_empty() {
            true => TouchedResources::Ignore,
            false => TouchedResources::Record,
        }
    }
}

/// What a report says about the command itself.
pub(crate) struct ReportedRun<'a> {
    pub(crate) action: ReportAction,
    /// The directory as the user named it.
    pub(crate) directory: &'a str,
    /// The absolute path of the package.
    pub(crate) root: &'a str,
    pub(crate) files: Option<&'a dyn FileSource>,
    /// Whether the result goes to standard output or to a new directory.
    pub(crate) is_written_elsewhere: bool,
    pub(crate) lock: Option<LockInput>,
    pub(crate) config_values: ConfigValues,
}

/// A command without a function that ran: it failed before, or it has nothing to do.
pub(crate) struct EarlyEnd<'a> {
    pub(crate) flags: &'a ReportFlags,
    pub(crate) action: ReportAction,
    /// The directory as the user named it.
    pub(crate) named: &'a str,
}

impl EarlyEnd<'_> {
    /// Writes the reports, so that a later step of a CI job finds them. If the reports cannot be written either, the error of
    /// the command matters more.
    pub(crate) fn report(self, ui: &Ui, done: Result<()>) -> Result<()> {
        let EarlyEnd {
            flags,
            action,
            named,
        } = self;
        let root = match named {
            "-" => None,
            named => absolute(named).ok(),
        };
        let targets = flags.targets(ui, root.as_deref());
        let reports = match (targets, done.is_err()) {
            (Ok(targets), _) => targets,
            (Err(_), true) => return done,
            (Err(error), false) => return Err(error),
        };
        let root = root.unwrap_or_default();
        let run = ReportedRun {
            action,
            directory: named,
            root: &root.to_string_lossy(),
            files: None,
            is_written_elsewhere: false,
            lock: None,
            config_values: ConfigValues::Hide,
        };
        report_early_end(ui, &reports, run, done)
    }
}

/// Writes the reports of a command that ended before it ran a function.
pub(crate) fn report_early_end(
    ui: &Ui,
    reports: &ReportTargets,
    run: ReportedRun<'_>,
    done: Result<()>,
) -> Result<()> {
    RunRecorder::new(&Silent, reports).finish(ui, run, done)
}

/// Passes events to a log and keeps what reports need.
pub(crate) struct RunRecorder<'a> {
    log: &'a dyn Log,
    reports: &'a ReportTargets,
    began: Instant,
    calls: RefCell<Vec<RecordedCall>>,
    files: RefCell<Vec<ChangedFile>>,
    secrets: RefCell<SecretValues>,
    rendered: RefCell<Option<Duration>>,
}

struct RecordedCall {
    function: String,
    status: StepStatus,
    elapsed: Duration,
    result: Box<FunctionResult>,
    record: Box<CallRecord>,
    /// The directory of the package, relative to the root.
    directory: String,
}

impl<'a> RunRecorder<'a> {
    pub(crate) fn new(log: &'a dyn Log, reports: &'a ReportTargets) -> RunRecorder<'a> {
        RunRecorder {
            log,
            reports,
            began: Instant::now(),
            calls: RefCell::default(),
            files: RefCell::default(),
            secrets: RefCell::default(),
            rendered: RefCell::default(),
        }
    }

    /// Measures times from an earlier moment.
    pub(crate) fn since(self, began: Instant) -> RunRecorder<'a> {
        RunRecorder { began, ..self }
    }

    /// As [`ReportTargets::interruptible`].
    pub(crate) fn interruptible<T>(&self, work: impl FnOnce() -> T) -> T {
        self.reports.interruptible(work)
    }

    /// Keeps the values of Secrets in an input that is not a file of the package.
    pub(crate) fn note_input(&self, text: &[u8]) {
        if !self.reports.is_empty() {
            self.secrets.borrow_mut().add_file(text);
        }
    }

    /// Keeps what differs between the package and a result that is written elsewhere. A report does not need it: it leaves out
    /// what cannot be planned.
    pub(crate) fn note_differences<E>(
        &self,
        files: &dyn FileSource,
        read: &ReadSet,
        differences: impl FnOnce() -> Result<Vec<FileChange>, E>,
    ) {
        if self.reports.is_empty() {
            return;
        }
        if let Ok(changes) = differences() {
            self.note_changes(files, read, &changes);
        }
    }

    /// Keeps both versions of the files that are about to change. What follows is writing. `read` is what the render read.
    pub(crate) fn note_changes(
        &self,
        files: &dyn FileSource,
        read: &ReadSet,
        changes: &[FileChange],
    ) {
        *self.rendered.borrow_mut() = Some(self.began.elapsed());
        if self.reports.is_empty() {
            return;
        }
        let changed = changes.iter().map(|change| ChangedFile {
            path: change.path.clone(),
            before: match read.get(&change.path) {
                Some(file) => Some(file.bytes().to_vec()),
                None => files.read(&change.path).ok(),
            },
            after: match &change.action {
                FileAction::Write(content) => Some(content.clone()),
                FileAction::Delete => None,
            },
        });
        self.files.borrow_mut().extend(changed);
    }

    /// Writes the reports of a command that ended with `done`. An error of the command matters more than one of a report.
    pub(crate) fn finish(self, ui: &Ui, run: ReportedRun<'_>, done: Result<()>) -> Result<()> {
        let reports = self.reports;
        if reports.is_empty() {
            return done;
        }
        let done = done.map_err(CommandError::from);
        let model = self.into_model(run, done.as_ref().err());
        if reports.annotates {
            ui.print_lines(&report::annotations(&model));
        }
        let mut written = Ok(());
        for target in &reports.targets {
            written = written.and(target.write(ui, &model));
        }
        match (done, written) {
            (Ok(()), written) => written,
            (Err(error), Ok(())) => Err(error.into()),
            (Err(error), Err(not_written)) => {
                ui.warn(&format!("{not_written:#}"));
                Err(error.into())
            }
        }
    }

    fn into_model(self, run: ReportedRun<'_>, error: Option<&CommandError>) -> ReportModel {
        let duration = self.began.elapsed();
        let calls = self.calls.into_inner();
        let files = self.files.into_inner();
        let mut secrets = self.secrets.into_inner();
        // Both versions of what changed are in the report.
        let changed: HashSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
        if let Some(files) = run.files {
            add_secrets(files, &changed, &mut secrets);
        }
        let has_failed_step = calls.iter().any(|call| call.status == StepStatus::Failed);
        let verdict = match (error, run.action) {
            (None, _) => Verdict::Passed,
            (Some(_), ReportAction::Check) if !has_failed_step && !files.is_empty() => {
                Verdict::Differs
            }
            (Some(_), _) => Verdict::Failed,
        };
        let began = self.began;
        let places = LazyCell::new(|| resource_places(run.files, &files));
        let locate = |directory: &str, wanted: &ResourceRef| {
            let (path, index) = places.find(directory, wanted)?;
            Some(File {
                path: path.to_owned(),
                index: i64::try_from(index).ok()?,
            })
        };
        let steps: Vec<StepInput> = calls
            .into_iter()
            .map(|mut call| {
                for item in &mut call.result.results {
                    place_item(item, &call.directory, &locate);
                }
                step(call, began, run.root)
            })
            .collect();
        let phases = phases(&steps, self.rendered.into_inner(), duration);
        let started = jiff::Timestamp::now().checked_sub(duration);
        let root = Path::new(run.root);
        let name = root.file_name().unwrap_or(root.as_os_str());
        report::build(ReportInput {
            tool: format!("kiln {}", env!("CARGO_PKG_VERSION")),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            command: std::env::args_os()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            action: run.action,
            package: name.to_string_lossy().into_owned(),
            directory: run.directory.to_owned(),
            repository_directory: match run.root {
                "" => None,
                root => repository_directory(Path::new(root)),
            },
            is_written_elsewhere: run.is_written_elsewhere,
            started: started.map_or(String::new(), |time| format!("{time:.0}")),
            duration_us: micros(duration),
            verdict,
            problems: error
                .and_then(|error| problem(error, run.directory))
                .into_iter()
                .collect(),
            steps,
            phases,
            files,
            lock: run.lock,
            config_values: run.config_values,
            secrets,
            read: &|path| run.files.and_then(|files| files.read(path).ok()),
        })
    }
}

impl Log for RunRecorder<'_> {
    fn event(&self, mut event: Event) {
        if !self.reports.is_empty()
            && let Some(call) = recorded_call(&mut event)
        {
            let mut secrets = self.secrets.borrow_mut();
            for document in &call.record.secrets {
                secrets.add_document(document);
            }
            self.calls.borrow_mut().push(call);
        }
        self.log.event(event);
    }
}

/// The call that an event is about; what only reports need is taken out of the event, because there may be much of it.
fn recorded_call(event: &mut Event) -> Option<RecordedCall> {
    let (status, function, elapsed, result, record, directory) = match event {
        Event::Passed {
            function,
            elapsed,
            result,
            record,
            directory,
        } => {
            let status = StepStatus::Passed;
            (status, function, elapsed, result, record, directory)
        }
        Event::Failed {
            function,
            elapsed,
            result,
            record,
            directory,
            ..
        } => {
            let status = StepStatus::Failed;
            (status, function, elapsed, result, record, directory)
        }
        _ => return None,
    };
    let touched = mem::take(&mut record.touched);
    let secrets = mem::take(&mut record.secrets);
    Some(RecordedCall {
        function: function.clone(),
        status,
        elapsed: *elapsed,
        result: result.clone(),
        record: Box::new(CallRecord {
            touched,
            secrets,
            ..(**record).clone()
        }),
        directory: directory.clone(),
    })
}

/// Names the file of an item from the root package; a problem of a resource is where the resource is.
fn place_item(
    item: &mut ResultItem,
    directory: &str,
    locate: &dyn Fn(&str, &ResourceRef) -> Option<File>,
) {
    let file = item.file.as_mut().filter(|file| !file.path.is_empty());
    if let Some(file) = file {
        file.path = paths::join(&[directory, &file.path]);
    } else if item.known_severity() != Some(Severity::Info) {
        let resource = item.resource_ref.as_ref();
        item.file = resource.and_then(|resource| locate(directory, resource));
    }
}

/// Where the resources of a package are after the run.
fn resource_places(files: Option<&dyn FileSource>, changed: &[ChangedFile]) -> ResourcePlaces {
    let after: HashMap<&str, Option<&Vec<u8>>> = changed
        .iter()
        .map(|file| (file.path.as_str(), file.after.as_ref()))
        .collect();
    let mut paths = files.map_or_else(Vec::new, resource_files);
    let added = changed.iter().filter(|file| file.before.is_none());
    paths.extend(added.map(|file| file.path.clone()));
    ResourcePlaces::of(paths, |path| match after.get(path) {
        Some(after) => after.cloned(),
        None => files?.read(path).ok(),
    })
}

fn step(call: RecordedCall, began: Instant, root: &str) -> StepInput {
    let CallRecord {
        package,
        kind,
        started,
        resources_in,
        resources_out,
        is_cached,
        step,
        touched,
        secrets: _,
        declared,
        config,
    } = *call.record;
    let result = *call.result;
    let in_root = |file: String| {
        let relative = file
            .strip_prefix(root)
            .map(|path| path.trim_start_matches('/'));
        relative.map_or(file.clone(), str::to_owned)
    };
    StepInput {
        package: package.unwrap_or_default(),
        directory: call.directory,
        function: call.function,
        declared,
        config,
        position: step.map(|step| StepPosition {
            number: step.number,
            count: step.count,
        }),
        is_cached,
        kind: match kind {
            FunctionKind::Mutator => StepKind::Mutator,
            FunctionKind::Validator => StepKind::Validator,
        },
        identity: Some(result.identity.clone()).filter(|identity| !identity.is_empty()),
        status: call.status,
        start_us: micros(started.saturating_duration_since(began)),
        duration_us: micros(call.elapsed),
        resources_in,
        resources_out,
        touched: touched
            .into_iter()
            .map(|touched| report::TouchedResource {
                id: touched.id,
                file: in_root(touched.file),
            })
            .collect(),
        result,
    }
}

/// Reading comes before the first function, writing after the last.
fn phases(steps: &[StepInput], rendered: Option<Duration>, total: Duration) -> Vec<PhaseTime> {
    let phase = |name: &str, start_us: u64, end_us: u64| PhaseTime {
        name: name.to_owned(),
        start_us,
        duration_us: end_us.saturating_sub(start_us),
    };
    let total = micros(total);
    let rendered = rendered.map_or(total, micros);
    let first = steps.iter().map(|step| step.start_us).min();
    let last = steps
        .iter()
        .map(|step| step.start_us + step.duration_us)
        .max();
    vec![
        phase("read", 0, first.unwrap_or(rendered)),
        phase("plan", last.unwrap_or(rendered), rendered),
        phase("write", rendered, total),
    ]
}

/// The error of the command; nothing if the log of a function has everything.
fn problem(error: &CommandError, directory: &str) -> Option<ReportProblem> {
    let message = error.plain_message();
    let position = error.position.as_ref();
    (!message.is_empty()).then(|| ReportProblem {
        severity: "error".to_owned(),
        message: message.to_owned(),
        file: position.map(|position| in_package(&position.file, directory)),
        line: position.map(|position| position.line),
        column: position.map(|position| position.column),
        hint: error.hint.clone(),
        ..ReportProblem::default()
    })
}

/// A file as the user would name it, relative to the directory of the package.
fn in_package(file: &str, directory: &str) -> String {
    let directory = paths::clean(directory);
    let inside = file.strip_prefix(&directory);
    let inside = inside.and_then(|rest| rest.strip_prefix('/'));
    inside.unwrap_or(file).to_owned()
}

/// Collects the values of Secrets from all other files that may contain resources, also from those that no function saw.
fn add_secrets(files: &dyn FileSource, changed: &HashSet<&str>, secrets: &mut SecretValues) {
    let mut pending = vec![String::new()];
    while let Some(directory) = pending.pop() {
        for entry in files.list(&directory).unwrap_or_default() {
            let path = paths::join(&[&directory, &entry.name]);
            match entry.kind {
                EntryKind::Directory if entry.name != ".git" => pending.push(path),
                EntryKind::File | EntryKind::SymlinkToFile
                    if has_resources(&entry.name) && !changed.contains(path.as_str()) =>
                {
                    secrets.add_file(&files.read(&path).unwrap_or_default());
                }
                _ => {}
            }
        }
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
