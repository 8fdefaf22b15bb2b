//! `kiln rpkg push`

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;
use kiln_krm::read::read_input;
use kiln_krm::write::write_documents;
use kiln_krm::{Dialect, Resource};
use kiln_task::{Contents, File, FileMode, OnRenderFailure};

use super::place::ChangeArgs;
use super::pull::resources_in;
use super::rendering::RenderFlags;
use super::{directory, done, revision_file};
use crate::ui::Ui;

/// Replace the files of a draft
#[derive(Args, Debug)]
pub(super) struct PushArgs {
    /// The draft
    #[arg(value_name = "PACKAGE")]
    name: Option<String>,
    /// A directory that was pulled, or - for a ResourceList on standard input
    #[arg(value_name = "DIR|-")]
    directory: Option<String>,
    /// Push even if the package cannot be rendered
    #[arg(long)]
    push_on_render_failure: bool,
    #[command(flatten)]
    change: ChangeArgs,
    #[command(flatten)]
    render: RenderFlags,
}

pub(super) fn cmd_push(ui: &Ui, args: &PushArgs) -> Result<()> {
    let Some(name) = &args.name else {
        bail!("PACKAGE name is a required positional argument");
    };
    let place = args.directory.as_deref();
    if place.is_none() {
        ui.warn("standard input is read because no directory is given; say so with -");
    }
    let place = place.filter(|place| *place != "-");
    let mut contents = match place {
        Some(place) => directory::read(Path::new(place))?,
        None => from_list(ui.read_data()?)?,
    };
    let qualified = format!("{}/{name}", args.change.place.namespace());
    let version = revision_file::take(&mut contents, &qualified)?;
    let on_failure = match args.push_on_render_failure {
        true => OnRenderFailure::Push,
        false => OnRenderFailure::Refuse,
    };
    let session = args.change.open()?;
    if place.is_none() {
        let (repository, revision) = session.find(name)?;
        keep_the_rest(&mut contents, &repository.contents(&revision)?)?;
    }
    let rendering = args.render.check()?;
    let log = args.render.log(ui);
    let engine = session.engine(&rendering, &log);
    engine.push(name, &contents, &version, on_failure)?;
    done(ui, name, "pushed")
}

/// The files that a list of resources means.
fn from_list(list: Vec<u8>) -> Result<Contents> {
    let mut files: BTreeMap<String, Vec<Resource>> = BTreeMap::new();
    for resource in read_input(list, Dialect::Current)?.items {
        let path = match resource.file_place().0 {
            "" => default_path(&resource),
            path => path.to_owned(),
        };
        files.entry(path).or_default().push(resource);
    }
    let mut contents = Contents::new();
    for (path, mut resources) in files {
        resources.sort_by_key(|one| one.file_place().1.parse::<u64>().unwrap_or(u64::MAX));
        contents.insert_text(&path, write_documents(resources, Dialect::Current)?)?;
    }
    Ok(contents)
}

/// What a list cannot have stays: files that are no resources, links, and the right to be executed.
fn keep_the_rest(contents: &mut Contents, old: &Contents) -> Result<()> {
    for (path, file) in old.iter() {
        // What could not be read was not in the list.
        let listed = resources_in(old, path).ok().flatten();
        let is_listed = listed.is_some_and(|resources| !resources.is_empty());
        let pushed = contents.bytes(path.as_str()).map(<[u8]>::to_vec);
        match pushed {
            None if is_listed => {}
            None => contents.insert(path.clone(), file.clone())?,
            Some(bytes) if file.mode == FileMode::Executable => {
                let (bytes, mode) = (bytes.into(), file.mode);
                contents.insert(path.clone(), File { bytes, mode })?;
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn default_path(resource: &Resource) -> String {
    let or = |text: &str, usual: &str| match text {
        "" => usual.to_owned(),
        text => text.to_owned(),
    };
    let namespace = or(resource.namespace(), "non-namespaced");
    format!("{namespace}/{}.yaml", or(resource.name(), "unnamed"))
}
