//! Invalid command lines: kpt's messages, and names of other tools for commands of kiln.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use kiln_krm::similar_name;

use crate::cli;
use crate::compat::Compat;
use crate::environment::KILN_KPT;

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
            let group = args.windows(2).find(|pair| pair[1] == name);
            let group = group.and_then(|pair| pair[0].to_str());
            Some(match (other_name(name, args), group) {
                (Some(meant), _) => format!("{message}\n\nDid you mean this?\n\t{meant}\n"),
                // Only a program called kpt passes these on.
                (None, Some(group @ ("live" | "alpha"))) => {
                    format!("{message}\nhint: {}", needs_kpt(group, name))
                }
                (None, _) => message,
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

/// Adds the verbs that the user may have meant, or how to run kpt's in place of clap's suggestions.
pub(crate) fn suggest_verb(error: &mut Error, args: &[OsString]) {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else {
        return;
    };
    let (name, grammar) = (name.clone(), cli::documented_grammar(Compat::Kiln));
    let group = VerbGroup::of(&grammar, &name, args);
    let meant = match other_name(&name, args) {
        Some(meant) => vec![meant.to_owned()],
        None => group.similar(&name),
    };
    let advice = group.advice(&name).filter(|_| meant.is_empty());
    match meant.is_empty() {
        true => error.remove(ContextKind::SuggestedSubcommand),
        false => error.insert(
            ContextKind::SuggestedSubcommand,
            ContextValue::Strings(meant),
        ),
    };
    if let Some(advice) = advice {
        let advice = ContextValue::StyledStrs(vec![advice.into()]);
        error.insert(ContextKind::Suggested, advice);
    }
}

/// The command whose verb the command line gets wrong.
struct VerbGroup<'a> {
    /// Without the program: `pkg`, `alpha wasm`.
    path: Vec<&'a str>,
    command: &'a Command,
}

impl<'a> VerbGroup<'a> {
    fn of(grammar: &'a Command, name: &str, args: &[OsString]) -> VerbGroup<'a> {
        let mut group = VerbGroup {
            path: Vec::new(),
            command: grammar,
        };
        let words = args.iter().skip(1).filter_map(|arg| arg.to_str());
        // Flags and their values are not commands.
        for word in words.take_while(|word| *word != name) {
            if let Some(command) = group.command.find_subcommand(word) {
                group.path.push(command.get_name());
                group.command = command;
            }
        }
        group
    }

    /// The verbs with a similar name. Users who forget the group get the verbs of all groups.
    fn similar(&self, name: &str) -> Vec<String> {
        let exact = match self.path.is_empty() {
            true => self.in_groups(|verbs| verbs.iter().find(|verb| **verb == name).copied()),
            false => Vec::new(),
        };
        if !exact.is_empty() {
            return exact;
        }
        let own = similar_name(name, verbs(self.command));
        match (own, self.path.is_empty()) {
            (Some(own), _) => vec![own.to_owned()],
            (None, true) => self.in_groups(|verbs| similar_name(name, verbs.iter().copied())),
            (None, false) => Vec::new(),
        }
    }

    /// One verb of each group, with the name of the group.
    fn in_groups(&self, choose: impl Fn(&[&'a str]) -> Option<&'a str>) -> Vec<String> {
        let groups = shown(self.command).filter_map(|group| {
            let verbs: Vec<&str> = verbs(group).collect();
            Some(format!("{} {}", group.get_name(), choose(&verbs)?))
        });
        groups.collect()
    }

    /// How to run a command that kpt has below the group.
    fn advice(&self, name: &str) -> Option<String> {
        match (&self.path[..], name) {
            (["alpha"], "rpkg" | "repo") => Some(format!("`kiln {name}` has these commands")),
            (["live" | "alpha"], _) => Some(needs_kpt(self.path[0], name)),
            _ => None,
        }
    }
}

fn needs_kpt(group: &str, name: &str) -> String {
    format!(
        "kiln does not have `{group} {name}`: run `kpt {group} {name}`; if kpt is a link to kiln, the next kpt on the PATH runs, or the one that {KILN_KPT} names"
    )
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    let commands = command.get_subcommands();
    commands.filter(|command| !command.is_hide_set() && command.get_name() != "help")
}

/// The names of commands with the other names that help shows.
fn verbs(command: &Command) -> impl Iterator<Item = &str> {
    shown(command).flat_map(|command| {
        std::iter::once(command.get_name()).chain(command.get_visible_aliases())
    })
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
