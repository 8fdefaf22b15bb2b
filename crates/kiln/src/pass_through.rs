//! Called as kpt, commands that kiln does not have are run by the real kpt.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use crate::cli;
use crate::compat::Compat;
use crate::environment::KILN_KPT;
use crate::error::CommandError;
use crate::kpt_flags::takes_next;
use crate::real_program;

/// The command of a command line that only the real kpt has, as `live apply`; `None` if kiln has it.
pub(crate) fn foreign_command(args: &[OsString], compat: Compat) -> Option<String> {
    let program = Path::new(args.first()?).file_name();
    if compat != Compat::Kpt || program != Some(OsStr::new("kpt")) {
        return None;
    }
    let words = words(args.get(1..).unwrap_or_default());
    let words = match &words[..] {
        // Help about a command, of those that both have.
        ["help", rest @ ..] if matches!(rest.first(), Some(&("live" | "alpha"))) => rest,
        words => words,
    };
    let grammar = cli::documented_grammar(compat);
    let command = grammar.find_subcommand(words.first()?);
    match (words.first()?, command) {
        (&"help", _) => None,
        (first, None) => {
            let second = words.get(1).filter(|_| *first == "alpha");
            let whole = [Some(*first), second.copied()].into_iter().flatten();
            Some(whole.collect::<Vec<_>>().join(" "))
        }
        (first, Some(command)) => {
            let Some(second) = words.get(1) else {
                return (*first == "alpha").then(|| "alpha".to_owned());
            };
            let is_unknown = command.has_subcommands() && command.find_subcommand(second).is_none();
            // Misspelt verbs of the others are errors.
            let is_shared = matches!(*first, "live" | "alpha");
            (is_unknown && is_shared).then(|| format!("{first} {second}"))
        }
    }
}

/// The first three words of the command line, without flags and the values of those that kpt has before a command.
fn words(args: &[OsString]) -> Vec<&str> {
    let mut texts = args.iter().map_while(|arg| arg.to_str());
    let mut words = Vec::new();
    while let (Some(arg), true) = (texts.next(), words.len() < 3) {
        if takes_next(arg) {
            texts.next();
        } else if !arg.starts_with('-') {
            words.push(arg);
        }
    }
    words
}

/// Replaces this process by the real kpt with the same arguments.
pub(crate) fn run_kpt(command: &str, args: &[OsString]) -> Result<ExitCode> {
    let Some(kpt) = real_program::find("kpt", KILN_KPT) else {
        return Err(CommandError::new(format!(
            "error: kiln does not have `kpt {command}`, and no other kpt is on the PATH; install kpt, or set {KILN_KPT} to its path"
        ))
        .into());
    };
    let error = real_program::replace_process(&kpt, args.get(1..).unwrap_or_default());
    let error = anyhow::Error::from(error).context(format!("cannot run {}", kpt.display()));
    let is_named = std::env::var_os(KILN_KPT).is_some_and(|named| named == kpt.as_os_str());
    Err(match is_named {
        true => {
            let hint = format!("set {KILN_KPT} to the path of kpt, or unset it");
            CommandError::with_hint(error, hint).into()
        }
        false => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<&str>) {
        let args: Vec<OsString> = line.split(' ').map(Into::into).collect();
        let found = foreign_command(&args, Compat::Kpt);
        assert_eq!(found.as_deref(), expected, "{line}");
    }

    #[test]
    fn only_commands_that_kiln_lacks_are_foreign() {
        check("kpt live apply x", Some("live apply"));
        check("/usr/bin/kpt live status", Some("live status"));
        check("kpt alpha rpkg get", Some("alpha rpkg"));
        check("kpt alpha", Some("alpha"));
        check("kpt --stack-trace live destroy", Some("live destroy"));
        // Values of flags are no commands.
        check("kpt --kubeconfig k live destroy", Some("live destroy"));
        check("kpt help live apply", Some("live apply"));
        check("kpt live -n shop --context c apply x", Some("live apply"));
        check("kpt --log_file=f live status", Some("live status"));
        for own in [
            "kpt",
            "kpt live init x",
            "kpt live",
            "kpt live --help",
            "kpt fn render",
            "kpt --kubeconfig k fn render p",
            "kpt -v 4 pkg tree",
            "kpt -v4 pkg tree",
            "kpt --log_file f pkg tree",
            "kpt live --context c init p",
            "kpt fn rendre",
            "kpt pkg get x",
            "kpt package tree",
            "kpt version",
            "kpt help",
            "kpt help live",
            "kpt help live init",
            "kpt help pkg zzz",
            "kpt --help",
            "kpt completion bash",
            "kiln live apply x",
            "kiln zzz",
        ] {
            check(own, None);
        }
    }
}
