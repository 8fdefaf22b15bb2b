//! `kiln rpkg reject`

use anyhow::Result;
use clap::Args;
use kiln_task::Lifecycle;

use super::done;
use super::each::each;
use super::place::ChangeArgs;
use super::rendering::Rendering;
use crate::commands::function::terminal::Terminal;
use crate::ui::Ui;

/// Make drafts of proposals again, or keep what was proposed for deletion
#[derive(Args, Debug)]
pub(super) struct RejectArgs {
    /// The proposals
    #[arg(value_name = "PACKAGE")]
    names: Vec<String>,
    #[command(flatten)]
    change: ChangeArgs,
}

pub(super) fn cmd_reject(ui: &Ui, args: &RejectArgs) -> Result<()> {
    let session = args.change.open()?;
    let (rendering, log) = (Rendering::default(), Terminal::new(ui));
    let engine = session.engine(&rendering, &log);
    each(ui, &args.names, |name| match engine.reject(name)? {
        Lifecycle::DeletionProposed => done(ui, name, "no longer proposed for deletion"),
        _ => done(ui, name, "no longer proposed for approval"),
    })
}
