//! Lists the functions that need a container engine, for the hint that none is available.

use kiln_go::quote;
use kiln_krm::kptfile::{FILE_NAME, Kptfile};
use kiln_krm::package::{EntryKind, FileSource};
use kiln_krm::paths;

use super::evaluators::EvaluatorSetup;

/// The directory of a package, if there is one, and an image.
pub(crate) type ContainerFunction = (Option<String>, String);

/// The functions of a package and its sub-packages that only a container engine can run, in the order of the packages.
/// Unreadable Kptfiles are skipped: the hint is about another error.
pub(crate) fn of_package(files: &dyn FileSource, setup: &EvaluatorSetup) -> Vec<ContainerFunction> {
    let mut found = Vec::new();
    let mut pending = vec![String::new()];
    while let Some(directory) = pending.pop() {
        let kptfile = files.read(&paths::join(&[&directory, FILE_NAME])).ok();
        let kptfile = kptfile.and_then(|bytes| Kptfile::read(&bytes).ok());
        let pipeline = kptfile.and_then(|kptfile| kptfile.pipeline);
        if let Some(pipeline) = pipeline {
            let functions = pipeline.mutators.iter().chain(&pipeline.validators);
            let images = functions.filter_map(|function| setup.image_for_engine(function));
            found.extend(images.map(|image| (Some(directory.clone()), image)));
        }
        let entries = files.list(&directory).unwrap_or_default().into_iter();
        let mut inner: Vec<String> = entries
            .filter(|entry| entry.kind == EntryKind::Directory && entry.name != ".git")
            .map(|entry| paths::join(&[&directory, &entry.name]))
            .collect();
        inner.sort_by(|one, other| other.cmp(one));
        pending.append(&mut inner);
    }
    found
}

/// The hint, with the list of functions.
pub(crate) fn hint(functions: &[ContainerFunction]) -> String {
    let mut text = String::from(
        "no container engine is available. Install docker, or set KRM_FN_RUNTIME to podman or nerdctl. \
         These functions need it:",
    );
    for (directory, image) in functions {
        text.push_str(&format!("\n  {image}"));
        if let Some(directory) = directory {
            let shown = if directory.is_empty() { "." } else { directory };
            text.push_str(&format!(" in {}", quote(shown)));
        }
    }
    text
}
