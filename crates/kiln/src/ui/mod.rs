//! Output: data to standard output, messages to standard error, as text or as JSON.

mod printable;
mod record;
mod screen;

use std::borrow::Cow;
use std::io::{self, IsTerminal, Read, Write};

use anyhow::{Context, Result};

use crate::color::ColorWhen;
use crate::compat::Compat;
use crate::environment::{CI, TERM};
use crate::error::CommandError;
use crate::log_format::LogFormat;

use printable::{without_controls, without_workflow_commands};

pub(crate) use record::{Item, Level, Record};
pub(crate) use screen::{Progress, Screen, Work};

/// The standard streams of a command.
#[derive(Clone)]
pub(crate) struct Ui {
    compat: Compat,
    format: LogFormat,
    color: ColorWhen,
    screen: Screen,
}

impl Ui {
    pub(crate) fn new(compat: Compat, format: LogFormat, color: ColorWhen) -> Ui {
        let is_dumb = std::env::var_os(TERM).is_some_and(|term| term == "dumb");
        // Systems for continuous integration record what they show on a terminal.
        let is_ci = std::env::var_os(CI).is_some_and(|value| !value.is_empty() && value != "false");
        let has_progress =
            compat == Compat::Kiln && format == LogFormat::Text && !is_dumb && !is_ci;
        Ui {
            compat,
            format,
            color,
            screen: Screen::new(has_progress),
        }
    }

    /// The same without a progress line.
    pub(crate) fn without_progress(&self) -> Ui {
        Ui {
            screen: Screen::new(false),
            ..self.clone()
        }
    }

    pub(crate) fn compat(&self) -> Compat {
        self.compat
    }

    pub(crate) fn log_format(&self) -> LogFormat {
        self.format
    }

    /// Whether to colour what is written to standard output.
    pub(crate) fn colours_data(&self) -> bool {
        self.color.is_on(io::stdout().is_terminal())
    }

    /// Writes to standard output.
    pub(crate) fn write_data(&self, data: &[u8]) -> Result<()> {
        self.screen.clear();
        let mut out = io::stdout().lock();
        out.write_all(data)?;
        Ok(out.flush()?)
    }

    /// Reads all of standard input.
    pub(crate) fn read_data(&self) -> Result<Vec<u8>> {
        let mut data = Vec::new();
        let read = io::stdin().lock().read_to_end(&mut data);
        read.context("cannot read standard input")?;
        Ok(data)
    }

    /// Prints a message on its own lines.
    pub(crate) fn print_message(&self, message: &str) {
        self.log(
            &Record {
                event: "message",
                message: Some(message.trim()),
                ..Record::default()
            },
            message,
        );
    }

    /// Prints a warning with kpt's prefix.
    pub(crate) fn warn(&self, message: &str) {
        self.log(
            &Record {
                level: Level::Warning,
                event: "warning",
                message: Some(message),
                ..Record::default()
            },
            &format!("[WARN] {message}"),
        );
    }

    /// Prints `text`, or `record` in the JSON format, on its own lines.
    pub(crate) fn log(&self, record: &Record<'_>, text: &str) {
        let line = match self.format {
            LogFormat::Text | LogFormat::Github => {
                let text = self.printable(text.strip_suffix('\n').unwrap_or(text));
                format!("{text}\n")
            }
            LogFormat::Json => format!("{}\n", record.to_line()),
        };
        self.screen.write(line.as_bytes());
    }

    /// The text as it may be printed. kpt prints everything as it is.
    fn printable<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let text = match self.compat {
            Compat::Kiln => without_controls(text),
            Compat::Kpt | Compat::KptV039 => Cow::Borrowed(text),
        };
        match self.format {
            LogFormat::Github => Cow::Owned(without_workflow_commands(&text).into_owned()),
            LogFormat::Text | LogFormat::Json => text,
        }
    }

    /// Prints lines for a program that reads the log, as they are.
    pub(crate) fn print_lines(&self, lines: &str) {
        self.screen.write(lines.as_bytes());
    }

    /// Prints an error, unless the log has everything about it.
    pub(crate) fn print_error(&self, error: &CommandError) {
        if let Some(text) = error.text() {
            self.log(&error.record(), &text);
        }
    }

    /// Prints output that a function wrote to standard error: as text unchanged, otherwise line by line. `rest` keeps an
    /// incomplete line.
    pub(crate) fn forward_stderr(&self, function: &str, output: &[u8], rest: &mut Vec<u8>) {
        if self.format == LogFormat::Text {
            self.screen.write(output);
            return;
        }
        rest.extend_from_slice(output);
        let whole = rest.iter().rposition(|byte| *byte == b'\n');
        let Some(whole) = whole else {
            return;
        };
        let after = rest.split_off(whole + 1);
        let lines = std::mem::replace(rest, after);
        self.forward_lines(function, &lines);
    }

    /// Prints all that a function wrote to standard error.
    pub(crate) fn print_stderr(&self, function: &str, output: &[u8]) {
        let mut rest = Vec::new();
        self.forward_stderr(function, output, &mut rest);
        self.forward_rest(function, &rest);
    }

    /// Prints the incomplete line that is left when a function ends.
    pub(crate) fn forward_rest(&self, function: &str, rest: &[u8]) {
        if !rest.is_empty() {
            self.forward_lines(function, rest);
        }
    }

    fn forward_lines(&self, function: &str, lines: &[u8]) {
        for line in String::from_utf8_lossy(lines).lines() {
            let record = Record {
                event: "stderr",
                function: Some(function),
                message: Some(line),
                ..Record::default()
            };
            self.log(&record, line);
        }
    }

    /// Shows on a terminal what takes time, until the returned value is dropped.
    pub(crate) fn progress(&self, work: Work) -> Option<Progress> {
        self.screen.progress(work)
    }

    /// The terminal, for work that reports its progress itself.
    pub(crate) fn screen(&self) -> &Screen {
        &self.screen
    }
}
