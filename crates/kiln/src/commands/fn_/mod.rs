//! `kiln fn`: runs functions on the resources of packages.

mod doc;
mod eval;
mod legacy_sink;
mod legacy_source;
mod render;
mod run;
mod sink;
mod source;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::deferred::Deferred;
use crate::ui::Ui;

/// `kiln fn`
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct FnArgs {
    #[command(subcommand)]
    command: FnCommand,
}

#[derive(Subcommand, Debug)]
enum FnCommand {
    /// Run the functions that a package declares
    Render(Box<Deferred<render::RenderArgs>>),
    /// Run one function on a package or on standard input
    Eval(Box<Deferred<eval::EvalArgs>>),
    /// Run functions that resources declare in annotations, as kpt v0.39 did
    Run(Box<Deferred<run::RunArgs>>),
    /// Print the resources of a package
    Source(Deferred<source::SourceArgs>),
    /// Write resources from standard input to a new directory
    Sink(Deferred<sink::SinkArgs>),
    /// Print the documentation of an image
    Doc(Deferred<doc::DocArgs>),
}

/// `kiln fn` of kpt v0.39
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct LegacyFnArgs {
    #[command(subcommand)]
    command: LegacyFnCommand,
}

#[derive(Subcommand, Debug)]
enum LegacyFnCommand {
    /// Run functions that resources declare in annotations
    Run(Box<run::RunArgs>),
    /// Print the resources of directories or of standard input
    Source(legacy_source::LegacySourceArgs),
    /// Write resources from standard input to a directory or to standard output
    Sink(legacy_sink::LegacySinkArgs),
}

pub(crate) fn cmd_fn(ui: &Ui, args: &FnArgs) -> Result<()> {
    match &args.command {
        FnCommand::Render(args) => render::cmd_render(ui, args),
        FnCommand::Eval(args) => eval::cmd_eval(ui, args),
        FnCommand::Run(args) => run::cmd_run(ui, args),
        FnCommand::Source(args) => source::cmd_source(ui, args),
        FnCommand::Sink(args) => sink::cmd_sink(ui, args),
        FnCommand::Doc(args) => doc::cmd_doc(ui, args),
    }
}

pub(crate) fn cmd_legacy_fn(ui: &Ui, args: &LegacyFnArgs) -> Result<()> {
    match &args.command {
        LegacyFnCommand::Run(args) => run::cmd_run(ui, args),
        LegacyFnCommand::Source(args) => legacy_source::cmd_legacy_source(ui, args),
        LegacyFnCommand::Sink(args) => legacy_sink::cmd_legacy_sink(ui, args),
    }
}
