//! `kiln rpkg init`

use anyhow::Result;
use clap::Args;
use clap_complete::ArgValueCompleter;
use kiln_task::{InitTask, NewRevision, PackageMetadata, PackageName, Task};

use super::print_status;
use crate::complete;
use crate::error::{CommandError, bail_usage};
use crate::rpkg::flags::WriteFlags;
use crate::rpkg::render_flags::RenderFlags;
use crate::ui::Ui;

/// Create an empty package
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln rpkg init app --repository blueprints --workspace v1")]
pub(super) struct InitArgs {
    /// Path of the package in the repository (required)
    #[arg(value_name = "PACKAGE_NAME")]
    package: Option<String>,
    /// Name of the repository. Default: the only repository
    #[arg(long, value_name = "NAME", add = ArgValueCompleter::new(complete::repositories))]
    repository: Option<String>,
    /// Workspace name of the new revision, unique within the package (required)
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
        bail_usage!("PACKAGE_NAME is a required positional argument");
    };
    let session = args.write.open(&args.render.ui(ui))?;
    let repository = args.repository.as_deref().or(session.only_repository());
    let repository = repository.ok_or_else(|| {
        CommandError::usage("--repository is required to specify target repository")
    })?;
    let workspace = args.workspace.as_ref().filter(|name| !name.is_empty());
    let Some(workspace) = workspace else {
        bail_usage!("--workspace is required to specify workspace name");
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
    let setup = args.render.check(ui)?;
    let log = args.render.log(ui);
    let created = session.engine(&setup, &log).create(&new);
    let created = created.map_err(|error| session.explain(error))?;
    print_status(ui, &created.name.to_string(), "created")
}
