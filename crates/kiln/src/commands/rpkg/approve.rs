//! `kiln rpkg approve`

use anyhow::Result;
use clap::Args;
use clap_complete::ArgValueCompleter;
use kiln_task::{ApproveError, ApproveOverwrite, Lifecycle};

use super::print_status;
use crate::complete;
use crate::report::function_log::FunctionLog;
use crate::rpkg::batch::for_each_revision;
use crate::rpkg::flags::WriteFlags;
use crate::rpkg::render_flags::RenderSetup;
use crate::ui::Ui;

/// Approve and publish proposals
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln rpkg approve blueprints.app.v1")]
pub(super) struct ApproveArgs {
    /// Proposals to approve (required)
    #[arg(value_name = "PACKAGE", add = ArgValueCompleter::new(complete::revisions))]
    names: Vec<String>,
    /// Publish even if another revision was published since the draft was created; its changes are lost
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    write: WriteFlags,
}

pub(super) fn cmd_approve(ui: &Ui, args: &ApproveArgs) -> Result<()> {
    let session = args.write.open(ui)?;
    let (setup, log) = (RenderSetup::without_flags(ui)?, FunctionLog::new(ui));
    let engine = session.engine(&setup, &log);
    let overwrite = match args.force {
        true => ApproveOverwrite::Force,
        false => ApproveOverwrite::Refuse,
    };
    for_each_revision(ui, &args.names, |name| {
        match engine.approve(name, overwrite) {
            // Approving twice is not an error.
            Ok(_) | Err(ApproveError::NotProposed(Lifecycle::Published)) => {
                print_status(ui, name, "approved")
            }
            Err(error) => Err(session.explain(error)),
        }
    })
}
