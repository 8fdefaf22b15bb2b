//! `.KptRevisionMetadata`: the file beside pulled files with the name and version of their revision.

use anyhow::{Result, anyhow};
use kiln_task::git::Revision;
use kiln_task::{Contents, PackagePath, Repository};
use kiln_yaml::{NodeRef, parse_first};
use serde_json::json;

use super::api_object::{API_VERSION, metadata};
use super::output::to_yaml;
use crate::error::CommandError;

pub(crate) const FILE_NAME: &str = ".KptRevisionMetadata";
const KIND: &str = "KptRevisionMetadata";

pub(crate) fn add(
    contents: &mut Contents,
    repository: &Repository,
    revision: &Revision,
) -> Result<()> {
    let text = to_yaml(&json!({
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": metadata(repository, revision),
    }));
    contents.insert_text(FILE_NAME, &text)?;
    Ok(())
}

/// Removes the file from contents and returns the version in it. `name` is the namespace and name of the revision.
pub(crate) fn take(contents: &mut Contents, name: &str) -> Result<String> {
    let path = PackagePath::new(FILE_NAME)?;
    let file = contents.remove(path.as_str());
    let document = file.and_then(|file| parse_first(&file.bytes).ok().flatten());
    let document = document.ok_or_else(|| {
        missing(anyhow!(
            "{FILE_NAME:?} not found in PackageRevisionResources '{name}'"
        ))
    })?;
    let text = |path: &[&str]| document.root().get_path(path).and_then(NodeRef::as_text);
    if text(&["kind"]) != Some(KIND) {
        return Err(missing(anyhow!(
            "{FILE_NAME:?} does not contain kind {KIND:?} in PackageRevisionResources '{name}'"
        )));
    }
    Ok(text(&["metadata", "resourceVersion"])
        .unwrap_or_default()
        .to_owned())
}

fn missing(error: anyhow::Error) -> anyhow::Error {
    let hint = "use \"kiln rpkg pull\" to download the remote package metadata before pushing";
    CommandError::with_hint(error, hint).into()
}
