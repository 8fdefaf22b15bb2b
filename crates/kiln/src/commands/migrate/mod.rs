//! `kiln migrate`: what changes for packages that were rendered by kpt.

mod check;
mod compare;
mod function_programs;
mod images_of_kpt;
mod kpt_engine;
mod kpt_program;
mod rendered_copy;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::ui::Ui;

#[derive(Args, Debug)]
pub(crate) struct MigrateArgs {
    #[command(subcommand)]
    command: MigrateCommand,
}

#[derive(Subcommand, Debug)]
enum MigrateCommand {
    /// Render copies of all packages below a directory with kiln and with kpt, and print what differs
    Check(check::MigrateCheckArgs),
}

pub(crate) fn cmd_migrate(ui: &Ui, args: &MigrateArgs) -> Result<()> {
    match &args.command {
        MigrateCommand::Check(args) => check::cmd_check(ui, args),
    }
}
