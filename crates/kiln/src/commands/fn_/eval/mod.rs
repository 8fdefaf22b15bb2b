//! `kiln fn eval`

mod args;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use kiln_evaluators::WasmPrograms;
use kiln_go::errno_text;
use kiln_krm::EditableText;
use kiln_krm::kptfile::{
    FILE_NAME, Function, FunctionKind, Kptfile, OpenConfigError, Selector, check_function_config,
    edit,
};
use kiln_krm::package::{
    Bytes, EmptiedFiles, FileAction, FileChange, FileSource, ListOptions, ReadSet, Subpackages,
    WriteOptions, check_targets, plan_write,
};
use kiln_krm::read::read_loose_file;
use kiln_krm::results::FunctionResultList;
use kiln_krm::{Dialect, Resource, paths};
use kiln_package::{ApplyOptions, DiskFiles, available_threads};
use kiln_pages::report::{ConfigValues, ReportAction};
use kiln_render::{
    Evaluation, FunctionOptions, Inventory, Lost, RenderCompat, TouchedResources, evaluate,
};
use kiln_runtime::{FunctionSpec, Target};
use kiln_yaml::{Document, SequenceStyle};

use crate::compat::Compat;
use crate::error::render::call_error;
use crate::error::{CommandError, ErrorClass};
use crate::functions::evaluators::EvaluatorSetup;
use crate::interrupt::interruptible;
use crate::log_format::LogFormat;
use crate::package::destination::Destination;
use crate::package::write::write;
use crate::package::{self, Location, absolute, resolve_as_named};
use crate::report::changes::{self, Made};
use crate::report::function_log::FunctionLog;
use crate::report::result_position::ReportedFiles;
use crate::report::results_dir::{
    make_results_directory, report_results, results_in_package, save_results,
};
use crate::report::run_report::{EarlyEnd, ReportedRun, RunRecorder};
use crate::ui::Ui;
pub(crate) use args::EvalArgs;

pub(crate) fn cmd_eval(ui: &Ui, args: &EvalArgs) -> Result<()> {
    match start(ui, args) {
        Ok(start) => eval(ui, args, start),
        Err(error) => {
            let end = EarlyEnd {
                flags: &args.reports,
                action: ReportAction::Eval,
                named: args.check_dirs().unwrap_or("."),
            };
            end.report(ui, Err(error))
        }
    }
}

/// What the flags say, before a report can name a package.
struct EvalStart<'a> {
    setup: EvaluatorSetup,
    /// The function to save to the Kptfile.
    saved: Option<(FunctionKind, Function)>,
    selector: Selector,
    exclusion: Selector,
    destination: Destination,
    named: &'a str,
    data_config: Document,
    target: Target,
    config_path: Option<PathBuf>,
    source: Option<InputPackage>,
}

fn start<'a>(ui: &Ui, args: &'a EvalArgs) -> Result<EvalStart<'a>> {
    let setup = args
        .evaluators
        .check(ui, args.container_flags(), WasmPrograms::ByName)?;
    let saves_as = args.check_saving()?;
    make_results_directory(&args.results_dir)?;
    let destination = Destination::parse(ui, &args.output)?;
    let named = args.check_dirs()?;
    let data_config = args.data_config()?;
    let target = args.target(setup.prefix())?;
    let config_path = config_path(args)?;
    let source = match named {
        "-" => None,
        named => Some(InputPackage::resolve(ui, named)?),
    };
    if let (Some(_), Some(config), Some(source)) = (saves_as, &config_path, &source) {
        check_is_inside(config, &source.path)?;
    }
    if saves_as.is_some() && ui.compat() == Compat::Kiln {
        check_can_save(source.as_ref())?;
    }
    let (selector, exclusion) = args.selection()?;
    let saved = saves_as.map(|kind| {
        let function = saved_function(args, &target, source.as_ref(), config_path.as_deref());
        function.map(|function| (kind, function))
    });
    let saved = saved.transpose()?;
    Ok(EvalStart {
        setup,
        saved,
        selector,
        exclusion,
        destination,
        named,
        data_config,
        target,
        config_path,
        source,
    })
}

