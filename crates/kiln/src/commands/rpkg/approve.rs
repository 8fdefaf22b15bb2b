//! `kiln rpkg approve`

use anyhow::Result;
use clap::Args;
use kiln_task::{ApproveError, Lifecycle, Overwrite};

use super::done;
use super::each::each;
use super::place::ChangeArgs;
use super::rendering::Rendering;
use crate::commands::function::terminal::Terminal;
use crate::ui::{Details, Failed, Ui};

/// Publish what was proposed
#[derive(Args, Debug)]
pub(super) struct ApproveArgs {
    /// The proposals
    #[arg(value_name = "PACKAGE")]
    names: Vec<String>,
    /// Publish even if another revision was published since the draft was begun, whose changes are lost then
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    change: ChangeArgs,
}

pub(super) fn cmd_approve(ui: &Ui, args: &ApproveArgs) -> Result<()> {
    let session = args.change.open()?;
    let (rendering, log) = (Rendering::default(), Terminal::new(ui));
    let engine = session.engine(&rendering, &log);
    let overwrite = match args.force {
        true => Overwrite::Force,
        false => Overwrite::Refuse,
    };
    each(ui, &args.names, |name| {
        match engine.approve(name, overwrite) {
            // To have been approved before is no mistake.
            Ok(_) | Err(ApproveError::NotProposed(Lifecycle::Published)) => {
                done(ui, name, "approved")
            }
            Err(error) => Err(with_hint(error)),
        }
    })
}

fn with_hint(error: ApproveError) -> anyhow::Error {
    let hint = match &error {
        ApproveError::Overwrites { .. } => {
            "copy the latest revision and make the change there, or approve with --force"
        }
        ApproveError::NotAtomic => "approve with --no-atomic",
        ApproveError::NoBranch(_) => {
            "make the branch, or `kiln repo register --create-branch` the repository"
        }
        _ => return error.into(),
    };
    Failed {
        message: Some(format!("error: {:#}", anyhow::Error::from(error))),
        details: Details {
            hint: Some(hint.to_owned()),
            ..Details::default()
        },
    }
    .into()
}
