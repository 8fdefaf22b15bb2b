//! `kiln image gc`

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use kiln_store::CollectLimits;

use crate::flag_values::{go_time, size};
use crate::image_store::{StoreArgs, human_size};
use crate::ui::Ui;

/// Remove images that were not used recently, and data of no image
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln image gc")]
pub(super) struct GcArgs {
    /// Remove least recently used images until the store is below this size: 1000, 64K, 512M, 10G [default: 10 GB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    size: Option<u64>,
    /// Remove images that were not used for this long: 90s, 5m, 720h [default: 30 days]
    #[arg(long, value_name = "DURATION", value_parser = go_time)]
    age: Option<Duration>,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) fn cmd_gc(ui: &Ui, args: &GcArgs) -> Result<()> {
    let defaults = CollectLimits::default();
    let limits = CollectLimits {
        size: args.size.unwrap_or(defaults.size),
        age: args.age.unwrap_or(defaults.age),
    };
    let collected = args.store.open()?.collect(&limits)?;
    for digest in &collected.images {
        ui.write_data(format!("removed image {digest}\n").as_bytes())?;
    }
    if collected.in_use > 0 {
        ui.print_message(&format!(
            "{} image(s) are in use and stay",
            collected.in_use
        ));
    }
    if collected.blobs.is_none() {
        ui.print_message(
            "another kiln command is adding an image; data of removed images stays until the next gc",
        );
    }
    ui.write_data(format!("freed {}\n", human_size(collected.freed)).as_bytes())
}
