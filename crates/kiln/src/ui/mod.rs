//! The two ways out: data to standard output, talk to standard error, in lines for people or in JSON for programs.

mod failure;
mod record;
mod screen;

use std::io::{self, Read, Write};

use anyhow::{Context, Result};

use crate::compat::Compat;
use crate::environment::TERM;
use crate::log_format::LogFormat;

pub(crate) use failure::{Details, Failed, Place};
pub(crate) use record::{Item, Level, Record};
pub(crate) use screen::Progress;
use screen::Screen;

/// How a command speaks to its user.
#[derive(Clone)]
pub(crate) struct Ui {
    compat: Compat,
    format: LogFormat,
    screen: Screen,
}

impl Ui {
    pub(crate) fn new(compat: Compat, format: LogFormat) -> Ui {
        let is_dumb = std::env::var_os(TERM).is_some_and(|term| term == "dumb");
        Ui {
            compat,
            format,
            screen: Screen::new(format == LogFormat::Text && !is_dumb),
        }
    }

    /// Whose behaviour the user wants.
    pub(crate) fn compat(&self) -> Compat {
        self.compat
    }

    /// Writes data for the next program.
    pub(crate) fn write_data(&self, data: &[u8]) -> Result<()> {
        self.screen.clear();
        let mut out = io::stdout().lock();
        out.write_all(data)?;
        Ok(out.flush()?)
    }

    /// All of the data from the program before.
    pub(crate) fn read_data(&self) -> Result<Vec<u8>> {
        let mut data = Vec::new();
        let read = io::stdin().lock().read_to_end(&mut data);
        read.context("cannot read standard input")?;
        Ok(data)
    }

    /// Tells the user something, on lines of its own.
    pub(crate) fn say(&self, message: &str) {
        self.tell(
            &Record {
                event: "message",
                message: Some(message.trim()),
                ..Record::default()
            },
            message,
        );
    }

    /// Tells the user of something that may be wrong; kpt's mark is put before it.
    pub(crate) fn warn(&self, message: &str) {
        self.tell(
            &Record {
                level: Level::Warning,
                event: "warning",
                message: Some(message),
                ..Record::default()
            },
            &format!("[WARN] {message}"),
        );
    }

    /// Tells programs `record` and people `text`, on lines of its own.
    pub(crate) fn tell(&self, record: &Record<'_>, text: &str) {
        let line = match self.format {
            LogFormat::Text => {
                let text = text.strip_suffix('\n').unwrap_or(text);
                format!("{text}\n")
            }
            LogFormat::Json => format!("{}\n", record.to_line()),
        };
        self.screen.write(line.as_bytes());
    }

    /// Tells why a command ends, unless that has been told.
    pub(crate) fn fail(&self, failed: &Failed) {
        if let (Some(record), Some(text)) = (failed.record(), failed.text()) {
            self.tell(&record, &text);
        }
    }

    /// The same for any error.
    pub(crate) fn report(&self, error: &anyhow::Error) {
        match error.downcast_ref::<Failed>() {
            Some(failed) => self.fail(failed),
            None => self.fail(&Failed::with(format!("error: {error:#}"))),
        }
    }

    /// Passes on what a function says, as it says it; to programs in whole lines, so it keeps in `rest` what is none yet.
    pub(crate) fn pass_on(&self, function: &str, said: &[u8], rest: &mut Vec<u8>) {
        if self.format == LogFormat::Text {
            self.screen.write(said);
            return;
        }
        rest.extend_from_slice(said);
        let whole = rest.iter().rposition(|byte| *byte == b'\n');
        let Some(whole) = whole else {
            return;
        };
        let after = rest.split_off(whole + 1);
        let lines = std::mem::replace(rest, after);
        self.pass_on_lines(function, &lines);
    }

    /// What is left when a function has ended.
    pub(crate) fn pass_on_rest(&self, function: &str, rest: &[u8]) {
        if !rest.is_empty() {
            self.pass_on_lines(function, rest);
        }
    }

    fn pass_on_lines(&self, function: &str, lines: &[u8]) {
        for line in String::from_utf8_lossy(lines).lines() {
            let record = Record {
                event: "stderr",
                function: Some(function),
                message: Some(line),
                ..Record::default()
            };
            self.tell(&record, line);
        }
    }

    /// Shows on a terminal how long a function has been running, until what it gives back is dropped.
    pub(crate) fn progress(&self, function: &str) -> Option<Progress> {
        self.screen.progress(function)
    }
}

/// Whether an error only says that the reader of our output has gone.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}
