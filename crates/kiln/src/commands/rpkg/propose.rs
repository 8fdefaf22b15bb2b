//! `kiln rpkg propose`

use anyhow::Result;
use clap::Args;
use clap_complete::ArgValueCompleter;
use kiln_task::ChangeError;

use super::print_status;
use crate::complete;
use crate::rpkg::batch::for_each_revision;
use crate::rpkg::flags::WriteFlags;
use crate::rpkg::render_flags::RenderFlags;
use crate::ui::Ui;

/// Propose drafts for approval
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln rpkg propose blueprints.app.v1")]
pub(super) struct ProposeArgs {
    /// Drafts to propose (required)
    #[arg(value_name = "PACKAGE", add = ArgValueCompleter::new(complete::revisions))]
    names: Vec<String>,
    #[command(flatten)]
    write: WriteFlags,
    #[command(flatten)]
    render: RenderFlags,
}

pub(super) fn cmd_propose(ui: &Ui, args: &ProposeArgs) -> Result<()> {
    let session = args.write.open(&args.render.ui(ui))?;
    let setup = args.render.check(ui)?;
    let log = args.render.log(ui);
    let engine = session.engine(&setup, &log);
    for_each_revision(ui, &args.names, |name| match engine.propose(name) {
        Ok(_) => print_status(ui, name, "proposed"),
        Err(error @ ChangeError::AlreadyProposed(_)) => {
            ui.print_message(&error.to_string());
            Ok(())
        }
        Err(error) => Err(session.explain(error)),
    })
}
