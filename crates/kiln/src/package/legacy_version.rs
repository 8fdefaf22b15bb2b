//! The check that kpt v0.39 makes first: all Kptfiles must have the version of that time.
//!
//! It checks only the type of a Kptfile, not its other fields.

use anyhow::{Result, anyhow, bail};
use kiln_krm::Resource;
use kiln_krm::package::{EntryKind, FileError, FileSource, PACKAGE_FILE};
use kiln_package::DiskFiles;
use kiln_yaml::parse_first;

use crate::package::Location;
use crate::ui::Ui;

/// Refuses a directory with a Kptfile of another version. A missing directory is reported later.
pub(crate) fn check_kptfiles(ui: &Ui, named: &str) -> Result<()> {
    let Ok(location) = Location::unresolved(named) else {
        return Ok(());
    };
    let files = DiskFiles::open(location.root(), ui.compat().outside_links())?;
    let check = |path: &str| {
        let bytes = files
            .read(path)
            .map_err(|error| unreadable(&location.absolute(path), &error))?;
        let directory = path.strip_suffix(PACKAGE_FILE).unwrap_or(path);
        check_type(&bytes, &location.absolute(directory.trim_end_matches('/')))
    };
    if let Some(name) = location.file() {
        return match name {
            PACKAGE_FILE => check(name),
            _ => Ok(()),
        };
    }
    // A stack of paths to check.
    let mut pending = vec![String::new()];
    while let Some(path) = pending.pop() {
        let name = path.rsplit('/').next().unwrap_or_default();
        if name == PACKAGE_FILE {
            check(&path)?;
            continue;
        }
        let entries = files
            .list(&path)
            .map_err(|error| anyhow!("open {}: {error}", location.absolute(&path)))?;
        let wanted = entries
            .into_iter()
            .rev()
            .filter(|entry| entry.name == PACKAGE_FILE || entry.kind == EntryKind::Directory);
        pending.extend(wanted.map(|entry| match path.as_str() {
            "" => entry.name,
            path => format!("{path}/{}", entry.name),
        }));
    }
    Ok(())
}

fn unreadable(path: &str, error: &FileError) -> anyhow::Error {
    match error {
        FileError::NotFound(_) => {
            anyhow!("unable to read {PACKAGE_FILE:?}: open {path}: no such file or directory")
        }
        FileError::IsDirectory(_) => {
            anyhow!("unable to read {PACKAGE_FILE:?}: read {path}: is a directory")
        }
        FileError::Failed { reason, .. } => {
            anyhow!("unable to read {PACKAGE_FILE:?}: open {path}: {reason}")
        }
    }
}

fn check_type(bytes: &[u8], directory: &str) -> Result<()> {
    let Some(document) = parse_first(bytes)? else {
        bail!("EOF");
    };
    let is_null = document.root().is_null();
    let resource = Resource::new(document);
    let (api_version, kind) = (resource.api_version(), resource.kind());
    if !is_null && resource.meta().is_missing {
        bail!("missing Resource metadata");
    }
    match (api_version.split_once('/'), kind) {
        (Some((_, version)), _) if version.contains('/') => {
            bail!("unexpected GroupVersion string: {api_version}")
        }
        (Some(("kpt.dev", "v1alpha1")), PACKAGE_FILE) => Ok(()),
        (Some(("kpt.dev", version)), PACKAGE_FILE) => bail!(
            "package at {directory:?} is using a newer version ({version:?}) of the Kptfile schema. \
             Please try updating kpt."
        ),
        _ => bail!("unknown resource type: {api_version}, Kind={kind}"),
    }
}
