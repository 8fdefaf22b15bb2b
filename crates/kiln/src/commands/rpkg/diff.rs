//! `kiln rpkg diff`

use anyhow::Result;
use clap::Args;
use clap_complete::ArgValueCompleter;
use kiln_task::Contents;

use crate::complete;
use crate::error::CommandError;
use crate::report::contents_diff::contents_diff;
use crate::rpkg::flags::RepositoryFlags;
use crate::ui::Ui;

/// Print the differences between the files of two revisions
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n\
    \x20 kiln rpkg diff blueprints.app.v1 blueprints.app.v2\n\
    \x20 kiln rpkg diff blueprints.app.v1 blueprints.app.v2 --exit-code")]
pub(super) struct DiffArgs {
    /// Old revision
    #[arg(value_name = "A", add = ArgValueCompleter::new(complete::revisions))]
    old: String,
    /// New revision
    #[arg(value_name = "B", add = ArgValueCompleter::new(complete::revisions))]
    new: String,
    /// Exit with 3 if there are differences
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    repository: RepositoryFlags,
}

pub(super) fn cmd_diff(ui: &Ui, args: &DiffArgs) -> Result<()> {
    let session = args.repository.open(ui)?;
    let read = |name: &str| -> Result<Contents> {
        let located = session.find(name)?;
        Ok(located.repository.contents(&located.revision)?)
    };
    let (old, new) = (read(&args.old)?, read(&args.new)?);
    let diff = contents_diff(&old, &new);
    ui.write_data(diff.as_bytes())?;
    match args.exit_code && !diff.is_empty() {
        true => Err(CommandError::differences().into()),
        false => Ok(()),
    }
}
