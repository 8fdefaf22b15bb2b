//! The two ways out: data to standard output, talk to standard error.

use std::io::{self, Read, Write};

use anyhow::{Context, Result};

use crate::compat::Compat;

/// How a command speaks to its user.
pub(crate) struct Ui {
    compat: Compat,
}

impl Ui {
    pub(crate) fn new(compat: Compat) -> Ui {
        Ui { compat }
    }

    /// Whose behaviour the user wants.
    pub(crate) fn compat(&self) -> Compat {
        self.compat
    }

    /// Writes data for the next program.
    pub(crate) fn write_data(&self, data: &[u8]) -> Result<()> {
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

    /// Tells the user something, on lines of its own. That nobody listens is no reason to stop.
    pub(crate) fn say(&self, message: &str) {
        let message = message.strip_suffix('\n').unwrap_or(message);
        let _ = writeln!(io::stderr().lock(), "{message}");
    }

    /// Passes on what a function said, as it said it.
    pub(crate) fn pass_on(&self, said: &[u8]) {
        let _ = io::stderr().lock().write_all(said);
    }
}

/// The end of a command that has told all there is to tell, or is told in these very words.
#[derive(Debug)]
pub(crate) struct Failed(pub(crate) Option<String>);

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.as_deref().unwrap_or("failed"))
    }
}

impl std::error::Error for Failed {}

/// Whether an error only says that the reader of our output has gone.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}
