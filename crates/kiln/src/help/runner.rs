//! The flags of `kiln serve` in its help and for completion. The function runner parses them itself, in Go's syntax.

use clap::{Arg, ArgAction, Command};
use function_runner::{Flavour, RunnerFlags};
use kiln_go::FlagHelp;

/// Adds the flags. Global options stand before the verb only, so its help does not show them.
pub(crate) fn with_runner_flags(serve: Command) -> Command {
    let flags = RunnerFlags::new(Flavour::Serve).help().into_iter();
    let help = Arg::new("help").short('h').long("help");
    serve
        .override_usage("kiln serve [OPTIONS]")
        .mut_arg("flags", |flags| flags.hide(true))
        .args(flags.map(argument))
        .arg(help.action(ArgAction::SetTrue).help("Print help"))
}

fn argument(flag: FlagHelp) -> Arg {
    let help = match flag.default {
        Some(default) => format!("{} [default: {default}]", flag.description),
        None => flag.description,
    };
    let argument = Arg::new(flag.name).long(flag.name).help(help);
    match flag.value_name {
        "" => argument.action(ArgAction::SetTrue),
        value_name => argument.value_name(value_name),
    }
}
