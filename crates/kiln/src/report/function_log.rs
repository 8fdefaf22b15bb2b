//! The log of functions on standard error, as text in kpt's words or as JSON.

use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kiln_go::{GoDuration, quote};
use kiln_krm::results::{FunctionResult, ResultItem, Severity};
use kiln_render::{Event, Log, StepNumber};

use super::result_position::ReportedFiles;
use crate::compat::Compat;
use crate::ui::{Item, Level, Progress, Record, Ui, Work};

/// No more results of a function than this are located.
const MAX_LOCATED: usize = 100;

pub(crate) struct FunctionLog<'a> {
    ui: &'a Ui,
    is_quiet: bool,
    /// The files in which results are located.
    files: Option<ReportedFiles<'a>>,
    running: Mutex<Vec<RunningFunction>>,
}

/// A function whose start was logged.
struct RunningFunction {
    function: String,
    package: Option<String>,
    /// Dropped when the function ends.
    _progress: Option<Progress>,
}

impl<'a> FunctionLog<'a> {
    pub(crate) fn new(ui: &'a Ui) -> FunctionLog<'a> {
        FunctionLog {
            ui,
            is_quiet: false,
            files: None,
            running: Mutex::default(),
        }
    }

    /// With `is_quiet`, logs only failures and warnings.
    pub(crate) fn quiet(self, is_quiet: bool) -> FunctionLog<'a> {
        FunctionLog { is_quiet, ..self }
    }

    /// Prints the positions of what functions report about resources. kpt does not.
    pub(crate) fn with_files(self, files: ReportedFiles<'a>) -> FunctionLog<'a> {
        let is_own = self.ui.compat() == Compat::Kiln;
        FunctionLog {
            files: Some(files).filter(|_| is_own),
            ..self
        }
    }

    /// The positions of the results of a function, in their order.
    fn positions(&self, event: &Event) -> Vec<Option<String>> {
        let (Event::Passed {
            result, directory, ..
        }
        | Event::Failed {
            result, directory, ..
        }) = event
        else {
            return Vec::new();
        };
        let items = result.results.iter().take(MAX_LOCATED);
        let position = |item: &ResultItem| {
            let files = self.files.as_ref().filter(|_| is_problem(item));
            files?.position(directory, item)
        };
        items.map(position).collect()
    }

    fn running(&self) -> MutexGuard<'_, Vec<RunningFunction>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, function: &str, package: Option<&str>, step: Option<StepNumber>) {
        let progress = match self.is_quiet {
            true => None,
            false => self.ui.progress(Work::Function {
                name: function.to_owned(),
                step,
            }),
        };
        self.running().push(RunningFunction {
            function: function.to_owned(),
            package: package.map(str::to_owned),
            _progress: progress,
        });
    }

    /// The package that a function ran on.
    fn end(&self, function: &str) -> Option<String> {
        let mut running = self.running();
        let index = running.iter().position(|one| one.function == function)?;
        running.remove(index).package
    }
}

impl Log for FunctionLog<'_> {
    fn event(&self, event: Event) {
        let ended_on = match &event {
            Event::Passed { function, .. } | Event::Failed { function, .. } => self.end(function),
            _ => None,
        };
        let positions = self.positions(&event);
        let style = ResultStyle {
            positions: &positions,
            is_own: self.ui.compat() == Compat::Kiln,
        };
        if let Some(text) = message(&event, self.is_quiet, style) {
            let mut record = record(&event, ended_on.as_deref());
            for (item, position) in record.results.iter_mut().zip(&positions) {
                item.position = position.as_deref();
            }
            self.ui.log(&record, &text);
        }
        if let Event::Running {
            function,
            package,
            step,
            ..
        } = &event
        {
            self.begin(function, package.as_deref(), *step);
        }
    }
}

