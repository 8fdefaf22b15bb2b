//! `kiln repo`: the repositories that are known by a name.

mod get;
mod register;
pub(crate) mod registry;
mod sync;
mod unregister;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::commands::rpkg::place::explained;
use crate::ui::Ui;

/// `kiln repo`
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct RepoArgs {
    #[command(subcommand)]
    command: RepoCommand,
}

#[derive(Subcommand, Debug)]
enum RepoCommand {
    /// Give a git repository a name
    #[command(visible_alias = "reg")]
    Register(Box<register::RegisterArgs>),
    /// List the repositories that have names
    #[command(visible_aliases = ["ls", "list"])]
    Get(get::GetArgs),
    /// Forget a repository; nothing in it changes
    #[command(visible_alias = "unreg")]
    Unregister(unregister::UnregisterArgs),
    /// Bring the copies of repositories up to date
    #[command(visible_alias = "reconcile")]
    Sync(sync::SyncArgs),
}

/// Does what `kiln repo` was asked for.
pub(crate) fn cmd_repo(ui: &Ui, args: &RepoArgs) -> Result<()> {
    let done = match &args.command {
        RepoCommand::Register(args) => register::cmd_register(ui, args),
        RepoCommand::Get(args) => get::cmd_get(ui, args),
        RepoCommand::Unregister(args) => unregister::cmd_unregister(ui, args),
        RepoCommand::Sync(args) => sync::cmd_sync(ui, args),
    };
    done.map_err(explained)
}
