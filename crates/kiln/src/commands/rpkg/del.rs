//! `kiln rpkg del`

use anyhow::Result;
use clap::Args;

use super::print_status;
use crate::report::function_log::FunctionLog;
use crate::rpkg::batch::for_each_revision;
use crate::rpkg::flags::WriteFlags;
use crate::rpkg::render_flags::RenderSetup;
use crate::ui::Ui;

/// Delete drafts, proposals and revisions proposed for deletion
#[derive(Args, Debug)]
pub(super) struct DelArgs {
    /// Revisions to delete
    #[arg(value_name = "PACKAGE")]
    names: Vec<String>,
    #[command(flatten)]
    write: WriteFlags,
}

pub(super) fn cmd_del(ui: &Ui, args: &DelArgs) -> Result<()> {
    let session = args.write.open()?;
    let (setup, log) = (RenderSetup::default(), FunctionLog::new(ui));
    let engine = session.engine(&setup, &log);
    for_each_revision(ui, &args.names, |name| {
        engine.delete(name)?;
        print_status(ui, name, "deleted")
    })
}
