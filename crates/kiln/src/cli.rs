//! The command line that clap parses: one grammar for kiln and today's kpt, one for kpt v0.39.

use std::ffi::OsString;

use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::commands::completion::CompletionArgs;
use crate::commands::fn_::{FnArgs, LegacyFnArgs};
use crate::commands::function::FunctionArgs;
use crate::commands::repo::RepoArgs;
use crate::commands::rpkg::RpkgArgs;
use crate::commands::serve::ServeArgs;
use crate::compat::Compat;
use crate::flag_values::go_bool;

/// Run KRM functions on packages of Kubernetes resources
#[derive(Parser, Debug)]
#[command(
    name = "kiln",
    version,
    args_override_self = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run functions on the resources of packages
    #[command(name = "fn", alias = "functions")]
    Fn(FnArgs),
    /// Work with package revisions in git
    #[command(visible_alias = "rpackage")]
    Rpkg(RpkgArgs),
    /// Register repositories of package revisions
    #[command(visible_alias = "repository")]
    Repo(RepoArgs),
    /// Run the built-in functions as programs, for use from any tool
    Function(FunctionArgs),
    /// Serve functions over gRPC: the function runner with defaults for a local machine
    #[command(disable_help_flag = true)]
    Serve(ServeArgs),
    /// Print a shell completion script
    Completion(CompletionArgs),
}

/// Run KRM functions on packages of Kubernetes resources, as kpt v0.39 did
#[derive(Parser, Debug)]
#[command(
    name = "kiln",
    version,
    args_override_self = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct LegacyCli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: LegacyCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum LegacyCommand {
    /// Run functions on the resources of packages
    #[command(name = "fn", alias = "functions")]
    Fn(LegacyFnArgs),
    /// Print a shell completion script
    Completion(CompletionArgs),
}

#[derive(Args, Debug)]
pub(crate) struct GlobalArgs {
    /// Compatibility mode; defaults to kpt when invoked as kpt [env: KILN_COMPAT]
    #[arg(long, global = true, value_enum, value_name = "MODE")]
    pub(crate) compat: Option<Compat>,
    /// Ignored; accepted because kpt has it
    #[arg(long, global = true, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    pub(crate) truncate_output: Option<bool>,
    /// Ignored; accepted because kpt has it
    #[arg(long, global = true, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    pub(crate) stack_trace: Option<bool>,
}

/// A command line in either grammar.
#[derive(Debug)]
pub(crate) enum Parsed {
    Current(Command),
    Legacy(LegacyCommand),
}

/// Parses the command line with the grammar of `compat`.
pub(crate) fn parse(args: &[OsString], compat: Compat) -> Result<Parsed, clap::Error> {
    match compat {
        Compat::Kiln | Compat::Kpt => {
            let args = args.iter().cloned().map(dashes_for_underscores);
            Cli::try_parse_from(args).map(|cli| Parsed::Current(cli.command))
        }
        Compat::KptV039 => LegacyCli::try_parse_from(args).map(|cli| Parsed::Legacy(cli.command)),
    }
}

/// The grammar of `compat`, for help and completion.
pub(crate) fn grammar(compat: Compat) -> clap::Command {
    match compat {
        Compat::Kiln | Compat::Kpt => Cli::command(),
        Compat::KptV039 => LegacyCli::command(),
    }
}

/// Flag names may be written with `_` for `-`, as in kubectl.
fn dashes_for_underscores(arg: OsString) -> OsString {
    let Some(flag) = arg.to_str().and_then(|text| text.strip_prefix("--")) else {
        return arg;
    };
    let (name, value) = match flag.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (flag, None),
    };
    if !name.contains('_') {
        return arg;
    }
    let name = name.replace('_', "-");
    match value {
        Some(value) => format!("--{name}={value}").into(),
        None => format!("--{name}").into(),
    }
}
