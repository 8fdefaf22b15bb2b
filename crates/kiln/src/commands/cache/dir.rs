//! `kiln cache dir`

use anyhow::Result;
use clap::Args;

use crate::environment::cache_directory;
use crate::ui::Ui;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  du -sh \"$(kiln cache dir)\"")]
pub(super) struct DirArgs {}

pub(super) fn cmd_dir(ui: &Ui) -> Result<()> {
    let directory = cache_directory().join("kiln");
    ui.write_data(format!("{}\n", directory.display()).as_bytes())
}
