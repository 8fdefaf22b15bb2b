//! The command line that clap parses: one grammar for kiln and today's kpt, one for kpt v0.39.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Arg, Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::color::ColorWhen;
use crate::commands::argocd::ArgocdArgs;
use crate::commands::cache::CacheArgs;
use crate::commands::completion::CompletionArgs;
use crate::commands::doctor::DoctorArgs;
use crate::commands::fn_::{FnArgs, LegacyFnArgs};
use crate::commands::function::FunctionArgs;
use crate::commands::helm::HelmArgs;
use crate::commands::image::ImageArgs;
use crate::commands::live::LiveArgs;
use crate::commands::lock::LockArgs;
use crate::commands::manual::ManualArgs;
use crate::commands::migrate::MigrateArgs;
use crate::commands::pkg::PkgArgs;
use crate::commands::policy::PolicyArgs;
use crate::commands::push::PushCommandArgs;
use crate::commands::repo::RepoArgs;
use crate::commands::rpkg::RpkgArgs;
use crate::commands::serve::ServeArgs;
use crate::commands::version::VersionArgs;
use crate::commands::wasm::{AlphaArgs, WasmArgs};
use crate::compat::Compat;
use crate::deferred::Deferred;
use crate::flag_values::go_bool;
use crate::help::{with_runner_flags, with_sections};
use crate::kpt_flags::with_kpt_flags;

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
    Fn(Deferred<FnArgs>),
    /// Fetch, update and show packages in directories
    #[command(alias = "package")]
    Pkg(Deferred<PkgArgs>),
    /// Work with package revisions in git
    #[command(visible_alias = "rpackage")]
    Rpkg(Deferred<RpkgArgs>),
    /// Register repositories of package revisions
    #[command(visible_alias = "repository")]
    Repo(Deferred<RepoArgs>),
    /// Run the built-in functions as programs, or write one of your own
    Function(Deferred<FunctionArgs>),
    /// Manage the store of function images
    Image(Deferred<ImageArgs>),
    /// Push, pull and compile functions in WebAssembly
    Wasm(Deferred<WasmArgs>),
    /// Push rendered manifests for Flux
    Push(Deferred<PushCommandArgs>),
    /// The commands of a config management plugin of Argo CD
    Argocd(Deferred<ArgocdArgs>),
    /// Run functions as a part of Helm
    Helm(Deferred<HelmArgs>),
    /// Write kiln.lock: the exact versions of the functions of a package
    Lock(Deferred<LockArgs>),
    /// Show what a policy allows
    Policy(Deferred<PolicyArgs>),
    /// Compare kiln with kpt on your own packages
    Migrate(Deferred<MigrateArgs>),
    /// Commands that kpt has under this name
    Alpha(Deferred<AlphaArgs>),
    /// Serve functions over gRPC: the function runner with defaults for a local machine
    #[command(disable_help_flag = true)]
    Serve(ServeArgs),
    /// Check what works on this machine, and print what would fix the rest
    Doctor(DoctorArgs),
    /// Write the inventory of a package
    // Not deferred: `kpt_flags` adds only flags that this does not have.
    Live(Box<LiveArgs>),
    /// Print version, commit, target and the built-in functions
    Version(VersionArgs),
    /// Find or remove local copies of repositories and modules
    Cache(CacheArgs),
    /// Print a shell completion script
    Completion(CompletionArgs),
    /// Write man pages
    #[command(hide = true)]
    Manual(ManualArgs),
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
    /// Print version, commit, target and the built-in functions
    Version(VersionArgs),
    /// Print a shell completion script
    Completion(CompletionArgs),
}

/// The heading of flags that every command has. They come after its own.
const GLOBAL: &str = "Global options";

#[derive(Args, Debug)]
pub(crate) struct GlobalArgs {
    /// Compatibility mode; defaults to kpt when invoked as kpt [env: KILN_COMPAT]
    #[arg(long, global = true, value_enum, value_name = "MODE", help_heading = GLOBAL)]
    pub(crate) compat: Option<Compat>,
    /// When to use colours
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value = "auto", hide_default_value = true, help_heading = GLOBAL)]
    pub(crate) color: ColorWhen,
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
pub(crate) fn parse(
    args: &[OsString],
    compat: Compat,
    color: ColorWhen,
) -> Result<Parsed, clap::Error> {
    let args: Vec<OsString> = match compat {
        Compat::Kiln | Compat::Kpt => args.iter().cloned().map(dashes_for_underscores).collect(),
        Compat::KptV039 => args.to_vec(),
    };
    let mut grammar = grammar(compat).color(color.of_parser());
    let matches = grammar.try_get_matches_from_mut(&args).map_err(|error| {
        if !is_help(&error) {
            return error;
        }
        let mut grammar = documented_grammar(compat).color(color.of_parser());
        grammar
            .try_get_matches_from_mut(&args)
            .err()
            .unwrap_or(error)
    })?;
    let parsed = match compat {
        Compat::Kiln | Compat::Kpt => {
            Cli::from_arg_matches(&matches).map(|cli| Parsed::Current(cli.command))
        }
        Compat::KptV039 => {
            LegacyCli::from_arg_matches(&matches).map(|cli| Parsed::Legacy(cli.command))
        }
    };
    parsed.map_err(|error| error.format(&mut grammar))
}

/// The grammar of `compat`, with the verbs that are not used left out.
fn grammar(compat: Compat) -> clap::Command {
    match compat {
        Compat::Kiln => Cli::command(),
        Compat::Kpt => with_kpt_flags(Cli::command()),
        Compat::KptV039 => LegacyCli::command(),
    }
}

/// The whole grammar of `compat`, with everything that help shows.
pub(crate) fn documented_grammar(compat: Compat) -> clap::Command {
    let mut grammar = grammar(compat);
    if compat != Compat::KptV039 {
        grammar = grammar.mut_subcommand(SERVE, with_runner_flags);
    }
    grammar.build();
    if compat != Compat::KptV039 {
        // It takes no flags of other commands.
        let hide_global = |arg: Arg| match arg.is_global_set() {
            true => arg.hide(true),
            false => arg,
        };
        grammar = grammar.mut_subcommand(SERVE, |serve| serve.mut_args(hide_global));
    }
    with_sections(grammar, compat)
}

/// The verb whose flags the function runner parses.
const SERVE: &str = "serve";

/// The help of `kiln serve`.
pub(crate) fn help_of_serve(compat: Compat) -> String {
    let mut grammar = documented_grammar(compat);
    let serve = grammar.find_subcommand_mut(SERVE);
    serve.map_or_else(String::new, |serve| serve.render_long_help().to_string())
}

fn is_help(error: &clap::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    )
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
