//! Which functions need a container engine, for those who have none.

use kiln_go::quote;
use kiln_krm::kptfile::{FILE_NAME, Kptfile};
use kiln_krm::package::{EntryKind, FileSource};
use kiln_krm::paths;

use super::evaluators::EvaluatorSetup;

/// A function, and the directory of its package if there is one.
pub(crate) type ContainerFunction = (Option<String>, String);

/// All functions of a package and of those inside it that nothing but a container engine can run, in the order of
/// their packages. What cannot be read is left out: it is not what the user has to know now.
pub(crate) fn of_package(
    files: &dyn FileSource,
    running: &EvaluatorSetup,
) -> Vec<ContainerFunction> {
    let mut users = Vec::new();
    let mut pending = vec![String::new()];
    while let Some(directory) = pending.pop() {
        let kptfile = files.read(&paths::join(&[&directory, FILE_NAME])).ok();
        let kptfile = kptfile.and_then(|bytes| Kptfile::read(&bytes).ok());
        let pipeline = kptfile.and_then(|kptfile| kptfile.pipeline);
        if let Some(pipeline) = pipeline {
            let functions = pipeline.mutators.iter().chain(&pipeline.validators);
            let images = functions.filter_map(|function| running.image_for_engine(function));
            users.extend(images.map(|image| (Some(directory.clone()), image)));
        }
        let entries = files.list(&directory).unwrap_or_default().into_iter();
        let mut inner: Vec<String> = entries
            .filter(|entry| entry.kind == EntryKind::Directory && entry.name != ".git")
            .map(|entry| paths::join(&[&directory, &entry.name]))
            .collect();
        inner.sort_by(|one, other| other.cmp(one));
        pending.append(&mut inner);
    }
    users
}

/// What the user can do, with the functions that it is about.
pub(crate) fn hint(users: &[ContainerFunction]) -> String {
    let mut text = String::from(
        "no container engine can be used. Install docker, or set KRM_FN_RUNTIME to podman or nerdctl if that is there. \
         It is needed for:",
    );
    for (directory, image) in users {
        text.push_str(&format!("\n  {image}"));
        if let Some(directory) = directory {
            let shown = if directory.is_empty() { "." } else { directory };
            text.push_str(&format!(" in {}", quote(shown)));
        }
    }
    text
}
