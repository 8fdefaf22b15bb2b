//! `kiln rpkg copy`

use anyhow::Result;
use clap::Args;
use clap_complete::ArgValueCompleter;
use kiln_task::{EditTask, NewRevision, PackageMetadata, RevisionRef, Task};

use super::print_status;
use crate::complete;
use crate::error::bail_usage;
use crate::rpkg::flags::WriteFlags;
use crate::rpkg::render_flags::RenderFlags;
use crate::ui::Ui;

/// Create a revision of a package as a copy of a published one
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln rpkg copy blueprints.app.v1 --workspace v2")]
pub(super) struct CopyArgs {
    /// Revision to copy (required)
    #[arg(value_name = "SOURCE_PACKAGE", add = ArgValueCompleter::new(complete::revisions))]
    source: Vec<String>,
    /// Workspace name of the new revision, unique within the package (required)
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,
    #[command(flatten)]
    write: WriteFlags,
    #[command(flatten)]
    render: RenderFlags,
}

pub(super) fn cmd_copy(ui: &Ui, args: &CopyArgs) -> Result<()> {
    let source = match &args.source[..] {
        [source] => source,
        [] => bail_usage!("SOURCE_PACKAGE is a required positional argument"),
        _ => bail_usage!(
            "too many arguments; SOURCE_PACKAGE is the only accepted positional arguments"
        ),
    };
    let workspace = args.workspace.as_ref().filter(|name| !name.is_empty());
    let Some(workspace) = workspace else {
        bail_usage!("--workspace is required to specify workspace name");
    };
    let session = args.write.open(&args.render.ui(ui))?;
    let located = session.find(source)?;
    let new = NewRevision {
        name: located.revision.name.package.revision(workspace),
        task: Some(Task::Edit(EditTask {
            source: Some(RevisionRef {
                name: source.clone(),
            }),
        })),
        metadata: PackageMetadata::default(),
    };
    let setup = args.render.check(ui)?;
    let log = args.render.log(ui);
    let created = session.engine(&setup, &log).create(&new);
    let created = created.map_err(|error| session.explain(error))?;
    print_status(ui, &created.name.to_string(), "created")
}
