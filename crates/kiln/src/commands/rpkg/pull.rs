//! `kiln rpkg pull`

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use kiln_krm::kptfile;
use kiln_krm::read::{FileOptions, read_file};
use kiln_krm::{Dialect, Resource, Wrapper, write_list};
use kiln_task::{Contents, PackagePath};

use super::place::PlaceArgs;
use super::{directory, revision_file};
use crate::ui::Ui;

/// Get the files of a revision
#[derive(Args, Debug)]
pub(super) struct PullArgs {
    /// The revision
    #[arg(value_name = "PACKAGE")]
    name: Option<String>,
    /// A directory to make; without one the resources are printed as a ResourceList
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(super) fn cmd_pull(ui: &Ui, args: &PullArgs) -> Result<()> {
    let Some(name) = &args.name else {
        bail!("PACKAGE is a required positional argument");
    };
    let session = args.place.open()?;
    let (repository, revision) = session.find(name)?;
    let mut contents = repository.contents(&revision)?;
    revision_file::add(&mut contents, &repository, &revision)?;
    match &args.directory {
        Some(place) => directory::write(&contents, place),
        None => ui.write_data(resource_list(&contents)?.as_bytes()),
    }
}

/// The resources of a file; none if it is not one that has any.
pub(super) fn resources_in(
    contents: &Contents,
    path: &PackagePath,
) -> Result<Option<Vec<Resource>>> {
    let name = path.name();
    let is_wanted = [".yaml", ".yml", ".json"]
        .iter()
        .any(|end| name.ends_with(end))
        || matches!(name, kptfile::FILE_NAME | revision_file::FILE_NAME);
    let Some(bytes) = contents.bytes(path.as_str()).filter(|_| is_wanted) else {
        return Ok(None);
    };
    match read_file(path.as_str(), bytes.to_vec(), &FileOptions::default()) {
        Ok(resources) => Ok(Some(resources)),
        Err(error) => bail!("{path}: {error}"),
    }
}

/// All resources with the files they are in; other files are left out.
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
