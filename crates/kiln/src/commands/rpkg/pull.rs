//! `kiln rpkg pull`

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use clap_complete::ArgValueCompleter;
use kiln_krm::kptfile;
use kiln_krm::read::{FileOptions, read_file};
use kiln_krm::{Dialect, Resource, Wrapper, write_list};
use kiln_task::{Contents, PackagePath};

use crate::complete;
use crate::error::bail_usage;
use crate::rpkg::flags::RepositoryFlags;
use crate::rpkg::{directory, revision_file};
use crate::ui::Ui;

/// Write the files of a revision to a directory, or print them
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln rpkg pull blueprints.app.v1 app")]
pub(super) struct PullArgs {
    /// Revision to pull (required)
    #[arg(value_name = "PACKAGE", add = ArgValueCompleter::new(complete::revisions))]
    name: Option<String>,
    /// Directory to create. Default: print the resources as a ResourceList
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
    #[command(flatten)]
    repository: RepositoryFlags,
}

pub(super) fn cmd_pull(ui: &Ui, args: &PullArgs) -> Result<()> {
    let Some(name) = &args.name else {
        bail_usage!("PACKAGE is a required positional argument");
    };
    let session = args.repository.open(ui)?;
    let located = session.find(name)?;
    let mut contents = located.repository.contents(&located.revision)?;
    revision_file::add(&mut contents, &located.repository, &located.revision)?;
    match &args.directory {
        Some(path) => directory::write(&contents, path),
        None => ui.write_data(resource_list(&contents)?.as_bytes()),
    }
}

/// The resources in a file; `None` if it is not a file of resources.
pub(super) fn resources_in(
    contents: &Contents,
    path: &PackagePath,
) -> Result<Option<Vec<Resource>>> {
    let name = path.name();
    let has_resources = [".yaml", ".yml", ".json"]
        .iter()
        .any(|end| name.ends_with(end))
        || matches!(name, kptfile::FILE_NAME | revision_file::FILE_NAME);
    let Some(bytes) = contents.bytes(path.as_str()).filter(|_| has_resources) else {
        return Ok(None);
    };
    match read_file(path.as_str(), bytes.to_vec(), &FileOptions::default()) {
        Ok(resources) => Ok(Some(resources)),
        Err(error) => bail!("{path}: {error}"),
    }
}

/// All resources, annotated with their files. Other files are left out.
fn resource_list(contents: &Contents) -> Result<String> {
    let mut items = Vec::new();
    for path in contents.paths() {
        if let Some(resources) = resources_in(contents, path)? {
            items.extend(resources);
        }
    }
    for item in &mut items {
        item.remove_annotation(kiln_krm::annotations::SEQINDENT)?;
    }
    let wrapper = Wrapper::resource_list(Dialect::Current);
    Ok(write_list(&wrapper, &items, None, None))
}
