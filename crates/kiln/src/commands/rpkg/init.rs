//! `kiln rpkg init`

use anyhow::{Result, anyhow, bail};
use clap::Args;
use kiln_task::{InitTask, NewRevision, PackageMetadata, PackageName, Task};

use super::done;
use super::place::ChangeArgs;
use super::rendering::RenderFlags;
use crate::ui::Ui;

/// Begin a new package
#[derive(Args, Debug)]
pub(super) struct InitArgs {
    /// The package: its directory in the repository
    #[arg(value_name = "PACKAGE_NAME")]
    package: Option<String>,
    /// The repository, by name; the only one there is if not given
    #[arg(long, value_name = "NAME")]
    repository: Option<String>,
    /// What tells the revision from others of the package
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,
    /// A sentence or two about the package
    #[arg(long, value_name = "TEXT", default_value = "sample description")]
    description: String,
    /// Words to search by
    #[arg(long, value_name = "WORD", value_delimiter = ',')]
    keywords: Vec<String>,
    /// A web page about the package
    #[arg(long, value_name = "URL", default_value = "")]
    site: String,
    #[command(flatten)]
    change: ChangeArgs,
    #[command(flatten)]
    render: RenderFlags,
}

pub(super) fn cmd_init(ui: &Ui, args: &InitArgs) -> Result<()> {
    let Some(package) = &args.package else {
        bail!("PACKAGE_NAME is a required positional argument");
    };
    let session = args.change.open()?;
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
    let rendering = args.render.check()?;
    let log = args.render.log(ui);
    let created = session.engine(&rendering, &log).create(&new)?;
    done(ui, &created.name.to_string(), "created")
}