fn eval(ui: &Ui, args: &EvalArgs, start: EvalStart<'_>) -> Result<()> {
    let EvalStart {
        setup,
        saved,
        selector,
        exclusion,
        destination,
        named,
        data_config,
        target,
        config_path,
        source,
    } = start;
    if source.is_none() || destination.is_standard_output() {
        args.reports.check_stdout()?;
    }
    let package = source.as_ref().map(|source| source.path.as_path());
    let reports = args.reports.targets(ui, package)?;
    let config_values = match config_path {
        Some(_) => ConfigValues::Show,
        None => ConfigValues::Hide,
    };
    let call = EvalCall {
        args,
        setup: &setup,
        target,
        selector,
        exclusion,
        config_path,
        data_config,
        source: source.as_ref(),
        destination: &destination,
    };
    let began = Instant::now();
    let mut standard_input = Vec::new();
    let work = || read(ui, source.as_ref(), &args.results_dir, &mut standard_input);
    // Standard input may never end.
    let read = match source {
        None => interruptible(work),
        Some(_) => reports.interruptible(work),
    };
    let (read, files) = match read {
        Ok((input, files)) => (Ok(input), files),
        Err(error) => {
            // A report must not show the Secrets of a package that cannot be read either.
            let root = source.as_ref().map(|source| source.location.root());
            let files =
                root.and_then(|root| DiskFiles::open(root, ui.compat().outside_links()).ok());
            (Err(error), files)
        }
    };
    let log = FunctionLog::new(ui);
    let log = match &files {
        Some(files) => log.with_files(ReportedFiles::new(files, named)),
        None => log,
    };
    let recorder = RunRecorder::new(&log, &reports).since(began);
    recorder.note_input(&standard_input);
    let done = read.and_then(|input| {
        let read = ReadPackage {
            input,
            files: files.as_ref(),
            saved,
        };
        call.run(ui, read, &recorder, reports.touched())
    });
    let root = source
        .as_ref()
        .map(|source| source.path.display().to_string());
    let run = ReportedRun {
        action: ReportAction::Eval,
        directory: named,
        root: root.as_deref().unwrap_or_default(),
        files: files.as_ref().map(|files| files as &dyn FileSource),
        is_written_elsewhere: source.is_none() || destination != Destination::InPlace,
        lock: None,
        config_values,
    };
    recorder.finish(ui, run, done)
}

/// A function and what it runs on.
struct EvalCall<'a> {
    args: &'a EvalArgs,
    setup: &'a EvaluatorSetup,
    target: Target,
    selector: Selector,
    exclusion: Selector,
    config_path: Option<PathBuf>,
    /// The functionConfig made of arguments, without a file.
    data_config: Document,
    /// `None` for standard input.
    source: Option<&'a InputPackage>,
    destination: &'a Destination,
}

/// What was read before the function runs.
struct ReadPackage<'a> {
    input: Vec<Resource>,
    files: Option<&'a DiskFiles>,
    /// The function to save to the Kptfile.
    saved: Option<(FunctionKind, Function)>,
}

