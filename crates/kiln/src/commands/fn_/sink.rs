//! `kiln fn sink`

use anyhow::Result;
use clap::Args;
use kiln_package::Durability;

use crate::compat::Compat;
use crate::error::bail_usage;
use crate::package::write::{check_absent, plan_list, write_new_directory};
use crate::ui::Ui;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n\
    \x20 kiln fn source app | kiln fn eval - -i set-labels:v0.2.0 -- env=prod | kiln fn sink new-app")]
// A missing DIR is refused in kpt's words, which needs it to be optional here.
#[command(override_usage = "kiln fn sink [OPTIONS] DIR")]
pub(crate) struct SinkArgs {
    /// Directory to create; it must not exist (required)
    #[arg(value_name = "DIR")]
    dirs: Vec<String>,
    /// Wait until everything is on disk, so that it survives a power loss
    #[arg(long)]
    durable: bool,
}

pub(crate) fn cmd_sink(ui: &Ui, args: &SinkArgs) -> Result<()> {
    // kpt ignores all but the first.
    let Some(dir) = args.dirs.first() else {
        bail_usage!("requires at least 1 arg(s), only received 0");
    };
    if dir.is_empty() {
        bail_usage!("the directory name is empty");
    }
    if ui.compat() == Compat::Kiln && args.dirs.len() > 1 {
        bail_usage!("accepts 1 arg(s), received {}", args.dirs.len());
    }
    check_absent(ui, dir)?;
    let durability = match args.durable {
        true => Durability::Durable,
        false => Durability::Fast,
    };
    let changes = plan_list(ui, dir, ui.read_data()?)?;
    write_new_directory(ui, dir, &changes, durability)
}
