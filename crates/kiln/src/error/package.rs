//! What is wrong with a package, for people: kpt's words, or the place and the text around it.

use anyhow::{Error, anyhow};
use kiln_krm::package::{FileError, PackageError};
use kiln_krm::read::ReadError;

use super::Location;
use crate::compat::Compat;
use crate::ui::{Failed, Place};

/// A directory cannot be listed.
pub(super) fn of_listing(location: &Location, error: &FileError) -> Error {
    let (path, reason) = parts(error);
    anyhow!("open {}: {reason}", location.absolute(path))
}

/// A file cannot be read, or not be understood.
pub(super) fn of_file(compat: Compat, location: &Location, error: &PackageError) -> Error {
    match error {
        PackageError::File(error) => {
            let (path, reason) = parts(error);
            let absolute = location.absolute(path);
            match (compat, error) {
                (Compat::Kiln, _) => anyhow!("{}: {reason}", location.show(path)),
                (_, FileError::IsDirectory(_)) => anyhow!("{absolute}: read {absolute}: {reason}"),
                _ => anyhow!("{absolute}: open {absolute}: {reason}"),
            }
        }
        PackageError::Read { path, error } => {
            let absolute = location.absolute(path);
            of_content(compat, &location.show(path), error, Some(&absolute))
        }
    }
}

/// Bytes are not resources. kpt names a file by its absolute path and standard input not at all.
pub(super) fn of_content(
    compat: Compat,
    shown: &str,
    error: &ReadError,
    absolute: Option<&str>,
) -> Error {
    match (compat, error, absolute) {
        (
            Compat::Kiln,
            ReadError::Malformed {
                error,
                lines_before,
                ..
            },
            _,
        ) => {
            let mut failed = Failed::with(format!("error: {}", error.report(shown, *lines_before)));
            failed.details.place = Some(Place {
                file: shown.to_owned(),
                line: error.position().line + lines_before,
                column: error.position().column,
                text: String::new(),
            });
            failed.into()
        }
        (Compat::Kiln, error, _) => anyhow!("{shown}: {error}"),
        (_, error, Some(absolute)) => anyhow!("{absolute}: {error}"),
        (_, error, None) => anyhow!("{error}"),
    }
}

fn parts(error: &FileError) -> (&str, &str) {
    match error {
        FileError::NotFound(path) => (path, "no such file or directory"),
        FileError::IsDirectory(path) => (path, "is a directory"),
        FileError::Failed { path, reason } => (path, reason),
    }
}
