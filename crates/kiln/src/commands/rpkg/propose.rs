//! `kiln rpkg propose`

use anyhow::Result;
use clap::Args;
use kiln_task::ChangeError;

use super::done;
use super::each::each;
use super::place::ChangeArgs;
use super::rendering::RenderFlags;
use crate::ui::Ui;

/// Propose drafts for approval
#[derive(Args, Debug)]
pub(super) struct ProposeArgs {
    /// The drafts
    #[arg(value_name = "PACKAGE")]
    names: Vec<String>,
    #[command(flatten)]
    change: ChangeArgs,
    #[command(flatten)]
    render: RenderFlags,
}

pub(super) fn cmd_propose(ui: &Ui, args: &ProposeArgs) -> Result<()> {
    let session = args.change.open()?;
    let rendering = args.render.check()?;
    let log = args.render.log(ui);
    let engine = session.engine(&rendering, &log);
    each(ui, &args.names, |name| match engine.propose(name) {
        Ok(_) => done(ui, name, "proposed"),
        Err(error @ ChangeError::AlreadyProposed(_)) => {
            ui.say(&error.to_string());
            Ok(())
        }
        Err(error) => Err(error.into()),
    })
}
