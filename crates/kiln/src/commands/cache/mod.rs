//! `kiln cache`: the directory of local copies, which can be removed at any time. Images are removed with `kiln image gc`.

mod clean;
mod dir;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::ui::Ui;

#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct CacheArgs {
    #[command(subcommand)]
    command: CacheCommand,
}

#[derive(Subcommand, Debug)]
enum CacheCommand {
    /// Print the directory of the cache
    Dir(dir::DirArgs),
    /// Remove copies of repositories, WebAssembly modules with their compiled code, and kept answers; `kiln image gc` removes
    /// images
    Clean(clean::CleanArgs),
}

pub(crate) fn cmd_cache(ui: &Ui, args: &CacheArgs) -> Result<()> {
    match &args.command {
        CacheCommand::Dir(_) => dir::cmd_dir(ui),
        CacheCommand::Clean(_) => clean::cmd_clean(ui),
    }
}
