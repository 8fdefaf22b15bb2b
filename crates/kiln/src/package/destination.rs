//! The destination of rendered resources (`--output`): in place, standard output or a new directory.

use anyhow::Result;
use kiln_krm::package::{
    Bytes, EmptiedFiles, FileSource, MemoryFiles, ReadSet, WriteOptions, plan_copy,
    write_kept_documents,
};
use kiln_krm::read::read_input;
use kiln_krm::write::write_documents;
use kiln_krm::{Dialect, Resource, Wrapper, write_list};
use kiln_package::{Durability, available_threads};

use super::write;
use crate::compat::Compat;
use crate::interrupt;
use crate::manifests::manifests_of;
use crate::ui::Ui;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Destination {
    /// The package that the resources were read from.
    InPlace,
    /// A ResourceList on standard output.
    Stdout,
    /// Plain documents on standard output.
    Unwrap,
    /// The objects that a cluster gets, as plain documents on standard output.
    Objects,
    /// A new directory.
    Directory(String),
}

impl Destination {
    /// Parses the flag. A directory must not exist.
    pub(crate) fn parse(ui: &Ui, output: &str) -> Result<Destination> {
        Ok(match output {
            "" => Destination::InPlace,
            "stdout" => Destination::Stdout,
            "unwrap" => Destination::Unwrap,
            "objects" if ui.compat() == Compat::Kiln => Destination::Objects,
            directory => {
                write::check_absent(ui, directory)?;
                Destination::Directory(directory.to_owned())
            }
        })
    }

    /// Whether the flag names standard output.
    pub(crate) fn is_standard_output(&self) -> bool {
        match self {
            Destination::Stdout | Destination::Unwrap | Destination::Objects => true,
            Destination::InPlace | Destination::Directory(_) => false,
        }
    }

    /// Writes resources. `InPlace` means standard output here: it is used for resources from standard input.
    ///
    /// `before` is the set of resources that was read: in kiln's own mode, unchanged documents keep their bytes. `files` are those
    /// of the package, if there is one.
    pub(crate) fn write(
        &self,
        ui: &Ui,
        resources: Vec<Resource>,
        before: &ReadSet,
        files: Option<&dyn FileSource>,
    ) -> Result<()> {
        let dialect = ui.compat().dialect();
        let is_own = ui.compat() == Compat::Kiln;
        match self {
            Destination::Objects => {
                let none = MemoryFiles::new();
                print(ui, &manifests_of(resources, files.unwrap_or(&none))?)
            }
            Destination::Unwrap if is_own => print(ui, &write_kept_documents(resources, dialect)?),
            Destination::Directory(directory) if is_own => {
                let options = WriteOptions {
                    dialect,
                    bytes: Bytes::Keep,
                    emptied_files: EmptiedFiles::Leave,
                    package: directory.clone(),
                    threads: available_threads(),
                };
                let changes = plan_copy(resources, before, &options)?;
                write::write_new_directory(ui, directory, &changes, Durability::Fast)
            }
            Destination::InPlace | Destination::Stdout => {
                print(ui, list(&resources, dialect).as_bytes())
            }
            Destination::Unwrap => {
                let list = read_input(list(&resources, dialect).into_bytes(), dialect)?;
                let documents = write_documents(list.items, dialect)?;
                print(ui, documents.as_bytes())
            }
            Destination::Directory(directory) => {
                let list = list(&resources, dialect).into_bytes();
                let changes = write::plan_list(ui, directory, list)?;
                write::write_new_directory(ui, directory, &changes, Durability::Fast)
            }
        }
    }
}

/// Prints a result, unless kiln was interrupted while it was made.
fn print(ui: &Ui, result: &[u8]) -> Result<()> {
    interrupt::check()?;
    ui.write_data(result)
}

fn list(resources: &[Resource], dialect: Dialect) -> String {
    write_list(&Wrapper::resource_list(dialect), resources, None, None)
}
