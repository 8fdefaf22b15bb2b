//! `kiln rpkg propose-delete`

use anyhow::Result;
use clap::Args;
use kiln_task::DeleteError;

use super::done;
use super::each::each;
use super::place::ChangeArgs;
use super::rendering::Rendering;
use crate::commands::function::terminal::Terminal;
use crate::ui::Ui;

/// Propose published revisions for deletion
#[derive(Args, Debug)]
pub(super) struct ProposeDeleteArgs {
    /// The revisions
    #[arg(value_name = "PACKAGE")]
    names: Vec<String>,
    #[command(flatten)]
    change: ChangeArgs,
}

pub(super) fn cmd_propose_delete(ui: &Ui, args: &ProposeDeleteArgs) -> Result<()> {
    let session = args.change.open()?;
    let (rendering, log) = (Rendering::default(), Terminal::new(ui));
    let engine = session.engine(&rendering, &log);
    each(ui, &args.names, |name| match engine.propose_delete(name) {
        Ok(()) => done(ui, name, "proposed for deletion"),
        Err(error @ DeleteError::AlreadyProposed(_)) => {
            ui.say(&error.to_string());
            Ok(())
        }
        Err(error) => Err(error.into()),
    })
}