impl EvalCall<'_> {
    /// Runs the function and writes its output.
    fn run(
        self,
        ui: &Ui,
        read: ReadPackage<'_>,
        recorder: &RunRecorder<'_>,
        touched: TouchedResources,
    ) -> Result<()> {
        let EvalCall {
            args,
            setup,
            target,
            selector,
            exclusion,
            config_path,
            data_config,
            source,
            destination,
        } = self;
        let ReadPackage {
            input,
            files,
            saved,
        } = read;
        let before = ReadSet::of(&input);
        let config = match &config_path {
            Some(path) => read_config(path)?,
            None => data_config,
        };
        let (input, set_aside) = set_aside(input, source, config_path.as_deref());
        let function = FunctionSpec::new(target.clone()).name().to_owned();
        let options = FunctionOptions {
            touched,
            wants_identity: !args.results_dir.is_empty()
                || touched == TouchedResources::Record
                || ui.log_format() == LogFormat::Json,
            ..setup.options(args.network())
        };
        let evaluation = Evaluation {
            target: target.clone(),
            env: args.env.clone(),
            config: Some(config),
            selector: selector.clone(),
            exclusion: exclusion.clone(),
            options: &options,
        };
        let mut results = FunctionResultList::new();
        let inventory = Inventory::of(&input);
        let output = recorder.interruptible(|| evaluate(evaluation, input, &mut results, recorder));
        warn_about_mounts(ui, args, setup, &target);
        // kpt does not check.
        if let (RenderCompat::Kiln, Ok(output)) = (setup.render_compat(), &output) {
            for lost in inventory.lost(output) {
                ui.warn(&match lost {
                    Lost::Resources(count) => {
                        format!("function {function:?} removed all {count} resource(s)")
                    }
                    Lost::Kptfile => format!("function {function:?} removed the Kptfile"),
                });
            }
        }
        let output = output.map(|mut output| {
            output.extend(set_aside);
            output
        });
        let saving = saved.map(|(kind, mut function)| {
            if !selector.is_empty() {
                function.selectors.push(selector);
            }
            if !exclusion.is_empty() {
                function.exclusions.push(exclusion);
            }
            Saving {
                kind,
                function,
                render_compat: setup.render_compat(),
            }
        });
        // The message about a function that was saved together with the resources.
        let mut saved_message = None;
        let output = match (output, source, destination) {
            (Ok(output), Some(source), Destination::InPlace) => {
                let changes = recorder
                    .interruptible(|| plan_output(source, output, &before, setup.render_compat()));
                let mut changes = changes?;
                if let (RenderCompat::Kiln, Some(files)) = (setup.render_compat(), files) {
                    let checked = check_targets(&changes, &before, files);
                    checked.map_err(|error| package::unless_changed(ui, files, error))?;
                }
                if let (Some(saving), None) = (&saving, source.location.file()) {
                    saved_message = saving.add_to(&mut changes, &source.path)?;
                }
                if let Some(files) = files {
                    recorder.note_changes(files, &before, &changes);
                }
                let options = ApplyOptions::default();
                write(ui, source.location.root(), files, &changes, options)?;
                changes::report(ui, &changes, Made::Yes);
                Ok(None)
            }
            (output, _, _) => output.map(Some),
        };
        let saved_results = save_results(&args.results_dir, &results);
        if let Ok(Some(path)) = &saved_results {
            report_results(ui, path, "\n");
        }
        match output {
            Err(failure) => return Err(call_error(ui, &failure, &target).into()),
            Ok(Some(output)) => {
                if let (Some(source), Some(files)) = (source, files) {
                    recorder.note_differences(files, &before, || {
                        plan_output(source, output.clone(), &before, setup.render_compat())
                    });
                }
                let output = without_empty_annotations(output);
                let files = files.map(|files| files as &dyn FileSource);
                destination.write(ui, output, &before, files)?;
            }
            Ok(None) => {}
        }
        // kpt ignores this error.
        if setup.render_compat() == RenderCompat::Kiln {
            saved_results?;
        }
        match (saved_message, saving) {
            (Some(message), _) => ui.print_message(&message),
            (None, Some(saving)) => saving.save(ui, source)?,
            (None, None) => {}
        }
        Ok(())
    }
}

/// Mounts are for containers: a module has no files.
fn warn_about_mounts(ui: &Ui, args: &EvalArgs, setup: &EvaluatorSetup, target: &Target) {
    let Target::Image(image) = target else {
        return;
    };
    if setup.render_compat() == RenderCompat::Kiln
        && !args.mounts.is_empty()
        && setup.known_module_digest(image).is_some()
    {
        ui.warn(&format!(
            "--mount has no effect: image {image} is a WebAssembly module, which has no files"
        ));
    }
}

/// Drops empty annotations and empty metadata, as kpt's writer does.
fn without_empty_annotations(mut resources: Vec<Resource>) -> Vec<Resource> {
    for resource in &mut resources {
        // A resource that cannot have annotations has none to drop.
        let _ = resource.clear_annotations(&[]);
    }
    resources
}

