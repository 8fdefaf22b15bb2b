//! `kiln rpkg reject`

use anyhow::Result;
use clap::Args;
use clap_complete::ArgValueCompleter;
use kiln_task::Lifecycle;

use super::print_status;
use crate::complete;
use crate::report::function_log::FunctionLog;
use crate::rpkg::batch::for_each_revision;
use crate::rpkg::flags::WriteFlags;
use crate::rpkg::render_flags::RenderSetup;
use crate::ui::Ui;

/// Turn proposals back into drafts, or withdraw proposals for deletion
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln rpkg reject blueprints.app.v1")]
pub(super) struct RejectArgs {
    /// Proposals to reject (required)
    #[arg(value_name = "PACKAGE", add = ArgValueCompleter::new(complete::revisions))]
    names: Vec<String>,
    #[command(flatten)]
    write: WriteFlags,
}

pub(super) fn cmd_reject(ui: &Ui, args: &RejectArgs) -> Result<()> {
    let session = args.write.open(ui)?;
    let (setup, log) = (RenderSetup::without_flags(ui)?, FunctionLog::new(ui));
    let engine = session.engine(&setup, &log);
    for_each_revision(ui, &args.names, |name| {
        match engine
            .reject(name)
            .map_err(|error| session.explain(error))?
        {
            Lifecycle::DeletionProposed => {
                print_status(ui, name, "no longer proposed for deletion")
            }
            _ => print_status(ui, name, "no longer proposed for approval"),
        }
    })
}
