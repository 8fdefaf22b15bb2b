//! What happens while functions run, as lines on standard error.

use std::fmt::Write;

use kiln_krm::gotext::quote;
use kiln_krm::results::FunctionResult;
use kiln_render::{Event, Log};
use kiln_runtime::go_duration;

use crate::ui::Ui;

/// Tells the user in kpt's words.
pub(super) struct Terminal<'a> {
    ui: &'a Ui,
    is_quiet: bool,
}

impl<'a> Terminal<'a> {
    pub(super) fn new(ui: &'a Ui) -> Terminal<'a> {
        Terminal {
            ui,
            is_quiet: false,
        }
    }

    /// With `is_quiet`, tells only what went wrong.
    pub(super) fn quiet(self, is_quiet: bool) -> Terminal<'a> {
        Terminal { is_quiet, ..self }
    }
}

impl Log for Terminal<'_> {
    fn event(&self, event: &Event<'_>) {
        if let Some(text) = told(event, self.is_quiet) {
            self.ui.say(&text);
        }
    }
}

fn told(event: &Event<'_>, is_quiet: bool) -> Option<String> {
    match event {
        Event::Warning(text) => Some(format!("[WARN] {text}")),
        Event::Failed {
            function,
            elapsed,
            result,
            by_exit_code,
        } => {
            let mut text = format!("[FAIL] {} in {}", quote(function), go_duration(*elapsed));
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
            let mut text = format!("[PASS] {} in {}", quote(function), go_duration(*elapsed));
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

/// A title and a line for each text; nothing if there is but one empty text.
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