/// A package, or one file of it.
struct InputPackage {
    /// The absolute path.
    path: PathBuf,
    location: Location,
}

impl InputPackage {
    fn resolve(ui: &Ui, named: &str) -> Result<InputPackage> {
        let resolved = resolve_as_named(ui, named)?;
        let path = absolute(&resolved)?;
        Ok(InputPackage {
            location: Location::at(path.clone(), named)?,
            path,
        })
    }
}

/// The absolute path of the file that `--fn-config` names.
fn config_path(args: &EvalArgs) -> Result<Option<PathBuf>> {
    let named = args.fn_config.as_str();
    if named.is_empty() {
        return Ok(None);
    }
    if !Path::new(named).exists() {
        bail!("missing function config file: {named}");
    }
    Ok(Some(absolute(named)?))
}

fn check_is_inside(config: &Path, package: &Path) -> Result<()> {
    let (config, package) = (config.display().to_string(), package.display().to_string());
    if !config.starts_with(&package) {
        bail!("--fn-config must be under {package} if saving functions to Kptfile (--save=true)");
    }
    Ok(())
}

/// Refuses to save a function where there is no Kptfile, before it runs. kpt runs it and prints a message.
fn check_can_save(source: Option<&InputPackage>) -> Result<()> {
    let directory = match source {
        Some(source) => source.path.clone(),
        None => absolute("")?,
    };
    if directory.join(FILE_NAME).is_file() {
        return Ok(());
    }
    let error = CommandError {
        class: ErrorClass::Input,
        ..CommandError::new(format!(
            "error: the function cannot be saved: {} has no Kptfile",
            directory.display()
        ))
    };
    let hint = "create a Kptfile with `kiln pkg init`, or omit --save";
    Err(CommandError::with_hint(error, hint).into())
}

fn read(
    ui: &Ui,
    source: Option<&InputPackage>,
    results_dir: &str,
    standard_input: &mut Vec<u8>,
) -> Result<(Vec<Resource>, Option<DiskFiles>)> {
    match source {
        None => {
            *standard_input = ui.read_data()?;
            let list = package::input(ui, standard_input.clone(), Dialect::Current)?;
            Ok((list.items, None))
        }
        Some(source) => {
            let list = ListOptions::new(Dialect::Current, Subpackages::Include);
            let dialect = ui.compat().dialect();
            let results = results_in_package(ui, results_dir, source.location.root())?;
            let (resources, files) =
                package::read_without(ui, &source.location, &list, dialect, results)?;
            Ok((resources, Some(files)))
        }
    }
}

fn read_config(path: &Path) -> Result<Document> {
    let open = || {
        let bytes = std::fs::read(path).map_err(|error| {
            OpenConfigError::Open(format!("open {}: {}", path.display(), errno_text(&error)))
        })?;
        let resources = read_loose_file(bytes, Dialect::Current)
            .map_err(|error| OpenConfigError::Read(error.to_string()))?;
        Ok(resources.into_iter().map(Resource::into_document).collect())
    };
    Ok(check_function_config(&path.display().to_string(), open())?)
}

/// Removes the functionConfig from the input of the function, if it is part of the package.
fn set_aside(
    input: Vec<Resource>,
    source: Option<&InputPackage>,
    config: Option<&Path>,
) -> (Vec<Resource>, Option<Resource>) {
    let (Some(source), Some(config)) = (source, config) else {
        return (input, None);
    };
    let is_config = |resource: &Resource| {
        let path = resource.file_place().0;
        !path.is_empty() && source.location.root().join(path) == *config
    };
    let (mut configs, others): (Vec<_>, Vec<_>) = input.into_iter().partition(is_config);
    (others, configs.pop())
}

/// The changes that write the output of the function to the package.
fn plan_output(
    source: &InputPackage,
    output: Vec<Resource>,
    before: &ReadSet,
    render_compat: RenderCompat,
) -> Result<Vec<FileChange>> {
    let options = WriteOptions {
        dialect: Dialect::Current,
        bytes: match render_compat {
            RenderCompat::Kiln => Bytes::Keep,
            RenderCompat::Kpt => Bytes::Reencode,
        },
        emptied_files: EmptiedFiles::Delete,
        package: source.path.display().to_string(),
        threads: available_threads(),
    };
    Ok(plan_write(output, before, &options)?)
}

