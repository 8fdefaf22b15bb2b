//! `kiln rpkg approve`

use anyhow::Result;
use clap::Args;
use kiln_task::{ApproveError, ApproveOverwrite, Lifecycle};

use super::print_status;
use crate::error::CommandError;
use crate::report::function_log::FunctionLog;
use crate::rpkg::batch::for_each_revision;
use crate::rpkg::flags::WriteFlags;
use crate::rpkg::render_flags::RenderSetup;
use crate::ui::Ui;

/// Approve and publish proposals
#[derive(Args, Debug)]
pub(super) struct ApproveArgs {
    /// Proposals to approve
    #[arg(value_name = "PACKAGE")]
    names: Vec<String>,
    /// Publish even if another revision was published since the draft was created; its changes are lost
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    write: WriteFlags,
}

pub(super) fn cmd_approve(ui: &Ui, args: &ApproveArgs) -> Result<()> {
    let session = args.write.open()?;
    let (setup, log) = (RenderSetup::default(), FunctionLog::new(ui));
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
            Err(error) => Err(with_hint(error)),
        }
    })
}

fn with_hint(error: ApproveError) -> anyhow::Error {
    let hint = match &error {
        ApproveError::Overwrites { .. } => {
            "copy the latest revision and repeat the change there, or approve with --force"
        }
        ApproveError::NotAtomic => "approve with --no-atomic",
        ApproveError::NoBranch(_) => {
            "create the branch, or register the repository with `kiln repo register --create-branch`"
        }
        _ => return error.into(),
    };
    CommandError::with_hint(error, hint).into()
}
