//! In which form kiln talks on standard error: for people or for programs.

use std::ffi::OsString;

use clap::ValueEnum;

use crate::compat::flag_value;

/// The form of what is told on standard error.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

impl LogFormat {
    /// What the command line asks for. Like the compatibility it is known before the command line is parsed, because
    /// complaints about that are told in it; what it cannot be is left to the parser to refuse.
    pub(crate) fn choose(args: &[OsString]) -> LogFormat {
        flag_value(args.get(1..).unwrap_or_default(), "--log-format")
            .and_then(|value| LogFormat::from_str(value.to_str()?, false).ok())
            .unwrap_or_default()
    }
}
