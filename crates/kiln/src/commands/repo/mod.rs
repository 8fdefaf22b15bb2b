//! `kiln repo`: registered repositories. One file for each verb; the file they are stored in is `crate::rpkg`'s.

mod get;
mod register;
mod sync;
mod unregister;

use anyhow::Result;
use clap::{Args, Subcommand};

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
    /// Register a git repository under a name
    #[command(visible_alias = "reg")]
    Register(Box<register::RegisterArgs>),
    /// List registered repositories
    #[command(visible_aliases = ["ls", "list"])]
    Get(get::GetArgs),
    /// Remove a registration; the repository itself does not change
    #[command(visible_alias = "unreg")]
    Unregister(unregister::UnregisterArgs),
    /// Update the local copies of repositories
    #[command(visible_alias = "reconcile")]
    Sync(sync::SyncArgs),
}

pub(crate) fn cmd_repo(ui: &Ui, args: &RepoArgs) -> Result<()> {
    match &args.command {
        RepoCommand::Register(args) => register::cmd_register(ui, args),
        RepoCommand::Get(args) => get::cmd_get(ui, args),
        RepoCommand::Unregister(args) => unregister::cmd_unregister(ui, args),
        RepoCommand::Sync(args) => sync::cmd_sync(ui, args),
    }
}
