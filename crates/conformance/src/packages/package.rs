//! A package in memory: files, and the pipeline of its Kptfile.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use super::functions::RandomStep;

/// A package whose Kptfile is written from its pipeline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Package {
    /// The Kptfile up to its pipeline.
    pub(super) head: String,
    /// All files but the Kptfile, by path.
    pub(super) files: BTreeMap<String, String>,
    pub(super) pipeline: Vec<RandomStep>,
}

impl Package {
    pub(super) fn write(&self, directory: &Path) -> io::Result<()> {
        for (path, text) in &self.files {
            write(&directory.join(path), text)?;
        }
        write(&directory.join("Kptfile"), &self.kptfile())
    }

    /// Whether a pipeline of the package or of a package in it has a function.
    pub(super) fn has_function(&self, name: &str) -> bool {
        let image = format!("/{name}:");
        let mut kptfiles = self
            .files
            .iter()
            .filter(|(path, _)| path.ends_with("Kptfile"));
        self.pipeline.iter().any(|step| step.function.name == name)
            || kptfiles.any(|(_, text)| text.contains(&image))
    }

    fn kptfile(&self) -> String {
        let steps: String = self.pipeline.iter().map(RandomStep::yaml).collect();
        kptfile(&self.head, &steps)
    }
}

/// A Kptfile of its beginning and the steps of its pipeline.
pub(super) fn kptfile(head: &str, steps: &str) -> String {
    match steps.is_empty() {
        true => head.to_owned(),
        false => format!("{head}pipeline:\n  mutators:\n{steps}"),
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, text)
}

/// All files with their names before them.
impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "--- Kptfile\n{}", self.kptfile())?;
        for (path, text) in &self.files {
            writeln!(f, "--- {path}\n{}", crate::report::numbered(text))?;
        }
        Ok(())
    }
}
