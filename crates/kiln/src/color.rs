//! When output is coloured: `--color`, else NO_COLOR, else whether the stream is a terminal.

use std::ffi::OsString;

use clap::ValueEnum;

use crate::compat::flag_value;
use crate::environment::NO_COLOR;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    Always,
    Never,
}

impl ColorWhen {
    /// The value on the command line. Like the compatibility mode it is read before the command line is parsed, because errors
    /// of the parser are coloured too. The parser refuses an invalid value.
    pub(crate) fn choose(args: &[OsString]) -> ColorWhen {
        flag_value(args.get(1..).unwrap_or_default(), "--color")
            .and_then(|value| ColorWhen::from_str(value.to_str()?, false).ok())
            .unwrap_or_default()
    }

    /// Whether to colour what is written to a stream.
    pub(crate) fn is_on(self, is_terminal: bool) -> bool {
        match self {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => {
                let no_color = std::env::var_os(NO_COLOR);
                is_terminal && no_color.is_none_or(|value| value.is_empty())
            }
        }
    }

    /// The same for help and errors of the parser, which read NO_COLOR themselves.
    pub(crate) fn of_parser(self) -> clap::ColorChoice {
        match self {
            ColorWhen::Auto => clap::ColorChoice::Auto,
            ColorWhen::Always => clap::ColorChoice::Always,
            ColorWhen::Never => clap::ColorChoice::Never,
        }
    }
}
