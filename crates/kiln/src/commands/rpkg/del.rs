//! `kiln rpkg del`

use anyhow::Result;
use clap::Args;
use clap_complete::ArgValueCompleter;

use super::print_status;
use crate::complete;
use crate::report::function_log::FunctionLog;
use crate::rpkg::batch::for_each_revision;
use crate::rpkg::flags::WriteFlags;
use crate::rpkg::render_flags::RenderSetup;
use crate::ui::Ui;

/// Delete drafts, proposals and revisions proposed for deletion
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln rpkg del blueprints.app.v1")]
pub(super) struct DelArgs {
    /// Revisions to delete (required)
    #[arg(value_name = "PACKAGE", add = ArgValueCompleter::new(complete::revisions))]
    names: Vec<String>,
    #[command(flatten)]
    write: WriteFlags,
}

pub(super) fn cmd_del(ui: &Ui, args: &DelArgs) -> Result<()> {
    let session = args.write.open(ui)?;
    let (setup, log) = (RenderSetup::without_flags(ui)?, FunctionLog::new(ui));
    let engine = session.engine(&setup, &log);
    for_each_revision(ui, &args.names, |name| {
        engine
            .delete(name)
            .map_err(|error| session.explain(error))?;
        print_status(ui, name, "deleted")
    })
}
