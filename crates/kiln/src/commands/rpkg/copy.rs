//! `kiln rpkg copy`

use anyhow::{Result, bail};
use clap::Args;
use kiln_task::{EditTask, NewRevision, PackageMetadata, RevisionRef, Task};

use super::print_status;
use crate::rpkg::flags::WriteFlags;
use crate::rpkg::render_flags::RenderFlags;
use crate::ui::Ui;

/// Create a revision of a package as a copy of a published one
#[derive(Args, Debug)]
pub(super) struct CopyArgs {
    /// Revision to copy
    #[arg(value_name = "SOURCE_PACKAGE")]
    source: Vec<String>,
    /// Workspace name of the new revision, unique within the package
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
        [] => bail!("SOURCE_PACKAGE is a required positional argument"),
        _ => bail!("too many arguments; SOURCE_PACKAGE is the only accepted positional arguments"),
    };
    let workspace = args.workspace.as_ref().filter(|name| !name.is_empty());
    let Some(workspace) = workspace else {
        bail!("--workspace is required to specify workspace name");
    };
    let session = args.write.open()?;
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
    let setup = args.render.check()?;
    let log = args.render.log(ui);
    let created = session.engine(&setup, &log).create(&new)?;
    print_status(ui, &created.name.to_string(), "created")
}
