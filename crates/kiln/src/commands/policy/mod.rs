//! `kiln policy`: what a policy says about functions.

mod check;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::ui::Ui;

#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    command: PolicyCommand,
}

#[derive(Subcommand, Debug)]
enum PolicyCommand {
    /// Show how the functions of a package may run, and which rules decide
    Check(check::CheckArgs),
}

pub(crate) fn cmd_policy(ui: &Ui, args: &PolicyArgs) -> Result<()> {
    match &args.command {
        PolicyCommand::Check(args) => check::cmd_check(ui, args),
    }
}
