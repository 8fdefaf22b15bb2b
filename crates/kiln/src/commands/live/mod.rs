//! `kiln live`: only what needs no cluster.

mod init;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::ui::Ui;

/// `kiln live`
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct LiveArgs {
    #[command(subcommand)]
    command: LiveCommand,
}

#[derive(Subcommand, Debug)]
enum LiveCommand {
    /// Write the file with the inventory of a package
    Init(init::LiveInitArgs),
}

pub(crate) fn cmd_live(ui: &Ui, args: &LiveArgs) -> Result<()> {
    match &args.command {
        LiveCommand::Init(args) => init::cmd_live_init(ui, args),
    }
}
