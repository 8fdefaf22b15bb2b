//! `kiln rpkg push`

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use clap::Args;
use clap_complete::ArgValueCompleter;
use kiln_krm::read::{TrailingText, read_input_with};
use kiln_krm::write::write_documents;
use kiln_krm::{Dialect, Resource};
use kiln_task::{Contents, FileMode, OnRenderFailure, PackageFile, PackagePath};

use super::print_status;
use super::pull::resources_in;
use crate::complete;
use crate::error::bail_usage;
use crate::report::changes::{self, Made};
use crate::rpkg::flags::WriteFlags;
use crate::rpkg::render_flags::RenderFlags;
use crate::rpkg::{directory, revision_file};
use crate::ui::Ui;

/// Replace the files of a draft
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln rpkg push blueprints.app.v1 app")]
pub(super) struct PushArgs {
    /// Draft whose files to replace (required)
    #[arg(value_name = "PACKAGE", add = ArgValueCompleter::new(complete::revisions))]
    name: Option<String>,
    /// Directory with the pulled files, or - to read a ResourceList from standard input
    #[arg(value_name = "DIR|-")]
    directory: Option<String>,
    /// Push even if rendering fails
    #[arg(long)]
    push_on_render_failure: bool,
    #[command(flatten)]
    write: WriteFlags,
    #[command(flatten)]
    render: RenderFlags,
}

pub(super) fn cmd_push(ui: &Ui, args: &PushArgs) -> Result<()> {
    let Some(name) = &args.name else {
        bail_usage!("PACKAGE name is a required positional argument");
    };
    let path = args.directory.as_deref();
    if path.is_none() {
        ui.warn("reading standard input because no directory is given; pass - to read it without this warning");
    }
    let path = path.filter(|path| *path != "-");
    let mut contents = match path {
        Some(path) => directory::read(Path::new(path))?,
        None => from_list(ui.read_data()?)?,
    };
    let qualified = format!("{}/{name}", args.write.repository.namespace());
    let version = revision_file::take(&mut contents, &qualified)?;
    let on_failure = match args.push_on_render_failure {
        true => OnRenderFailure::Push,
        false => OnRenderFailure::Refuse,
    };
    let session = args.write.open(&args.render.ui(ui))?;
    let located = session.find(name)?;
    let old = located.repository.contents(&located.revision)?;
    if path.is_none() {
        keep_unlisted_files(&mut contents, &old)?;
    }
    let setup = args.render.check(ui)?;
    let log = args.render.log(ui);
    let engine = session.engine(&setup, &log);
    let pushed = engine.push(&located, &contents, &version, on_failure)?;
    if !args.render.is_quiet() {
        let mut revision = located.revision.clone();
        revision.commit = pushed.commit;
        let new = located.repository.contents(&revision)?;
        changes::report_names(ui, &changed_files(&old, &new), Made::Yes);
    }
    print_status(ui, name, "pushed")
}

/// The files that differ, in the order of their names.
fn changed_files(old: &Contents, new: &Contents) -> Vec<String> {
    let paths: BTreeSet<&PackagePath> = old.paths().chain(new.paths()).collect();
    let names = paths.into_iter().filter_map(|path| {
        match (old.get(path.as_str()), new.get(path.as_str())) {
            (old, new) if old == new => None,
            (_, None) => Some(format!("{path} (deleted)")),
            _ => Some(path.to_string()),
        }
    });
    names.collect()
}

/// The files of a list of resources, by their path annotations.
fn from_list(list: Vec<u8>) -> Result<Contents> {
    let mut files: BTreeMap<String, Vec<Resource>> = BTreeMap::new();
    for resource in read_input_with(list, Dialect::Current, TrailingText::Refused)?.items {
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

/// Keeps what a list of resources cannot express: other files, symbolic links and the executable bit.
fn keep_unlisted_files(contents: &mut Contents, old: &Contents) -> Result<()> {
    for (path, file) in old.iter() {
        // A file that cannot be parsed was not in the list.
        let listed = resources_in(old, path).ok().flatten();
        let is_listed = listed.is_some_and(|resources| !resources.is_empty());
        let pushed = contents.bytes(path.as_str()).map(<[u8]>::to_vec);
        match pushed {
            None if is_listed => {}
            None => contents.insert(path.clone(), file.clone())?,
            Some(bytes) if file.mode == FileMode::Executable => {
                let (bytes, mode) = (bytes.into(), file.mode);
                contents.insert(path.clone(), PackageFile { bytes, mode })?;
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn default_path(resource: &Resource) -> String {
    let or_default = |text: &str, default: &str| match text {
        "" => default.to_owned(),
        text => text.to_owned(),
    };
    let namespace = or_default(resource.namespace(), "non-namespaced");
    format!(
        "{namespace}/{}.yaml",
        or_default(resource.name(), "unnamed")
    )
}
