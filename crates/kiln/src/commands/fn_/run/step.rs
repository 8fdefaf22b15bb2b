//! One function to run: its runner, its configuration and the resources it gets.

use std::path::PathBuf;
use std::sync::Arc;

use kiln_krm::Resource;
use kiln_krm::annotations::LEGACY_PATH;
use kiln_krm::paths::{base, clean, directory};
use kiln_runtime::Runner;

use crate::error::FilePosition;

pub(super) struct Step {
    /// The image, program or script.
    pub(super) name: String,
    /// Where it is declared; `None` if on the command line.
    pub(super) position: Option<FilePosition>,
    pub(super) is_image: bool,
    /// Whether it is a script, whose failures have their own messages.
    pub(super) is_script: bool,
    pub(super) runner: Arc<dyn Runner>,
    /// The directory of its configuration, to which new resources are written; empty if the configuration has no file.
    pub(super) directory: String,
    pub(super) scope: Scope,
    pub(super) results_file: Option<PathBuf>,
    /// Whether its failure is reported after all functions have run.
    pub(super) defers_failure: bool,
}

/// The resource that declares a function, which is its configuration.
pub(super) struct Config {
    pub(super) resource: Resource,
    /// Its index among the resources that were read, if it is one of them.
    pub(super) original: Option<usize>,
}

/// Which resources a function gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scope {
    Global,
    /// The resources in the directory of its configuration.
    Directory,
}

impl Config {
    /// The directory of the function; empty if the configuration has no file.
    pub(super) fn directory(&self) -> String {
        let path = self.resource.annotation(LEGACY_PATH);
        path.map(directory_of).unwrap_or_default()
    }
}

impl Step {
    /// Whether the function gets a resource. A path that starts with the name of the directory counts as inside it.
    pub(super) fn selects(&self, resource: &Resource) -> bool {
        if self.scope == Scope::Global || matches!(self.directory.as_str(), "" | ".") {
            return true;
        }
        let path = resource.annotation(LEGACY_PATH);
        path.is_some_and(|path| directory_of(path).starts_with(&self.directory))
    }
}

/// The directory of a file; for a file in a directory called `functions`, the parent of that.
pub(super) fn directory_of(path: &str) -> String {
    let dir = clean(&directory(path));
    match base(&dir) {
        "functions" => directory(&dir),
        _ => dir,
    }
}
