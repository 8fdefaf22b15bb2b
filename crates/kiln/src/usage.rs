//! Invalid command lines: kpt's messages, and names of other tools for commands of kiln.

use std::ffi::OsString;

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The error of clap about `args` in kpt's words; `None` for help, which is not an error.
pub(crate) fn in_kpt_words(error: &Error, args: &[OsString]) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let argument = text(ContextKind::InvalidArg);
    match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => None,
        ErrorKind::UnknownArgument => Some(unknown_flag(argument.unwrap_or_default(), args)),
        ErrorKind::InvalidSubcommand => {
            let name = text(ContextKind::InvalidSubcommand).unwrap_or_default();
            let message = format!("unknown command {name:?} for \"kpt\"");
            Some(match other_name(name, args) {
                Some(meant) => format!("{message}\n\nDid you mean this?\n\t{meant}\n"),
                None => message,
            })
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let flag = argument.unwrap_or_default();
            // clap adds the name of the value: `--output <FORMAT>`, `--stack-trace[=<STACK_TRACE>]`.
            let flag = flag.split([' ', '[', '=']).next().unwrap_or_default();
            match text(ContextKind::InvalidValue) {
                None | Some("") => {
                    Some(format!("flag needs an argument: {}", last_flag(flag, args)))
                }
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

/// The names by which users of other tools look for verbs of `pkg`. kpt suggests the same.
const OTHER_NAMES: [(&str, &str); 5] = [
    ("clone", "get"),
    ("cp", "get"),
    ("fetch", "get"),
    ("rebase", "update"),
    ("replace", "update"),
];

/// The verb of `pkg` that has another name in other tools.
fn other_name(name: &str, args: &[OsString]) -> Option<&'static str> {
    let is_pkg = args
        .windows(2)
        .any(|pair| (pair[0] == "pkg" || pair[0] == "package") && pair[1] == name);
    let (_, meant) = OTHER_NAMES.iter().find(|(other, _)| *other == name)?;
    is_pkg.then_some(*meant)
}

/// Adds the verb that the user may have meant.
pub(crate) fn suggest_verb(error: &mut Error, args: &[OsString]) {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else {
        return;
    };
    if let Some(meant) = other_name(name, args) {
        let meant = ContextValue::Strings(vec![meant.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, meant);
    }
}

fn unknown_flag(argument: &str, args: &[OsString]) -> String {
    match argument.strip_prefix("--") {
        Some(_) => {
            let name = argument.split('=').next().unwrap_or_default();
            format!("unknown flag: {name}")
        }
        None => {
            let letter = argument.chars().nth(1).unwrap_or('-');
            // clap reports only the letter, kpt the whole argument.
            let written = args.iter().filter_map(|arg| arg.to_str());
            let written = written
                .filter(|arg| arg.starts_with('-') && !arg.starts_with("--"))
                .find(|arg| arg.contains(letter))
                .unwrap_or(argument);
            format!("unknown shorthand flag: '{letter}' in {written}")
        }
    }
}

/// The last flag of the command line as kpt names it: a short one by its letter and the argument.
fn last_flag(name: &str, args: &[OsString]) -> String {
    let last = args.last().and_then(|arg| arg.to_str()).unwrap_or_default();
    match last.chars().next_back() {
        Some(letter) if last.starts_with('-') && !last.starts_with("--") => {
            format!("'{letter}' in {last}")
        }
        _ => name.to_owned(),
    }
}
