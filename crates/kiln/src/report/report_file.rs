//! The file of a report: where it may be, and how it is written.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use kiln_krm::package::{Entry, EntryKind, FileError, FileSource};
use kiln_krm::paths;
use kiln_package::DiskFiles;
use kiln_pages::report::{ReportFormat, ReportModel};

use super::result_position::resource_files;
use crate::error::CommandError;
use crate::package::absolute;
use crate::ui::Ui;

/// More links than this lead in a circle.
const MOST_LINKS: usize = 40;

/// A file to write, or `-`.
pub(super) struct ReportTarget {
    pub(super) name: String,
    pub(super) format: ReportFormat,
}

impl ReportTarget {
    /// Writes the report whole or not at all.
    pub(super) fn write(&self, ui: &Ui, model: &ReportModel) -> Result<()> {
        let text = self.format.write(model);
        if self.name == "-" {
            return ui.write_data(text.as_bytes());
        }
        let path = Path::new(&self.name);
        write_whole(path, text.as_bytes()).with_context(|| not_written(&self.name))
    }
}

/// Writes a file whole or not at all. A device or a pipe is written to, and what a link leads to is replaced, not the link.
fn write_whole(path: &Path, text: &[u8]) -> std::io::Result<()> {
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return std::fs::write(path, text);
    }
    let path = link_target(path);
    let temporary = path.with_file_name(format!(".kiln-report-{}", std::process::id()));
    let written =
        std::fs::write(&temporary, text).and_then(|()| std::fs::rename(&temporary, &path));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

/// What a path leads to, also if that does not exist.
fn link_target(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = std::fs::read_link(&path) else {
            break;
        };
        path = match path.parent() {
            Some(directory) => directory.join(target),
            None => target,
        };
    }
    path
}

fn not_written(name: &str) -> String {
    format!("cannot write the report {name}")
}

/// Refuses a place where the report cannot be written, or where the next command would read it as a resource.
pub(super) fn check_place(ui: &Ui, name: &str, root: Option<&Path>) -> Result<()> {
    if name == "-" {
        return Ok(());
    }
    let path = link_target(&absolute(name)?);
    let directory = path.parent().unwrap_or(&path);
    if !directory.is_dir() {
        let error = format!(
            "{}: there is no directory {}",
            not_written(name),
            directory.display()
        );
        return Err(CommandError::with_hint(anyhow!(error), "make the directory first").into());
    }
    if path.is_dir() {
        let error = format!("{}: it is a directory", not_written(name));
        return Err(CommandError::with_hint(anyhow!(error), "name a file in it").into());
    }
    if root.is_some_and(|root| is_resource_of(ui, root, &path)) {
        let error = format!(
            "{}: it would be a resource of the package",
            not_written(name)
        );
        let hint = "name a file outside of the package, or exclude it in .krmignore";
        return Err(CommandError::with_hint(anyhow!(error), hint).into());
    }
    Ok(())
}

/// Whether a file would be read as a resource of the package at `root`. What a user excludes is none.
fn is_resource_of(ui: &Ui, root: &Path, path: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (Some(directory), Some(name)) = (path.parent(), path.file_name().and_then(OsStr::to_str))
    else {
        return false;
    };
    let (directory, root) = (real(directory), real(root));
    let inside = directory.strip_prefix(&root).ok().and_then(Path::to_str);
    let Some(directory) = inside.filter(|_| has_resources(name)) else {
        return false;
    };
    let Ok(files) = DiskFiles::open(&root, ui.compat().outside_links()) else {
        return false;
    };
    let with_report = WithReport {
        files: &files,
        directory,
        name,
    };
    resource_files(&with_report).contains(&paths::join(&[directory, name]))
}

/// The files of a package, and a report that is about to be written to it.
struct WithReport<'a> {
    files: &'a dyn FileSource,
    directory: &'a str,
    name: &'a str,
}

impl FileSource for WithReport<'_> {
    fn list(&self, dir: &str) -> Result<Vec<Entry>, FileError> {
        let mut entries = self.files.list(dir)?;
        if dir == self.directory && !entries.iter().any(|entry| entry.name == self.name) {
            entries.push(Entry {
                name: self.name.to_owned(),
                kind: EntryKind::File,
            });
        }
        Ok(entries)
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, FileError> {
        self.files.read(path)
    }
}

pub(super) fn has_resources(name: &str) -> bool {
    let ending = Path::new(name).extension();
    ending.is_some_and(|ending| ["yaml", "yml", "json"].iter().any(|known| ending == *known))
}
