//! The directory for results, which may be inside the package.
//!
//! results.yaml is not a resource of the package: functions do not get it, and it is not written back over the new results. kpt
//! treats it as a resource.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use kiln_go::errno_text;
use kiln_krm::read::read_loose_file;
use kiln_krm::results::FunctionResultList;
use kiln_krm::{Dialect, Resource, paths};

use crate::compat::Compat;
use crate::package::write;
use crate::ui::{Record, Ui};

const FILE_NAME: &str = "results.yaml";

pub(crate) fn make_results_directory(directory: &str) -> Result<()> {
    if directory.is_empty() {
        return Ok(());
    }
    match write::make_directories(Path::new(directory)) {
        Ok(_) => Ok(()),
        Err(error) => bail!(
            "cannot read or create results dir {directory:?}: mkdir {directory}: {}",
            errno_text(&error)
        ),
    }
}

/// The paths of results.yaml in the package at `root`. It is an error if the file contains other resources.
pub(crate) fn results_in_package(ui: &Ui, directory: &str, root: &Path) -> Result<Vec<String>> {
    if directory.is_empty() || ui.compat() != Compat::Kiln {
        return Ok(Vec::new());
    }
    let (Ok(root), Ok(directory)) = (root.canonicalize(), Path::new(directory).canonicalize())
    else {
        return Ok(Vec::new());
    };
    let file = directory.join(FILE_NAME);
    // The file may be a link to another file of the package.
    let target = file.canonicalize().ok();
    let mut inside = Vec::new();
    for path in [Some(file), target].into_iter().flatten() {
        let Some(relative) = path.strip_prefix(&root).ok().and_then(Path::to_str) else {
            continue;
        };
        if holds_resources(&path) {
            bail!(
                "{} contains resources, which the results would overwrite; \
                 pass another directory with --results-dir",
                path.display()
            );
        }
        inside.push(relative.to_owned());
    }
    Ok(inside)
}

/// Whether a file contains anything except results.
fn holds_resources(path: &Path) -> bool {
    let bytes = std::fs::read(path).unwrap_or_default();
    let resources = read_loose_file(bytes, Dialect::Current).unwrap_or_default();
    let is_other = |resource: &Resource| resource.kind() != FunctionResultList::KIND;
    resources.iter().any(is_other)
}

/// Writes the results and returns the path of the file, if there is one.
pub(crate) fn save_results(
    directory: &str,
    results: &FunctionResultList,
) -> Result<Option<String>> {
    if directory.is_empty() {
        return Ok(None);
    }
    let path = paths::join(&[directory, FILE_NAME]);
    std::fs::write(&path, results.to_yaml()).map_err(|error| {
        let words = errno_text(&error);
        anyhow!("failed to save function results: open {path}: {words}")
    })?;
    Ok(Some(path))
}

/// Prints the path of the results, after `before`.
pub(crate) fn report_results(ui: &Ui, path: &str, before: &str) {
    let record = Record {
        event: "results",
        file: Some(path),
        ..Record::default()
    };
    ui.log(
        &record,
        &format!("{before}For complete results, see {path}"),
    );
}
