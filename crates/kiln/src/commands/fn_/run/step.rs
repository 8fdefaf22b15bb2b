//! One function that is to be run: what runs it, its configuration and what it sees.

use std::path::PathBuf;
use std::sync::Arc;

use kiln_krm::Resource;
use kiln_krm::annotations::LEGACY_PATH;
use kiln_krm::paths::{base, clean, directory};
use kiln_runtime::Runner;

/// A function that is to be run.
pub(super) struct Step {
    /// The image or the program.
    pub(super) name: String,
    /// Where it is declared, as messages name it; none if on the command line.
    pub(super) place: Option<String>,
    pub(super) is_image: bool,
    /// Whether it is a script, whose failure has words of its own.
    pub(super) is_script: bool,
    pub(super) runner: Arc<dyn Runner>,
    /// The directory of its configuration, which new resources go to; empty if it comes from no file.
    pub(super) directory: String,
    pub(super) scope: Scope,
    /// Where what it reports goes.
    pub(super) results_file: Option<PathBuf>,
    /// Whether its failure waits until all others have run.
    pub(super) defers_failure: bool,
}

/// The resource that declares a function, which is its configuration.
pub(super) struct Config {
    pub(super) resource: Resource,
    /// Its place among the resources that were read, if it is one of them.
    pub(super) original: Option<usize>,
}

/// What a function sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scope {
    /// Everything.
    Global,
    /// What lies in the directory of its configuration.
    Directory,
}

impl Config {
    /// The directory that the function counts for; empty if it comes from no file.
    pub(super) fn directory(&self) -> String {
        let path = self.resource.annotation(LEGACY_PATH);
        path.map(directory_of).unwrap_or_default()
    }
}

impl Step {
    /// Whether the function sees a resource. What begins with the name of a directory counts as being in it.
    pub(super) fn sees(&self, resource: &Resource) -> bool {
        if self.scope == Scope::Global || matches!(self.directory.as_str(), "" | ".") {
            return true;
        }
        let path = resource.annotation(LEGACY_PATH);
        path.is_some_and(|path| directory_of(path).starts_with(&self.directory))
    }
}

/// The directory a file counts for: that of a directory called `functions` is the one above.
pub(super) fn directory_of(path: &str) -> String {
    let dir = clean(&directory(path));
    match base(&dir) {
        "functions" => directory(&dir),
        _ => dir,
    }
}
