//! `kiln rpkg reject`

use anyhow::Result;
use clap::Args;
use kiln_task::Lifecycle;

use super::print_status;
use crate::report::function_log::FunctionLog;
use crate::rpkg::batch::for_each_revision;
use crate::rpkg::flags::WriteFlags;
use crate::rpkg::render_flags::RenderSetup;
use crate::ui::Ui;

/// Turn proposals back into drafts, or withdraw proposals for deletion
#[derive(Args, Debug)]
pub(super) struct RejectArgs {
    /// Proposals to reject
    #[arg(value_name = "PACKAGE")]
    names: Vec<String>,
    #[command(flatten)]
    write: WriteFlags,
}

pub(super) fn cmd_reject(ui: &Ui, args: &RejectArgs) -> Result<()> {
    let session = args.write.open()?;
    let (setup, log) = (RenderSetup::default(), FunctionLog::new(ui));
    let engine = session.engine(&setup, &log);
    for_each_revision(ui, &args.names, |name| match engine.reject(name)? {
        Lifecycle::DeletionProposed => print_status(ui, name, "no longer proposed for deletion"),
        _ => print_status(ui, name, "no longer proposed for approval"),
    })
}
