//! `kiln rpkg del`

use anyhow::Result;
use clap::Args;

use super::done;
use super::each::each;
use super::place::ChangeArgs;
use super::rendering::Rendering;
use crate::commands::function::terminal::Terminal;
use crate::ui::Ui;

/// Delete drafts, proposals and what was proposed for deletion
#[derive(Args, Debug)]
pub(super) struct DelArgs {
    /// The revisions
    #[arg(value_name = "PACKAGE")]
    names: Vec<String>,
    #[command(flatten)]
    change: ChangeArgs,
}

pub(super) fn cmd_del(ui: &Ui, args: &DelArgs) -> Result<()> {
    let session = args.change.open()?;
    let (rendering, log) = (Rendering::default(), Terminal::new(ui));
    let engine = session.engine(&rendering, &log);
    each(ui, &args.names, |name| {
        engine.delete(name)?;
        done(ui, name, "deleted")
    })
}