/// The record of an event. `ended_on` is the package of the function that ended.
fn record<'a>(event: &'a Event, ended_on: Option<&'a str>) -> Record<'a> {
    let ended = |name, function, elapsed: &std::time::Duration, result: &'a FunctionResult| {
        let given = |text: &'a str| Some(text).filter(|text| !text.is_empty());
        Record {
            event: name,
            package: ended_on,
            function: Some(function),
            image: given(&result.image),
            exec: given(&result.exec),
            identity: given(&result.identity),
            duration_ms: u64::try_from(elapsed.as_millis()).ok(),
            exit_code: Some(result.exit_code),
            stderr: given(&result.stderr),
            results: result.results.iter().map(Item::from).collect(),
            ..Record::default()
        }
    };
    match event {
        Event::Warning(text) => Record {
            level: Level::Warning,
            event: "warning",
            message: Some(text),
            ..Record::default()
        },
        Event::Package { name } => Record {
            event: "package",
            package: Some(name),
            ..Record::default()
        },
        Event::PackageDone => Record {
            event: "package-done",
            ..Record::default()
        },
        Event::Running {
            function,
            resources,
            package,
            ..
        } => Record {
            event: "running",
            package: package.as_deref(),
            function: Some(function),
            resources: *resources,
            ..Record::default()
        },
        Event::Passed {
            function,
            elapsed,
            result,
            ..
        } => ended("passed", function, elapsed, result),
        Event::Failed {
            function,
            elapsed,
            result,
            ..
        } => Record {
            level: Level::Error,
            ..ended("failed", function, elapsed, result)
        },
    }
}

/// What is printed about results besides kpt's text.
#[derive(Clone, Copy)]
struct ResultStyle<'a> {
    positions: &'a [Option<String>],
    /// Whether more is printed than kpt prints.
    is_own: bool,
}

fn message(event: &Event, is_quiet: bool, style: ResultStyle<'_>) -> Option<String> {
    match event {
        Event::Warning(text) => Some(format!("[WARN] {text}")),
        Event::Failed {
            function,
            elapsed,
            result,
            by_exit_code,
            ..
        } => {
            let mut text = format!(
                "[FAIL] {} in {}",
                quote(function),
                GoDuration::from_whole_millis(*elapsed)
            );
            add_results(&mut text, result, style);
            if *by_exit_code {
                add_block(&mut text, "Stderr", result.stderr.split('\n'));
                let _ = write!(text, "\n  Exit code: {}", result.exit_code);
            } else if style.is_own {
                // What a function that hung printed last shows what it waited for.
                add_block(&mut text, "Stderr", result.stderr.split('\n'));
            }
            Some(text)
        }
        _ if is_quiet => None,
        Event::Package { name } => Some(format!("Package {}:", quote(name))),
        Event::PackageDone => Some(String::new()),
        Event::Running {
            function,
            resources,
            package,
            is_module,
            step: _,
        } => {
            let kind = if *is_module { "WASM " } else { "" };
            let mut text = format!("[RUNNING] {kind}{}", quote(function));
            if let Some(count) = resources {
                let _ = write!(text, " on {count} resource(s)");
            }
            if let Some(package) = package {
                let _ = write!(text, " on package {}", quote(package));
            }
            Some(text)
        }
        Event::Passed {
            function,
            elapsed,
            result,
            ..
        } => {
            let mut text = format!(
                "[PASS] {} in {}",
                quote(function),
                GoDuration::from_whole_millis(*elapsed)
            );
            add_results(&mut text, result, style);
            add_block(&mut text, "Stderr", result.stderr.split('\n'));
            Some(text)
        }
    }
}

/// Whether the user has to do something about an item.
fn is_problem(item: &ResultItem) -> bool {
    matches!(
        item.known_severity(),
        Some(Severity::Error | Severity::Warning)
    )
}

fn add_results(text: &mut String, result: &FunctionResult, style: ResultStyle<'_>) {
    let mut positions = style.positions.iter();
    let items = result.results.iter().map(|item| {
        let position = positions.next().cloned().flatten();
        let proposed = item
            .field
            .as_ref()
            .map(|field| field.proposed_value.as_str());
        let is_shown = style.is_own && is_problem(item);
        let proposed = proposed.filter(|value| is_shown && !value.is_empty());
        let proposed = proposed.map(|value| format!("proposed value {}", quote(value)));
        let more: Vec<String> = [position, proposed].into_iter().flatten().collect();
        match more.is_empty() {
            true => item.to_string(),
            false => format!("{item} ({})", more.join(", ")),
        }
    });
    let items: Vec<String> = items.collect();
    if !items.is_empty() {
        add_block(text, "[Results]", items.iter().map(String::as_str));
    }
}

/// Adds a title and the lines; nothing if there is only one empty line.
fn add_block<'a>(text: &mut String, title: &str, lines: impl Iterator<Item = &'a str>) {
    let lines: Vec<String> = lines.map(|line| line.replace('\n', " ")).collect();
    if matches!(&lines[..], [only] if only.is_empty()) {
        return;
    }
    let _ = write!(text, "\n  {title}:");
    for line in lines {
        let _ = write!(text, "\n    {}", line.trim());
    }
}
