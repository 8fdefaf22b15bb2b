//! `kiln live`: only what needs no cluster.

mod init;
mod kubectl_flags;

use anyhow::{Error, Result};
use clap::{Args, Subcommand};

use crate::compat::Compat;
use crate::error::CommandError;
use crate::ui::Ui;

/// `kiln live`
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct LiveArgs {
    #[command(flatten)]
    kubectl: kubectl_flags::KubectlFlags,
    #[command(subcommand)]
    command: LiveCommand,
}

#[derive(Subcommand, Debug)]
enum LiveCommand {
    /// Write the file with the inventory of a package
    Init(init::LiveInitArgs),
}

pub(crate) fn cmd_live(ui: &Ui, args: &LiveArgs) -> Result<()> {
    let LiveArgs { kubectl, command } = args;
    match command {
        LiveCommand::Init(args) => init::cmd_live_init(ui, args, kubectl),
    }
}

/// An error that kpt prints as `Error: TEXT `.
fn typed(ui: &Ui, text: &str) -> Error {
    let message = match ui.compat() {
        Compat::Kiln => format!("error: {text}"),
        Compat::Kpt | Compat::KptV039 => format!("Error: {text} "),
    };
    CommandError::new(message).into()
}
