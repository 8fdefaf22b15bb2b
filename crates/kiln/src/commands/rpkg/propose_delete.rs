//! `kiln rpkg propose-delete`

use anyhow::Result;
use clap::Args;
use clap_complete::ArgValueCompleter;
use kiln_task::DeleteError;

use super::print_status;
use crate::complete;
use crate::report::function_log::FunctionLog;
use crate::rpkg::batch::for_each_revision;
use crate::rpkg::flags::WriteFlags;
use crate::rpkg::render_flags::RenderSetup;
use crate::ui::Ui;

/// Propose published revisions for deletion
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln rpkg propose-delete blueprints.app.v1")]
pub(super) struct ProposeDeleteArgs {
    /// Published revisions to propose for deletion (required)
    #[arg(value_name = "PACKAGE", add = ArgValueCompleter::new(complete::revisions))]
    names: Vec<String>,
    #[command(flatten)]
    write: WriteFlags,
}

pub(super) fn cmd_propose_delete(ui: &Ui, args: &ProposeDeleteArgs) -> Result<()> {
    let session = args.write.open(ui)?;
    let (setup, log) = (RenderSetup::without_flags(ui)?, FunctionLog::new(ui));
    let engine = session.engine(&setup, &log);
    for_each_revision(ui, &args.names, |name| match engine.propose_delete(name) {
        Ok(()) => print_status(ui, name, "proposed for deletion"),
        Err(error @ DeleteError::AlreadyProposed(_)) => {
            ui.print_message(&error.to_string());
            Ok(())
        }
        Err(error) => Err(session.explain(error)),
    })
}
