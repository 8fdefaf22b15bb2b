//! `kiln push`: what other tools pull from registries.

mod artifact;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::ui::Ui;

#[derive(Args, Debug)]
pub(crate) struct PushCommandArgs {
    #[command(subcommand)]
    command: PushCommand,
}

#[derive(Subcommand, Debug)]
enum PushCommand {
    /// Push manifests as an artifact that Flux pulls
    Artifact(artifact::ArtifactArgs),
}

pub(crate) fn cmd_push(ui: &Ui, args: &PushCommandArgs) -> Result<()> {
    match &args.command {
        PushCommand::Artifact(args) => artifact::cmd_artifact(ui, args),
    }
}
