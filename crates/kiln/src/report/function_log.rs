//! The log of functions on standard error, as text in kpt's words or as JSON.

use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kiln_go::{GoDuration, quote};
use kiln_krm::results::FunctionResult;
use kiln_render::{Event, Log};

use crate::ui::{Item, Level, Progress, Record, Ui};

pub(crate) struct FunctionLog<'a> {
    ui: &'a Ui,
    is_quiet: bool,
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
            running: Mutex::default(),
        }
    }

    /// With `is_quiet`, logs only failures and warnings.
    pub(crate) fn quiet(self, is_quiet: bool) -> FunctionLog<'a> {
        FunctionLog { is_quiet, ..self }
    }

    fn running(&self) -> MutexGuard<'_, Vec<RunningFunction>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, function: &str, package: Option<&str>) {
        let progress = match self.is_quiet {
            true => None,
            false => self.ui.progress(function),
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
        if let Some(text) = message(&event, self.is_quiet) {
            self.ui.log(&record(&event, ended_on.as_deref()), &text);
        }
        if let Event::Running {
            function, package, ..
        } = &event
        {
            self.begin(function, package.as_deref());
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

fn message(event: &Event, is_quiet: bool) -> Option<String> {
    match event {
        Event::Warning(text) => Some(format!("[WARN] {text}")),
        Event::Failed {
            function,
            elapsed,
            result,
            by_exit_code,
        } => {
            let mut text = format!(
                "[FAIL] {} in {}",
                quote(function),
                GoDuration::from_whole_millis(*elapsed)
            );
            add_results(&mut text, result);
            if *by_exit_code {
                add_block(&mut text, "Stderr", result.stderr.split('\n'));
                let _ = write!(text, "\n  Exit code: {}", result.exit_code);
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
        } => {
            let mut text = format!("[RUNNING] {}", quote(function));
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
        } => {
            let mut text = format!(
                "[PASS] {} in {}",
                quote(function),
                GoDuration::from_whole_millis(*elapsed)
            );
            add_results(&mut text, result);
            add_block(&mut text, "Stderr", result.stderr.split('\n'));
            Some(text)
        }
    }
}

fn add_results(text: &mut String, result: &FunctionResult) {
    let items: Vec<String> = result.results.iter().map(ToString::to_string).collect();
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
