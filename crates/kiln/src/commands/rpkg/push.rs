//! `kiln rpkg push`

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;
use kiln_krm::read::read_input;
use kiln_krm::write::write_documents;
use kiln_krm::{Dialect, Resource};
use kiln_task::{Contents, OnRenderFailure};

use super::place::ChangeArgs;
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
    let mut contents = match args.directory.as_deref() {
        Some("-") => from_list(ui.read_data()?)?,
        Some(place) => directory::read(Path::new(place))?,
        None => {
            ui.warn("standard input is read because no directory is given; say so with -");
            from_list(ui.read_data()?)?
        }
    };
    let qualified = format!("{}/{name}", args.change.place.namespace());
    let version = revision_file::take(&mut contents, &qualified)?;
    let on_failure = match args.push_on_render_failure {
        true => OnRenderFailure::Push,
        false => OnRenderFailure::Refuse,
    };
    let session = args.change.open()?;
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

fn default_path(resource: &Resource) -> String {
    let or = |text: &str, usual: &str| match text {
        "" => usual.to_owned(),
        text => text.to_owned(),
    };
    let namespace = or(resource.namespace(), "non-namespaced");
    format!("{namespace}/{}.yaml", or(resource.name(), "unnamed"))
}
