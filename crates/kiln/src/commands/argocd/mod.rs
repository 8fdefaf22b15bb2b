//! `kiln argocd`: the commands of the config management plugin of Argo CD.
//!
//! Argo CD reads standard output, and shows the end of standard error in its user interface.

mod generate;
mod parameters;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::ui::Ui;

#[derive(Args, Debug)]
pub(crate) struct ArgocdArgs {
    #[command(subcommand)]
    command: ArgocdCommand,
}

#[derive(Subcommand, Debug)]
enum ArgocdCommand {
    /// Print the objects of a rendered package
    Generate(Box<generate::GenerateArgs>),
    /// Print the setters of a package as parameters
    Parameters(parameters::ParametersArgs),
}

pub(crate) fn cmd_argocd(ui: &Ui, args: &ArgocdArgs) -> Result<()> {
    match &args.command {
        ArgocdCommand::Generate(args) => generate::cmd_generate(ui, args),
        ArgocdCommand::Parameters(args) => parameters::cmd_parameters(ui, args),
    }
}