/// The function as an entry of a pipeline.
fn saved_function(
    args: &EvalArgs,
    target: &Target,
    source: Option<&InputPackage>,
    config: Option<&Path>,
) -> Result<Function> {
    let mut function = Function::default();
    match target {
        Target::Image(image) => {
            function.image = image.clone();
            function.tag = args.tag.clone();
        }
        Target::Exec(command) | Target::Program(command) => function.exec = command.clone(),
    }
    if let (Some(config), Some(source)) = (config, source) {
        let inside = config.strip_prefix(&source.path).unwrap_or(config);
        function.config_path = paths::clean(&inside.display().to_string());
    } else {
        let (_, pairs) = args.split_data()?;
        let pairs = pairs.into_iter();
        function.config_map = pairs
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
    }
    Ok(function)
}

/// A function to add to the pipeline of a Kptfile.
struct Saving {
    kind: FunctionKind,
    function: Function,
    render_compat: RenderCompat,
}

impl Saving {
    /// Adds the function to the Kptfile in the changes, so that all is written or nothing, and returns the message to print.
    /// `None` if there is no Kptfile, and for kpt, which writes the resources even if the function cannot be saved.
    fn add_to(&self, changes: &mut Vec<FileChange>, directory: &Path) -> Result<Option<String>> {
        if self.render_compat == RenderCompat::Kpt {
            return Ok(None);
        }
        let at = changes.iter().position(|change| change.path == FILE_NAME);
        let current = match at.and_then(|at| changes.get(at)) {
            None => std::fs::read(directory.join(FILE_NAME)).ok(),
            Some(change) => match &change.action {
                FileAction::Write(bytes) => Some(bytes.clone()),
                FileAction::Delete => None,
            },
        };
        let Some((change, message)) = self.change(current)? else {
            return Ok(None);
        };
        changes.retain(|change| change.path != FILE_NAME);
        changes.push(change);
        Ok(Some(message))
    }

    /// Writes the function to the Kptfile of the package, or of the current directory.
    fn save(&self, ui: &Ui, source: Option<&InputPackage>) -> Result<()> {
        let directory = match source {
            Some(source) => source.path.clone(),
            None => absolute("")?,
        };
        match self.change(std::fs::read(directory.join(FILE_NAME)).ok())? {
            None => ui.print_message("function not added: Kptfile not exists"),
            Some((change, message)) => {
                write(ui, &directory, None, &[change], ApplyOptions::default())?;
                ui.print_message(&message);
            }
        }
        Ok(())
    }

    /// The Kptfile with the function in it, and the message to print; `None` if there is no valid Kptfile.
    fn change(&self, kptfile: Option<Vec<u8>>) -> Result<Option<(FileChange, String)>> {
        let (kind, function) = (self.kind, &self.function);
        let original = kptfile.filter(|bytes| Kptfile::read(bytes).is_ok());
        let Some(original) = original else {
            return Ok(None);
        };
        let saved = match self.render_compat {
            RenderCompat::Kpt => {
                let Some(document) = kiln_yaml::parse_first(&original)? else {
                    return Ok(None);
                };
                edit::save_like_kpt(&document, kind, function).map(|(changed, saved)| {
                    let text = kiln_yaml::to_string(&changed, SequenceStyle::Wide);
                    (text.into_bytes(), saved)
                })
            }
            RenderCompat::Kiln => {
                let Some(mut text) = EditableText::read_kptfile(&original) else {
                    return Ok(None);
                };
                edit::save_function(text.document_mut(), kind, function)
                    .map(|saved| (text.changed().unwrap_or(original), saved))
            }
        };
        let (text, saved) = saved.context("function is not added to Kptfile")?;
        let change = FileChange {
            path: FILE_NAME.to_owned(),
            action: FileAction::Write(text),
        };
        Ok(Some((change, saved.message(function, kind))))
    }
}
