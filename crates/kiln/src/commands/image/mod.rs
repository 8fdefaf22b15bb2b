//! `kiln image`: the store of unpacked function images. One file for each verb.

mod export;
mod gc;
mod import;
mod list;
mod pull;
mod remove;
mod verify;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::ui::Ui;

/// `kiln image`
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct ImageArgs {
    #[command(subcommand)]
    command: ImageCommand,
}

#[derive(Subcommand, Debug)]
enum ImageCommand {
    /// Pull images from registries into the store
    Pull(pull::PullArgs),
    /// List the images in the store
    #[command(visible_aliases = ["ls", "get"])]
    List(list::ListArgs),
    /// Remove images from the store
    #[command(visible_alias = "rm")]
    Remove(remove::RemoveArgs),
    /// Write an image of the store to an OCI archive
    Export(export::ExportArgs),
    /// Add the images of an OCI or Docker archive to the store
    Import(import::ImportArgs),
    /// Remove images that were not used recently, and data of no image
    Gc(gc::GcArgs),
    /// Verify the signatures of an image, or compare the store with its digests
    Verify(verify::VerifyArgs),
}

pub(crate) fn cmd_image(ui: &Ui, args: &ImageArgs) -> Result<()> {
    match &args.command {
        ImageCommand::Pull(args) => pull::cmd_pull(ui, args),
        ImageCommand::List(args) => list::cmd_list(ui, args),
        ImageCommand::Remove(args) => remove::cmd_remove(ui, args),
        ImageCommand::Export(args) => export::cmd_export(ui, args),
        ImageCommand::Import(args) => import::cmd_import(ui, args),
        ImageCommand::Gc(args) => gc::cmd_gc(ui, args),
        ImageCommand::Verify(args) => verify::cmd_verify(ui, args),
    }
}
