//! `kiln fn sink`

use anyhow::{Result, bail};
use clap::Args;
use kiln_package::Durability;

use crate::compat::Compat;
use crate::package::write::{check_absent, fill, planned};
use crate::ui::Ui;

/// Flags of `kiln fn sink`.
#[derive(Args, Debug)]
// A missing DIR is refused in kpt's words, which needs it to be optional here.
#[command(override_usage = "kiln fn sink [OPTIONS] DIR")]
pub(crate) struct SinkArgs {
    /// The directory to make; it must not exist
    #[arg(value_name = "DIR")]
    dirs: Vec<String>,
    /// Wait until everything is on the disk, so that a power loss cannot take it back
    #[arg(long)]
    durable: bool,
}

/// Writes resources to a new directory.
pub(crate) fn cmd_sink(ui: &Ui, args: &SinkArgs) -> Result<()> {
    // kpt does not look at what follows the first.
    let Some(dir) = args.dirs.first() else {
        bail!("requires at least 1 arg(s), only received 0");
    };
    if dir.is_empty() {
        bail!("the name of the directory is empty");
    }
    if ui.compat() == Compat::Kiln && args.dirs.len() > 1 {
        bail!("accepts 1 arg(s), received {}", args.dirs.len());
    }
    check_absent(ui, dir)?;
    let durability = match args.durable {
        true => Durability::Durable,
        false => Durability::Fast,
    };
    let changes = planned(ui, dir, ui.read_data()?)?;
    fill(ui, dir, &changes, durability)
}
