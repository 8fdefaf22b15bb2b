//! `kiln rpkg init`

use anyhow::{Result, anyhow, bail};
use clap::Args;
use kiln_task::{InitTask, NewRevision, PackageMetadata, PackageName, Task};

use super::print_status;
use crate::rpkg::flags::WriteFlags;
use crate::rpkg::render_flags::RenderFlags;
use crate::ui::Ui;

/// Create an empty package
#[derive(Args, Debug)]
pub(super) struct InitArgs {
    /// Path of the package in the repository
    #[arg(value_name = "PACKAGE_NAME")]
    package: Option<String>,
    /// Name of the repository. Default: the only repository
    #[arg(long, value_name = "NAME")]
    repository: Option<String>,
    /// Workspace name of the new revision, unique within the package
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,
    /// Description of the package
    #[arg(long, value_name = "TEXT", default_value = "sample description")]
    description: String,
    /// Keywords of the package
    #[arg(long, value_name = "WORD", value_delimiter = ',')]
    keywords: Vec<String>,
    /// Web page of the package
    #[arg(long, value_name = "URL", default_value = "")]
    site: String,
    #[command(flatten)]
    write: WriteFlags,
    #[command(flatten)]
    render: RenderFlags,
}

pub(super) fn cmd_init(ui: &Ui, args: &InitArgs) -> Result<()> {
    let Some(package) = &args.package else {
        bail!("PACKAGE_NAME is a required positional argument");
    };
    let session = args.write.open()?;
    let repository = args.repository.as_deref().or(session.only_repository());
    let repository = repository
        .ok_or_else(|| anyhow!("--repository is required to specify target repository"))?;
    let workspace = args.workspace.as_ref().filter(|name| !name.is_empty());
    let Some(workspace) = workspace else {
        bail!("--workspace is required to specify workspace name");
    };
    let new = NewRevision {
        name: PackageName::new(repository, package).revision(workspace),
        task: Some(Task::Init(InitTask {
            subpackage: String::new(),
            description: args.description.clone(),
            keywords: args.keywords.clone(),
            site: args.site.clone(),
        })),
        metadata: PackageMetadata::default(),
    };
    let setup = args.render.check()?;
    let log = args.render.log(ui);
    let created = session.engine(&setup, &log).create(&new)?;
    print_status(ui, &created.name.to_string(), "created")
}
