//! The format of messages on standard error.

use std::ffi::OsString;

use clap::ValueEnum;

use crate::compat::flag_value;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum LogFormat {
    /// Human-readable text
    #[default]
    Text,
    /// One JSON object per line
    Json,
    /// Text, and errors and warnings as workflow commands of GitHub
    Github,
}

impl LogFormat {
    /// The format on the command line. Like the compatibility mode it is read before the command line is parsed, because errors
    /// of the parser are printed in it. An invalid value is ignored here; the parser refuses it.
    pub(crate) fn choose(args: &[OsString]) -> LogFormat {
        flag_value(args.get(1..).unwrap_or_default(), "--log-format")
            .and_then(|value| LogFormat::from_str(value.to_str()?, false).ok())
            .unwrap_or_default()
    }
}
