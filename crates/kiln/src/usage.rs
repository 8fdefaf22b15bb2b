//! What kpt says about a command line it does not understand.

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// clap's complaint in kpt's words; none for what is no complaint, such as help.
pub(crate) fn in_kpt_words(error: &Error) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let argument = text(ContextKind::InvalidArg);
    match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => None,
        ErrorKind::UnknownArgument => Some(unknown_flag(argument.unwrap_or_default())),
        ErrorKind::InvalidSubcommand => {
            let name = text(ContextKind::InvalidSubcommand).unwrap_or_default();
            Some(format!("unknown command {name:?} for \"kpt\""))
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let flag = argument.unwrap_or_default();
            // clap names the value too: `--output <FORMAT>`, `--stack-trace[=<STACK_TRACE>]`.
            let flag = flag.split([' ', '[', '=']).next().unwrap_or_default();
            match text(ContextKind::InvalidValue) {
                None | Some("") => Some(format!("flag needs an argument: {flag}")),
                Some(value) => {
                    let reason = std::error::Error::source(error).map(ToString::to_string);
                    let reason = reason.unwrap_or_else(|| "invalid value".to_owned());
                    Some(format!(
                        "invalid argument {value:?} for {flag:?} flag: {reason}"
                    ))
                }
            }
        }
        _ => Some(error.to_string()),
    }
}

fn unknown_flag(argument: &str) -> String {
    match argument.strip_prefix("--") {
        Some(_) => {
            let name = argument.split('=').next().unwrap_or_default();
            format!("unknown flag: {name}")
        }
        None => {
            let letter = argument.chars().nth(1).unwrap_or('-');
            format!("unknown shorthand flag: '{letter}' in {argument}")
        }
    }
}
