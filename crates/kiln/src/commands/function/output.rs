//! Where the outcome of functions goes: resources to standard output or a new directory, results to their file.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use kiln_krm::read::read_input;
use kiln_krm::results::FunctionResultList;
use kiln_krm::write::write_documents;
use kiln_krm::{Resource, Wrapper, paths, write_list};

use kiln_package::{Durability, system_words};

use super::sink;
use crate::ui::{Record, Ui};

/// What `--output` asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Destination {
    /// Back to where the resources came from.
    InPlace,
    /// A ResourceList on standard output.
    Stdout,
    /// Plain documents on standard output.
    Unwrap,
    /// A new directory.
    Directory(String),
}

impl Destination {
    /// Reads the flag; a directory must not exist.
    pub(super) fn parse(ui: &Ui, output: &str) -> Result<Destination> {
        Ok(match output {
            "" => Destination::InPlace,
            "stdout" => Destination::Stdout,
            "unwrap" => Destination::Unwrap,
            directory => {
                sink::check_absent(ui, directory)?;
                Destination::Directory(directory.to_owned())
            }
        })
    }

    /// Brings resources there; in place means standard output here, for those that came from standard input.
    pub(super) fn write(&self, ui: &Ui, resources: &[Resource]) -> Result<()> {
        let dialect = ui.compat().dialect();
        let list = write_list(&Wrapper::resource_list(dialect), resources, None, None);
        match self {
            Destination::InPlace | Destination::Stdout => ui.write_data(list.as_bytes()),
            Destination::Unwrap => {
                let list = read_input(list.into_bytes(), dialect)?;
                let documents = write_documents(list.items, dialect)?;
                ui.write_data(documents.as_bytes())
            }
            Destination::Directory(directory) => {
                sink::fill(ui, directory, list.into_bytes(), Durability::Fast)
            }
        }
    }
}

/// Makes the directory for results.
pub(super) fn make_results_directory(directory: &str) -> Result<()> {
    if directory.is_empty() {
        return Ok(());
    }
    match sink::make_directories(Path::new(directory)) {
        Ok(_) => Ok(()),
        Err(error) => bail!(
            "cannot read or create results dir {directory:?}: mkdir {directory}: {}",
            system_words(&error)
        ),
    }
}

/// Writes the results; the path of their file, if there is one.
pub(super) fn save_results(
    directory: &str,
    results: &FunctionResultList,
) -> Result<Option<String>> {
    if directory.is_empty() {
        return Ok(None);
    }
    let path = paths::join(&[directory, "results.yaml"]);
    std::fs::write(&path, results.to_yaml()).map_err(|error| {
        let words = system_words(&error);
        anyhow!("failed to save function results: open {path}: {words}")
    })?;
    Ok(Some(path))
}

/// Tells where the results are, after `before`.
pub(super) fn tell_results(ui: &Ui, path: &str, before: &str) {
    let record = Record {
        event: "results",
        file: Some(path),
        ..Record::default()
    };
    ui.tell(
        &record,
        &format!("{before}For complete results, see {path}"),
    );
}
